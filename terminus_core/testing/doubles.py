"""Doubles for every slow or outside part: a model, a terminal, a place, and an observer that remembers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import anyio

from terminus_core import (
    LLM,
    Command,
    Environment,
    ExecResult,
    Handoff,
    LLMError,
    LLMRequest,
    LLMResponse,
    Marker,
    Message,
    ParseResult,
    RequestFailure,
    Run,
    RunResult,
    Session,
    SessionBackend,
    SessionClosedError,
    SessionEvent,
    SessionOptions,
    Step,
    Subagent,
    TerminalText,
    TerminusError,
    Usage,
    hookimpl,
)


class FakeLLM(LLM):
    """A model that gives the replies it was made with, in order, and keeps the requests.

    Args:
        replies: texts, whole answers, or exceptions to raise; running out is an :class:`LLMError`.
        context_limit: tokens of the window.
        output_limit: tokens of one answer.
        usage: what each text counts as.
    """

    name: ClassVar[str] = "fake"

    def __init__(
        self,
        replies: Iterable[str | LLMResponse | BaseException] = (),
        *,
        context_limit: int | None = None,
        output_limit: int | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.model_name = "fake-model"
        self.context_limit = context_limit
        self.output_limit = output_limit
        self.knows_price: bool = True
        """Costs are those of the answers that it was given."""
        self.requests: list[list[Message]] = []
        """The messages of each request, copied."""
        self._replies = deque(replies)
        self._usage = usage or Usage(prompt_tokens=100, completion_tokens=10)

    async def call(self, request: LLMRequest) -> LLMResponse:
        """The next reply."""
        await anyio.lowlevel.checkpoint()
        request.on_attempt(1)
        self.requests.append(list(request.messages))
        if not self._replies:
            raise LLMError(f"the fake model has no reply for request {len(self.requests)}")
        reply = self._replies.popleft()
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, LLMResponse):
            return reply
        return LLMResponse(content=reply, model_name=self.model_name, usage=self._usage)

    def count_tokens(self, messages: list[Message]) -> int:
        """A quarter of the characters."""
        return sum(len(str(message["content"])) for message in messages) // 4


class FakeEnvironment(Environment):
    """A place with a dictionary for a file system and canned results for commands.

    Args:
        results: what ``exec`` gives for a command; any other command succeeds with no output.
    """

    name: ClassVar[str] = "fake"

    def __init__(self, results: Mapping[str, ExecResult] | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.commands: list[str] = []
        self._results = dict(results or {})

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,  # noqa: ARG002 - the protocol's argument
        env: Mapping[str, str] | None = None,  # noqa: ARG002 - as above
        user: str | None = None,  # noqa: ARG002 - as above
        timeout_sec: float | None = None,  # noqa: ARG002 - as above
    ) -> ExecResult:
        """The canned result."""
        await anyio.lowlevel.checkpoint()
        self.commands.append(command)
        return self._results.get(command, ExecResult())

    async def upload_file(self, source: Path, target: str) -> None:
        """Keep the bytes."""
        self.files[target] = await anyio.Path(source).read_bytes()

    async def download_file(self, source: str, target: Path) -> None:
        """Write the bytes that were kept."""
        if source not in self.files:
            raise FileNotFoundError(source)
        await anyio.Path(target).write_bytes(self.files[source])


class FakeSession(Session):
    """A terminal that shows what it was told to.

    Args:
        outputs: one for each look, in order; an exception is raised instead. After the last: nothing new.
        on_keys: called with each keystrokes text as it is sent; may raise, or return a text that the next look shows.
    """

    def __init__(
        self,
        outputs: Iterable[str | BaseException] = (),
        on_keys: Callable[[str], str | None] | None = None,
    ) -> None:
        self.sent: list[tuple[str, float]] = []
        """Keystrokes and seconds of each send."""
        self.looks: int = 0
        self.alive: bool = True
        self._outputs = deque(outputs)
        self._on_keys = on_keys
        self._listeners: list[Callable[[SessionEvent], None]] = []

    @property
    def n_listeners(self) -> int:
        """How many listeners have not been stopped."""
        return len(self._listeners)

    async def send_keys(
        self,
        keystrokes: str,
        *,
        block: bool = False,  # noqa: ARG002 - the protocol's argument
        min_timeout_sec: float = 0.0,
        max_timeout_sec: float = 180.0,  # noqa: ARG002 - as above
    ) -> None:
        """Note the keystrokes; no time passes."""
        await anyio.lowlevel.checkpoint()
        if not self.alive:
            raise SessionClosedError("the fake session has ended")
        self.sent.append((keystrokes, min_timeout_sec))
        for listener in self._listeners:
            listener(SessionEvent(time.monotonic(), "input", keystrokes.encode()))
        if self._on_keys is not None and (shown := self._on_keys(keystrokes)) is not None:
            self._outputs.append(shown)

    async def get_incremental_output(self) -> TerminalText:
        """The next output."""
        await anyio.lowlevel.checkpoint()
        self.looks += 1
        if not self._outputs:
            return TerminalText("$ ", kind="none")
        shown = self._outputs.popleft()
        if isinstance(shown, BaseException):
            raise shown
        for listener in self._listeners:
            listener(SessionEvent(time.monotonic(), "output", shown.encode()))
        return shown if isinstance(shown, TerminalText) else TerminalText(shown)

    async def capture_pane(self, *, entire: bool = False) -> str:  # noqa: ARG002 - the protocol's argument
        """A prompt."""
        await anyio.lowlevel.checkpoint()
        return "$ "

    async def is_session_alive(self) -> bool:
        """Whether ``alive`` still stands."""
        await anyio.lowlevel.checkpoint()
        return self.alive

    def listen(self, listener: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Tell ``listener`` about what is sent and shown."""
        listener(SessionEvent(time.monotonic(), "resize", (80, 24)))
        listener(SessionEvent(time.monotonic(), "screen", b"$ "))
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


class FakeBackend(SessionBackend):
    """Opens the session that it was given.

    Args:
        session: the terminal to hand out; a new quiet one by default.
        fails: an error to raise instead.
    """

    name: ClassVar[str] = "fake"

    def __init__(self, session: FakeSession | None = None, *, fails: TerminusError | None = None) -> None:
        self.session: FakeSession = session or FakeSession()
        self.is_open: bool = False
        self._fails = fails

    @asynccontextmanager
    async def open(self, environment: Environment, options: SessionOptions) -> AsyncIterator[Session]:  # noqa: ARG002 - the protocol's arguments
        """Hand it out, and note when it has been given back."""
        if self._fails is not None:
            raise self._fails
        self.is_open = True
        try:
            yield self.session
        finally:
            self.is_open = False


class EventRecorder:
    """An observer that keeps every event, in order, as ``(name, value)``; the name has no ``terminus_`` in front."""

    name: ClassVar[str] = "event_recorder"

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def names(self) -> list[str]:
        """The names of the events, in order."""
        return [name for name, _ in self.events]

    def values(self, name: str) -> list[Any]:
        """The values of all events of one name."""
        return [value for each, value in self.events if each == name]

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Keep the run."""
        self.events.append(("run_started", run))

    @hookimpl
    def terminus_request_started(self, attempt: int) -> None:
        """Keep the attempt."""
        self.events.append(("request_started", attempt))

    @hookimpl
    def terminus_request_failed(self, failure: RequestFailure) -> None:
        """Keep the failure."""
        self.events.append(("request_failed", failure))

    @hookimpl
    def terminus_response_received(self, response: LLMResponse, reply: ParseResult) -> None:
        """Keep answer and reply."""
        self.events.append(("response_received", (response, reply)))

    @hookimpl
    def terminus_command_sent(self, command: Command, index: int) -> None:
        """Keep the command."""
        self.events.append(("command_sent", (command, index)))

    @hookimpl
    def terminus_record_marker(self, marker: Marker) -> None:
        """Keep the marker."""
        self.events.append(("record_marker", marker))

    @hookimpl
    def terminus_step_recorded(self, step: Step) -> None:
        """Keep the step."""
        self.events.append(("step_recorded", step))

    @hookimpl
    def terminus_subagent_finished(self, subagent: Subagent) -> None:
        """Keep the call beside the chat."""
        self.events.append(("subagent_finished", subagent))

    @hookimpl
    def terminus_history_replaced(self, handoff: Handoff) -> None:
        """Keep the hand-over."""
        self.events.append(("history_replaced", handoff))

    @hookimpl
    def terminus_run_finished(self, result: RunResult) -> None:
        """Keep the result."""
        self.events.append(("run_finished", result))
