"""The protocols that plugins implement, and the values that pass between them and the loop.

Every class that a plugin registers has ``name: ClassVar[str]`` and may have ``Config``, a pydantic model with
``extra="forbid"``; it is built as ``cls(config)``, or as ``cls()`` if it has none, anew for each run. Subclassing the
protocols brings the optional members with their defaults; a class of the right shape that does not subclass works too.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeAlias

from anyio.abc import ByteStream

from terminus_core.errors import StreamsUnsupportedError

if TYPE_CHECKING:
    from terminus_core.chat import ContentPart, LLMRequest, LLMResponse, Message
    from terminus_core.run import Run


# -- where commands run ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ExecResult:
    """What a finished command left.

    Attributes:
        stdout: decoded as UTF-8, bad bytes replaced.
        stderr: decoded likewise.
        return_code: ``None`` if no status was received (connection lost, killed by a signal over SSH): neither
            success nor an ordinary failure.
    """

    stdout: str = ""
    stderr: str = ""
    return_code: int | None = 0


class EnvironmentProcess(ByteStream):
    """A running process as a byte stream: ``send`` is its stdin, ``receive`` its stdout.

    ``receive`` raises :class:`anyio.EndOfStream` when stdout is closed, ``send`` raises
    :class:`anyio.BrokenResourceError` when nobody reads any more. Leaving the context manager of
    :meth:`Environment.open_process` ends the process.
    """

    return_code: int | None
    """Exit status, ``None`` while it runs or if none was received."""
    stderr_tail: str
    """The last lines of stderr, at most a few kilobytes, for error texts."""

    def send_nowait(self, item: bytes | bytearray) -> int:  # noqa: ARG002 - for those who can
        """Write to stdin what it takes without waiting; how many bytes of ``item`` that was.

        By default none. It is not called while a :meth:`send` is under way, and tells nobody that the process has
        ended: the next :meth:`send` does.
        """
        return 0


class Environment(Protocol):
    """Where commands run: this machine, a host over SSH, a container. An async context manager.

    Entering connects or starts what is needed and raises :class:`EnvironmentFailedError`, with a line that names the
    cure, if that cannot be had. Leaving takes away what entering made, also after a cancel.
    """

    name: ClassVar[str]

    async def __aenter__(self) -> Self:
        """Nothing to set up by default."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing to take away by default."""
        return

    @abstractmethod
    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_sec: float | None = None,
    ) -> ExecResult:
        """Run a shell command to its end.

        Args:
            command: one ``sh`` command line.
            cwd: working folder; ``None`` is the environment's own.
            env: variables added to the environment's own.
            user: run as this user.
            timeout_sec: seconds until the command (and what it started) is ended.

        Raises:
            TimeoutError: ``timeout_sec`` has passed.
            EnvironmentFailedError: the place does not answer.
        """
        ...

    def open_process(
        self,
        command: str,  # noqa: ARG002 - the arguments of those who have streams
        *,
        cwd: str | None = None,  # noqa: ARG002 - as above
        env: Mapping[str, str] | None = None,  # noqa: ARG002 - as above
        user: str | None = None,  # noqa: ARG002 - as above
    ) -> AbstractAsyncContextManager[EnvironmentProcess]:
        """Start a shell command and talk to it.

        Raises:
            StreamsUnsupportedError: this environment has ``exec`` only (the default).
            EnvironmentFailedError: the place does not answer.
        """
        raise StreamsUnsupportedError(f"environment {self.name!r} has no byte streams")

    @abstractmethod
    async def upload_file(self, source: Path, target: str) -> None:
        """Copy a file of this machine to ``target`` in the environment.

        Raises:
            OSError: ``source`` cannot be read.
            EnvironmentFailedError: the place does not answer, or ``target`` cannot be written.
        """
        ...

    @abstractmethod
    async def download_file(self, source: str, target: Path) -> None:
        """Copy a file of the environment to ``target`` on this machine.

        Raises:
            FileNotFoundError: ``source`` is not there.
            OSError: ``target`` cannot be written.
            EnvironmentFailedError: the place does not answer.
        """
        ...


# -- how the terminal is driven ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class SessionOptions:
    """What a session is opened with.

    Attributes:
        session_id: the run's id; unique.
        logs_dir: the run's folder on this machine.
        cwd: working folder of the shell in the environment; ``None`` is the environment's own.
        env: variables for the shell.
        user: run the shell as this user.
        resume_token: what an earlier session gave as ``Session.resume_token``: attach to that one.
    """

    session_id: str
    logs_dir: Path
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    resume_token: str | None = None


class TerminalText(str):
    """Bare rows of the terminal, without headings: those come from the core.

    Attributes:
        kind: ``new``: exactly the rows since the last look; ``screen``: the visible screen, because new rows could
            not be told; ``none``: nothing new, the text is the row with the cursor.
        rows_left_out: how many new rows before this text were left out.
    """

    __slots__ = ("kind", "rows_left_out")
    kind: Literal["new", "screen", "none"]
    rows_left_out: int

    def __new__(cls, text: str = "", *, kind: Literal["new", "screen", "none"] = "new", rows_left_out: int = 0) -> Self:
        """Make a text; see the class for the attributes."""
        self = super().__new__(cls, text)
        self.kind = kind
        self.rows_left_out = rows_left_out
        return self


@dataclass(slots=True, frozen=True)
class SessionEvent:
    """One thing that happened in the terminal.

    Attributes:
        time: ``time.monotonic()`` seconds.
        kind: ``output`` (data: bytes as the program wrote them), ``input`` (data: bytes typed), ``resize`` (data:
            ``(columns, rows)``), ``gap`` (the connection was lost: output may be missing; data: a text), ``screen``
            (data: bytes that draw the screen as it is now).
        data: see ``kind``.
    """

    time: float
    kind: Literal["output", "input", "resize", "gap", "screen"]
    data: bytes | tuple[int, int] | str


class Session(Protocol):
    """An open terminal session.

    Optional members, left out where they make no sense: ``resize(width, height)``, ``restart()`` (both async),
    ``resume_token: str``, ``exit_status: int | None``, ``capabilities: frozenset[str]``, ``attach_command: str``
    (what a person types to watch), ``batch(count)``: the next ``count`` calls of :meth:`send_keys` belong together, and
    nobody looks between them: a session to which each call is dear may type and wait with the last of them.
    """

    @abstractmethod
    async def send_keys(
        self,
        keystrokes: str,
        *,
        block: bool = False,
        min_timeout_sec: float = 0.0,
        max_timeout_sec: float = 180.0,
    ) -> None:
        """Type ``keystrokes`` and wait.

        Args:
            keystrokes: text, or the name of one key of the published list; ``""`` is a wait.
            block: wait until the command has ended.
            min_timeout_sec: seconds to wait, at most, when not blocking; the session may come back earlier where it
                can tell that the shell is back at its prompt.
            max_timeout_sec: seconds until a blocking wait is given up; it counts only with ``block=True``.

        Raises:
            TimeoutError: a blocking wait took too long, or the terminal does not answer.
            SessionClosedError: the session has ended.
            EnvironmentFailedError: the way to the terminal is lost.
        """
        ...

    @abstractmethod
    async def get_incremental_output(self) -> TerminalText:
        """What is new since the last call.

        Raises:
            TimeoutError: the terminal does not answer.
            SessionClosedError: the session has ended and its last output was given already.
            EnvironmentFailedError: the way to the terminal is lost.
        """
        ...

    @abstractmethod
    async def capture_pane(self, *, entire: bool = False) -> str:
        """The visible screen, or the whole history with it.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as of :meth:`get_incremental_output`.
        """
        ...

    @abstractmethod
    async def is_session_alive(self) -> bool:
        """Whether keys would still reach a shell. Changes nothing.

        Raises:
            EnvironmentFailedError: no answer at all, which is not a "no".
        """
        ...

    @abstractmethod
    def listen(self, listener: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Call ``listener`` with everything that happens, first with the size and the screen as they are.

        After a gap comes a screen. Returns a function that stops it. The listener must be quick and not raise.
        """
        ...


class SessionBackend(Protocol):
    """Opens terminal sessions in an environment."""

    name: ClassVar[str]

    @abstractmethod
    def open(self, environment: Environment, options: SessionOptions) -> AbstractAsyncContextManager[Session]:
        """A context manager: entering starts the terminal and waits until its shell reads; leaving ends both.

        An exception that passes through it comes out as it is, never as an ``ExceptionGroup``.

        Raises:
            EnvironmentFailedError: the terminal cannot be had; the line names the cure.
            SessionClosedError: the shell ended before it was ready, or the session of ``options.resume_token`` is gone.
        """
        ...


# -- what the model says -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Command:
    """Keystrokes to type, and the seconds to wait for what they do.

    Attributes:
        keystrokes: text, or the name of one key.
        duration_sec: seconds to wait, at most.
        call_id: the model's own id of the native tool call that asked for it; ``""`` if it was asked for otherwise.
    """

    keystrokes: str
    duration_sec: float = 1.0
    call_id: str = ""


class Action(Protocol):
    """What a reply may ask for beside keystrokes: look at an image, reset the shell. Recorded as a tool call."""

    name: str
    arguments: dict[str, Any]

    @abstractmethod
    async def perform(self, run: Run) -> str | list[ContentPart]:
        """Do it; the result joins the observation of this turn. A :class:`TerminusError` becomes text."""
        ...


@dataclass(slots=True)
class ParseResult:
    """What a reply asks for.

    Attributes:
        commands: to be typed, in order.
        is_task_complete: the model claims completion.
        error: why the reply cannot be used; nothing of it is done. ``""`` if it can.
        warning: what was odd but usable, for the model; one line each.
        analysis: the model's view of the state.
        plan: what it means to do.
        actions: what it asks for beside keystrokes.
        commands_unusable: the reply claims completion, and its commands could not be read.
    """

    commands: list[Command] = field(default_factory=list)
    is_task_complete: bool = False
    error: str = ""
    warning: str = ""
    analysis: str = ""
    plan: str = ""
    actions: list[Action] = field(default_factory=list)
    commands_unusable: bool = False


class ResponseParser(Protocol):
    """Prompt text, parsing, and the parser's own words for errors and completion.

    Optional members, left out where they make no sense: ``prepare(run)``, called once before the first prompt, when
    the session is open and the model is known: what is offered may depend on both; ``offers: frozenset[str]``, the
    names of the actions that replies may ask for in this run; ``recorded_calls(response, reply) -> list[ToolCall]``,
    the native tool calls of a reply as a step records them, with the model's own ids and names, and with the commands
    as the gates left them in ``reply``.
    """

    name: ClassVar[str]

    error_response_type: str
    """What a repair prompt asks for: ``Please fix these issues and provide a proper {error_response_type}.``"""
    tools: list[dict[str, Any]] | None = None
    """Native tool definitions in OpenAI's form. Optional."""

    @abstractmethod
    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        """The first message: format rules, the task, the terminal. Inserted text is never expanded again."""
        ...

    @abstractmethod
    def parse_response(self, response: LLMResponse) -> ParseResult:
        """Read a reply. Never raises, whatever the model wrote."""
        ...

    @abstractmethod
    def completion_confirmation(self, terminal_output: str) -> str:
        """The question after a first claim of completion: shows the terminal and says how to confirm."""
        ...


class LLM(Protocol):
    """One model behind one kind of API.

    Optional members: ``prepare()`` (async), called once before the first request; ``supports_images: bool``, whether
    messages may hold images, no if it is missing; ``knows_price: bool``, whether answers tell their cost: if not, a
    cost limit is refused. If it is missing, the first answer without a cost ends a run that has such a limit.
    """

    name: ClassVar[str]

    model_name: str
    """The configured model, as the user names it."""
    context_limit: int | None = None
    """Tokens of the context window, ``None`` if unknown."""
    output_limit: int | None = None
    """Tokens that one answer may have, ``None`` if unknown."""

    @abstractmethod
    async def call(self, request: LLMRequest) -> LLMResponse:
        """Ask the model; retries of transient faults are this method's own.

        Raises:
            ContextLengthExceededError: the request is too long for the model.
            LLMError: the provider failed for good; the line says how.
        """
        ...

    @abstractmethod
    def count_tokens(self, messages: list[Message]) -> int:
        """About how many tokens ``messages`` are. Costs O(given)."""
        ...


# -- who decides -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Turn:
    """One turn of the loop, as the completion policy sees it.

    Attributes:
        episode: counted from 0.
        response: the model's answer.
        reply: what the parser made of it, as the gates left it.
        terminal_output: the terminal's text with its heading, or the time-out text.
        timed_out: the batch was stopped by a time-out.
        observation: the observation as it goes out if nobody objects, without the warnings (the loop's own).
    """

    episode: int
    response: LLMResponse
    reply: ParseResult
    terminal_output: str
    timed_out: bool = False
    observation: str = ""


@dataclass(slots=True)
class Completion:
    """A policy's decision: the observation of this turn, and whether the run is done."""

    observation: str
    done: bool = False


class CompletionPolicy(Protocol):
    """When a claim of completion counts. The pending claim lives in ``run.pending_completion``."""

    name: ClassVar[str]

    @abstractmethod
    async def decide(self, run: Run, turn: Turn) -> Completion:
        """Called once in every turn that was parsed and not refused by a gate."""
        ...


class ContextStrategy(Protocol):
    """Keeps the chat inside the model's window."""

    name: ClassVar[str]

    @abstractmethod
    async def before_request(self, run: Run, prompt: str) -> str:
        """Called before each request; returns the prompt to send, mostly the one given."""
        ...

    @abstractmethod
    async def on_context_length_exceeded(self, run: Run, prompt: str) -> str:
        """Called when the provider refused a request as too long; returns the prompt to try again with.

        Raises:
            RunLimitReached: nothing can be done (reason ``context``).
        """
        ...


class Gate(Protocol):
    """The awaited place before anything is typed: approval, limits, deny lists."""

    name: ClassVar[str]

    @abstractmethod
    async def before_commands(self, run: Run, reply: ParseResult) -> ParseResult | str:
        """The reply to go on with, or a text: then nothing is typed and the text is the observation."""
        ...


# -- what observers are told -------------------------------------------------------------------------------------------


@dataclass(slots=True, frozen=True)
class Marker:
    """A point in the run worth finding again.

    Attributes:
        label: what people read.
        kind: ``episode``, ``parse_error``, ``completion_asked``, ``completion_confirmed``, ``summary``, ``gap``,
            ``note``, or a plugin's own word.
        episode: the episode it belongs to, counted from 1; 0 before the first.
    """

    label: str
    kind: str = "note"
    episode: int = 0


@dataclass(slots=True)
class Subagent:
    """A model call beside the chat, such as one call of a summary.

    Attributes:
        kind: what it was for, such as ``summary``.
        messages: exactly the messages that were sent.
        response: the answer.
        attempt: which try of the same purpose in this run, counted from 1.
    """

    kind: str
    messages: list[Message]
    response: LLMResponse
    attempt: int = 1

    @property
    def trajectory_file(self) -> str:
        """The name of its own document, beside the run's trajectory."""
        kind = re.sub(r"[^A-Za-z0-9_-]", "_", self.kind)
        return f"trajectory.summarization-{self.attempt}-{kind}.json"


@dataclass(slots=True)
class Handoff:
    """A replaced history.

    Attributes:
        index: how many histories have been replaced so far in this run, this one included.
        prompt: the next prompt, which hands over.
        subagents: the calls that made it.
    """

    index: int
    prompt: str
    subagents: list[Subagent] = field(default_factory=list)


RunStatus: TypeAlias = Literal["completed", "max_episodes", "session_ended", "limit_reached", "error", "cancelled"]
