"""The conformance suite of observers.

An author's whole test file::

    class TestCounter(ObserverTests):
        @pytest.fixture
        def make_observer(self):
            return CounterObserver
"""

# ruff: noqa: S101, PLR2004 - a suite asserts

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from terminus_core import (
    Command,
    ContextStrategy,
    EnvironmentFailedError,
    LLMError,
    LLMResponse,
    Message,
    ParseResult,
    Run,
    SessionClosedError,
    hookimpl,
)
from terminus_core.testing.doubles import FakeLLM
from terminus_core.testing.suite import ConformanceSuite
from terminus_core.testing.trial import TASK, Trial

ODD = "é✓日本 \x1b[31mred\x1b[0m\r\n\0 {x} <b> \\"
"""Text as terminals and models bring it."""
HALF = f"{ODD} \ud83d"
"""With half a surrogate pair, as models and users may bring it, too."""


class HandsOver(ContextStrategy):
    """Replaces the history before the third request."""

    name: ClassVar[str] = "hands_over"

    async def before_request(self, run: Run, prompt: str) -> str:
        """Once."""
        if run.n_episodes == 3:
            aside = await run.ask_aside("summary", [Message(role="user", content="Sum up.")])
            history = [
                Message(role="user", content="The task."),
                Message(role="assistant", content="What was done."),
            ]
            run.replace_history(history, f"Go on.\n{prompt}", [aside])
            return f"Go on.\n{prompt}"
        return prompt

    async def on_context_length_exceeded(self, run: Run, prompt: str) -> str:  # noqa: ARG002 - the protocol's argument
        """Never."""
        return prompt


class ObserverTests(ConformanceSuite):
    """What every observer must do, by capability. Each test is a run with ``observers_strict``: nothing may fail."""

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "changes_messages": "changes what is sent to the model",
        "changes_observation": "changes what the model sees of the terminal",
        "changes_prompts": "changes the task's text, or says something before a prompt",
        "files": "leaves files in the run's folder",
    }
    complete_capabilities: ClassVar[frozenset[str]] = frozenset({"trio"})

    @pytest.fixture
    def make_observer(self) -> Callable[[], Any]:
        """Makes an observer for one run, as often as it is called: mostly its class. Override this one."""
        raise NotImplementedError("override the fixture `make_observer`")

    # -- every kind of run ---------------------------------------------------------------------------------------------

    async def test_a_run_that_is_completed(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """With warnings, markers, a parse error and a claim."""
        broken, odd = ParseResult(error="not understood"), ParseResult([Command("echo\n", 0.0)], warning="odd")
        trial = _trial([odd, broken, claim(), claim()], tmp_path, make_observer())
        assert (await trial.run()).status == "completed"

    async def test_a_run_with_a_new_history(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """Linear or not."""
        for linear in (False, True):
            llm = FakeLLM([f"reply {n}" for n in range(5)])
            settings = {"trajectory": {"linear_history": linear}}
            folder = tmp_path / str(linear)
            folder.mkdir()
            trial = _trial([works()] * 4, folder, make_observer(), llm=llm, context=HandsOver(), settings=settings)
            assert (await trial.run()).status == "max_episodes"
            assert len(trial.recorder.values("history_replaced")) == 1

    @pytest.mark.parametrize(
        ("fault", "status"),
        [
            (LLMError("the provider is gone"), "error"),
            (SessionClosedError("the shell has ended"), "session_ended"),
            (EnvironmentFailedError("the place is gone"), "error"),
        ],
        ids=["provider", "session", "environment"],
    )
    async def test_a_run_that_ends_with_a_fault(
        self, make_observer: Callable[[], Any], tmp_path: Path, fault: BaseException, status: str
    ) -> None:
        """In the model's turn or in the terminal's."""
        from_model = isinstance(fault, LLMError)
        llm = FakeLLM(["reply 1", fault]) if from_model else FakeLLM(["reply 1", "reply 2"])
        trial = _trial([works(), works()], tmp_path, make_observer(), llm=llm, outputs=["$", "seen", fault])
        assert (await trial.run()).status == status

    async def test_a_run_that_is_cancelled(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """It is left all the same, and quickly."""
        with anyio.CancelScope() as scope:

            def cancel(_: str) -> None:
                scope.cancel()

            await _trial([works(), works()], tmp_path, make_observer(), on_keys=cancel).run()
        assert scope.cancelled_caught

    async def test_a_run_with_odd_texts(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """Whatever models and terminals bring."""
        reply = ParseResult([Command(ODD, 0.0)], analysis=ODD, plan=ODD, warning=ODD)
        call = {"id": "call_7", "type": "function", "function": {"name": "x", "arguments": "{ no JSON"}}
        answer = LLMResponse(HALF, reasoning_content=HALF, tool_calls=[call], finish_reason="length", logprobs=[-0.5])
        trial = _trial([reply, reply], tmp_path, make_observer(), llm=FakeLLM([answer, ""]), outputs=["$", ODD, ""])
        assert (await trial.run(HALF)).status == "max_episodes"

    async def test_two_runs_at_the_same_time(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """Another instance belongs to the other run."""
        trials = [_trial([works(), claim(), claim()], tmp_path / name, make_observer()) for name in ("one", "two")]
        async with anyio.create_task_group() as group:
            for trial in trials:
                group.start_soon(trial.run)
        for trial in trials:
            (result,) = trial.recorder.values("run_finished")
            assert result.status == "completed"

    # -- what it must leave alone --------------------------------------------------------------------------------------

    async def test_the_chat_stays_as_it_is(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """What is sent may be changed for this request only."""
        kept: list[list[Message]] = []

        class Keeper:
            name = "keeper"

            @hookimpl
            def terminus_run_finished(self, run: Run) -> None:
                kept.append(run.chat.messages)

        for folder, observers in (("with", [make_observer()]), ("without", [])):
            await _trial([works(), works(), claim(), claim()], tmp_path / folder, *observers, Keeper()).run()
        with_it, without = kept
        if not self.capabilities & {"changes_observation", "changes_prompts"}:
            assert with_it == without
        assert [message["role"] for message in with_it] == [message["role"] for message in without]
        assert all(isinstance(message["content"], str) for message in with_it)

    async def test_it_changes_only_what_it_says(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """The model is sent what it would be sent without it."""
        sent = []
        for folder, observers in (("with", [make_observer()]), ("without", [])):
            trial = _trial([works(), works(), claim(), claim()], tmp_path / folder, *observers)
            await trial.run()
            sent.append(trial.requests)
        if not self.capabilities & {"changes_messages", "changes_observation", "changes_prompts"}:
            assert sent[0] == sent[1]
        assert TASK in str(sent[0][0])

    async def test_it_stops_listening(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """Nothing of a run keeps its observer."""
        trial = _trial([works(), claim(), claim()], tmp_path, make_observer())
        await trial.run()
        assert trial.session.n_listeners == 0

    # -- files ---------------------------------------------------------------------------------------------------------

    async def test_files_are_in_the_runs_folder(self, make_observer: Callable[[], Any], tmp_path: Path) -> None:
        """Each is listed once, and nothing unlisted is left of it."""
        trial = _trial([works(), claim(), claim()], tmp_path, make_observer())
        result = await trial.run()
        folder = tmp_path / "run"
        assert bool(result.files) == ("files" in self.capabilities)
        assert len(result.files) == len(set(result.files))
        for path in result.files:
            assert path.is_relative_to(folder)
            assert path.stat().st_size
        others = {path for path in folder.rglob("*") if path.is_file()} - set(result.files)
        assert {path.name for path in others} <= {"run.json", "journal.jsonl"}


def works() -> ParseResult:
    """A reply that goes on."""
    return ParseResult([Command("echo one\n", 0.0), Command("C-c", 0.0)], analysis="so far", plan="go on")


def claim() -> ParseResult:
    """A reply that says that the task is done."""
    return ParseResult(is_task_complete=True)


def _trial(results: Sequence[ParseResult], folder: Path, *observers: Any, **parts: Any) -> Trial:
    """A run in which a failing observer is an error."""
    outputs = parts.pop("outputs", ["$", *[f"seen {n}" for n in range(len(results))]])
    logs_dir = folder / "run"
    return Trial(results, logs_dir=logs_dir, observers=observers, outputs=outputs, observers_strict=True, **parts)
