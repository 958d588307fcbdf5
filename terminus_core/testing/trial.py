"""One run with doubles all around: what the suites of parsers, policies, gates and observers are made of."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from terminus_core import LLM, Agent, LLMResponse, Message, ParseResult, ResponseParser, RunResult, Step
from terminus_core.testing.doubles import EventRecorder, FakeBackend, FakeEnvironment, FakeLLM, FakeSession

TASK = "Write the word ready into the file done.txt."


class FakeParser(ResponseParser):
    """Gives the results it was made with, in order, whatever the model says; after the last one: an error.

    Args:
        results: what the replies ask for.
    """

    name: ClassVar[str] = "fake"
    error_response_type = "fake response"

    def __init__(self, results: Iterable[ParseResult] = ()) -> None:
        self._results = deque(results)

    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        """Task and terminal."""
        return f"Task:\n{instruction}\n\n{terminal_state}"

    def parse_response(self, response: LLMResponse) -> ParseResult:  # noqa: ARG002 - whatever the model says
        """The next result."""
        return self._results.popleft() if self._results else ParseResult(error="the fake parser has no more results")

    def completion_confirmation(self, terminal_output: str) -> str:
        """A question that shows the terminal."""
        return f"{terminal_output}\n\nIs that so?"


class Trial:
    """One run in which everything is a double that is not given.

    Args:
        results: what the model's replies ask for, one for each turn.
        logs_dir: the run's folder.
        outputs: what the terminal shows, one text for each look.
        on_keys: as for :class:`FakeSession`.
        observers: beside the recorder.
        parts: any other keyword of :class:`Agent`: parts, limits, settings.
    """

    def __init__(
        self,
        results: Sequence[ParseResult] = (),
        *,
        logs_dir: Path,
        outputs: Iterable[str | BaseException] = ("$",),
        on_keys: Callable[[str], str | None] | None = None,
        observers: Sequence[Any] = (),
        **parts: Any,
    ) -> None:
        self.session: FakeSession = FakeSession(outputs, on_keys)
        self.recorder: EventRecorder = EventRecorder()
        self.llm: LLM = parts.pop("llm", None) or FakeLLM([f"reply {n}" for n, _ in enumerate(results, start=1)])
        self.agent: Agent = Agent(
            llm=self.llm,
            observers=[self.recorder, *observers],
            logs_dir=logs_dir,
            **{
                "parser": FakeParser(results),
                "environment": FakeEnvironment(),
                "session": FakeBackend(self.session),
                "completion": "two_step",
                "context": "none",
                "max_episodes": max(1, len(results)),
                **parts,
            },
        )

    async def run(self, instruction: str = TASK) -> RunResult:
        """Run to the end; the outcome stands in the trial too."""
        return await self.agent.run(instruction)

    @property
    def requests(self) -> list[list[Message]]:
        """The messages of each request, where the model is a :class:`FakeLLM`."""
        assert isinstance(self.llm, FakeLLM)  # noqa: S101 - asked of fake models only
        return self.llm.requests

    @property
    def typed(self) -> list[str]:
        """All keystrokes sent."""
        return [keystrokes for keystrokes, _ in self.session.sent]

    @property
    def steps(self) -> list[Step]:
        """All steps recorded."""
        return self.recorder.values("step_recorded")

    @property
    def observations(self) -> list[str]:
        """What came back to the model after each of its answers."""
        results = [step.observation.results for step in self.steps if step.source == "agent" and step.observation]
        return [str(each[0].content) for each in results]
