"""A small answer format of the tests' own: the loop knows no parser by name."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from terminus_core import Agent, Command, ParseResult, ResponseParser, RunResult
from terminus_core.testing import EventRecorder, FakeBackend, FakeEnvironment, FakeLLM, FakeSession


class LineParser(ResponseParser):
    """`$ text` types a line, `! why` is an error, `? what` a warning, `DONE` a claim, `~9 text` asks for 9 seconds."""

    name = "lines"
    error_response_type = "list of lines"

    def build_prompt(self, instruction, terminal_state):
        return f"RULES\nTASK {instruction}\nTERMINAL {terminal_state}"

    def parse_response(self, response):
        reply = ParseResult()
        for line in response.content.splitlines():
            head, _, rest = line.partition(" ")
            if head == "$":
                reply.commands.append(Command(rest + "\n", 0.5))
            elif head.startswith("~"):
                reply.commands.append(Command(rest + "\n", float(head[1:])))
            elif head == "!":
                reply.error = rest
            elif head == "?":
                reply.warning = rest
            elif head == "DONE":
                reply.is_task_complete = True
            elif head == "LOST":
                reply.commands_unusable = True
            elif head == "A":
                reply.analysis = rest
            elif head == "P":
                reply.plan = rest
        if not response.content.strip():
            reply.error = "nothing was said"
        return reply

    def completion_confirmation(self, terminal_output):
        return f"SURE?\n{terminal_output}"


@dataclass
class Trial:
    """One run with doubles all around, and what it left."""

    llm: FakeLLM
    session: FakeSession
    backend: FakeBackend
    recorder: EventRecorder
    agent: Agent
    result: RunResult | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    async def run(self, instruction="the task"):
        self.result = await self.agent.run(instruction)
        return self.result

    @property
    def steps(self):
        return self.recorder.values("step_recorded")

    @property
    def prompts(self):
        """The newest message of each request."""
        return [messages[-1]["content"] for messages in self.llm.requests]

    @property
    def markers(self):
        return [(marker.kind, marker.label) for marker in self.recorder.values("record_marker")]


@pytest.fixture
def trial(tmp_path):
    """Build a run: `trial(replies, outputs=…, on_keys=…, observers=…, **agent keys)`."""

    def build(replies, *, outputs=("$ ",), on_keys=None, observers=(), session=None, backend=None, llm=None, **keys):
        session = session or FakeSession(outputs, on_keys)
        backend = backend or FakeBackend(session)
        llm = llm or FakeLLM(replies)
        recorder = EventRecorder()
        keys = {"parser": LineParser(), "completion": "two_step", "context": "none", **keys}
        keys.setdefault("logs_dir", Path(tmp_path) / f"run-{len(list(tmp_path.iterdir()))}")
        agent = Agent(llm=llm, environment=FakeEnvironment(), session=backend, observers=[recorder, *observers], **keys)
        return Trial(llm, session, backend, recorder, agent)

    return build
