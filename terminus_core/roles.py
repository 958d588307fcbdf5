"""The base classes that plugins implement, and the one table of roles.

A part subclasses the base class of its role. What must be written is abstract; everything else has a default that
works. ``name`` is what users choose it by; ``Config``, if it has one, is a pydantic model with its settings, and the
part is built as ``cls(config)``, otherwise as ``cls()``, anew for each run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from anyio.abc import ByteStream
from pydantic import BaseModel  # noqa: TC002 - part of a public class variable's type

from terminus_core import texts
from terminus_core.errors import StreamsUnsupportedError, TerminusError

if TYPE_CHECKING:
    from terminus_core.chat import ContentPart, LLMRequest, LLMResponse, Message
    from terminus_core.run import Run
    from terminus_core.trajectory import ToolCall
    from terminus_core.values import (
        Completion,
        ExecResult,
        ParseResult,
        SessionEvent,
        SessionOptions,
        TerminalText,
        Turn,
    )


class Part(ABC):
    """What every part has in common. Any part may implement hooks (events and filters) beside its role."""

    name: ClassVar[str]
    """What settings and options choose it by."""
    Config: ClassVar[type[BaseModel] | None] = None
    """Its settings, the table ``[role.name]``; ``None`` if it has none."""


# -- where commands run ------------------------------------------------------------------------------------------------


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


class Environment(Part):
    """Where commands run: this machine, a host over SSH, a container. An async context manager.

    Entering connects or starts what is needed and raises :class:`EnvironmentFailedError`, with a line that names the
    cure, if that cannot be had. Leaving takes away what entering made, also after a cancel.
    """

    async def __aenter__(self) -> Self:
        """Set nothing up, by default."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Take nothing away, by default."""
        return

    def command_to_reach(self, command: str) -> str:
        """What a person on this machine types to run ``command`` there, with a terminal; by default the command itself.

        Args:
            command: a command line for a shell of the environment.
        """
        return command

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

    @abstractmethod
    async def download_file(self, source: str, target: Path) -> None:
        """Copy a file of the environment to ``target`` on this machine.

        Raises:
            FileNotFoundError: ``source`` is not there.
            OSError: ``target`` cannot be written.
            EnvironmentFailedError: the place does not answer.
        """


# -- how the terminal is driven ----------------------------------------------------------------------------------------


class Session(ABC):
    """An open terminal session."""

    capabilities: frozenset[str] = frozenset()
    """What it can do beyond the required: ``resize``, ``restart``, ``resume``, ``exit_status``, ``history`` …"""
    resume_token: str | None = None
    """What :attr:`SessionOptions.resume_token` takes to attach to this session again."""
    exit_status: int | None = None
    """The exit status of its shell, once that has ended and where it is known."""
    attach_command: str = ""
    """What a person types to watch."""

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

    @abstractmethod
    async def get_incremental_output(self) -> TerminalText:
        """What is new since the last call.

        Raises:
            TimeoutError: the terminal does not answer.
            SessionClosedError: the session has ended and its last output was given already.
            EnvironmentFailedError: the way to the terminal is lost.
        """

    @abstractmethod
    async def capture_pane(self, *, entire: bool = False) -> str:
        """The visible screen, or the whole history with it.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as of :meth:`get_incremental_output`.
        """

    @abstractmethod
    async def is_session_alive(self) -> bool:
        """Whether keys would still reach a shell. Changes nothing.

        Raises:
            EnvironmentFailedError: no answer at all, which is not a "no".
        """

    @abstractmethod
    def listen(self, listener: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Call ``listener`` with everything that happens, first with the size and the screen as they are.

        After a gap comes a screen. Returns a function that stops it. The listener must be quick and not raise.
        """

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, in columns and rows.

        Raises:
            TerminusError: this session cannot be resized (the default); such a one lacks the capability ``resize``.
        """
        raise TerminusError(f"the terminal cannot be resized to {width}x{height}")

    async def restart(self) -> None:
        """End whatever runs in the terminal and start a fresh shell.

        Raises:
            TerminusError: this session cannot restart its shell (the default); it lacks the capability ``restart``.
            TimeoutError: the terminal does not come back.
        """
        raise TerminusError("the shell cannot be restarted here")

    def batch(self, count: int) -> None:  # noqa: B027 - for those who can use it
        """Announce that the next ``count`` calls of :meth:`send_keys` belong together, with no look between them."""


class SessionBackend(Part):
    """Opens terminal sessions in an environment."""

    @abstractmethod
    def open(self, environment: Environment, options: SessionOptions) -> AbstractAsyncContextManager[Session]:
        """A context manager: entering starts the terminal and waits until its shell reads; leaving ends both.

        An exception that passes through it comes out as it is, never as an ``ExceptionGroup``.

        Raises:
            EnvironmentFailedError: the terminal cannot be had; the line names the cure.
            SessionClosedError: the shell ended before it was ready, or the session of ``options.resume_token`` is gone.
        """


# -- what the model says -----------------------------------------------------------------------------------------------


_JSON_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class Action(Part):
    """What a reply may ask for beside keystrokes: look at an image, reset the shell.

    Every parser offers it in its own format. A call is recorded as a tool call.
    """

    description: ClassVar[str]
    """What it does and when to use it, for the model."""
    parameters: ClassVar[dict[str, Any]]
    """A JSON schema of type ``object`` for its arguments."""
    max_per_reply: ClassVar[int | None] = None
    """How many calls of one reply are performed, ``None`` for all."""

    def argument_faults(self, arguments: Any) -> list[str]:
        """Why ``arguments`` do not fit :attr:`parameters`, in words for the model; empty if they do."""
        if not isinstance(arguments, dict):
            return [f"{self.name}: expected an object with arguments"]
        known: dict[str, Any] = self.parameters.get("properties", {})
        faults = [
            f'{self.name}: "{key}" is missing' for key in self.parameters.get("required", ()) if key not in arguments
        ]
        for key, value in arguments.items():
            kind = known.get(key, {}).get("type", "")
            if key not in known:
                faults.append(f'{self.name}: unknown argument "{key}"; known: {", ".join(known) or "none"}')
            elif kind in _JSON_TYPES and not isinstance(value, _JSON_TYPES[kind]):
                faults.append(f'{self.name}: "{key}" must be of type {kind}')
        return faults

    def is_available(self, run: Run) -> bool:  # noqa: ARG002 - for those who depend on the run
        """Whether it can work in this run: asked once, when the session is open and the model is known."""
        return True

    @abstractmethod
    async def perform(self, run: Run, arguments: dict[str, Any]) -> str | list[ContentPart]:
        """Do it; the result joins the observation of this turn. A :class:`TerminusError` becomes text."""


class ResponseParser(Part):
    """Prompt text, parsing, and all of the agent's own words to the model."""

    error_response_type: str = "response"
    """What a repair prompt asks for: ``Please fix these issues and provide a proper {error_response_type}.``"""
    tools: list[dict[str, Any]] | None = None
    """Native tool definitions in OpenAI's form, ``None`` for a format in text."""
    actions: Sequence[Action] = ()
    """The actions that replies may ask for in this run; set by :meth:`prepare`."""

    def prepare(self, run: Run) -> None:
        """Called once before the first prompt, when the session is open and the model is known."""
        self.actions = list(run.actions.values())

    @abstractmethod
    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        """The first message: format rules, the task, the terminal. Inserted text is never expanded again."""

    @abstractmethod
    def parse_response(self, response: LLMResponse) -> ParseResult:
        """Read a response. Never raises, whatever the model wrote."""

    @abstractmethod
    def completion_confirmation(self, terminal_output: str) -> str:
        """The question after a first claim of completion: shows the terminal and says how to confirm."""

    def recorded_calls(self, response: LLMResponse, reply: ParseResult) -> list[ToolCall]:  # noqa: ARG002 - for formats with native calls
        """The native tool calls of a response as its step records them, with the model's own ids and names.

        Args:
            response: what the model sent.
            reply: what the gates left of it; recorded commands are these.
        """
        return []

    # -- words to the model, each of which a parser may put differently ------------------------------------------------

    def heading(self, kind: Literal["new", "screen", "none"]) -> str:
        """The line above the terminal's text; ``kind`` as of :class:`TerminalText`."""
        return texts.heading(kind)

    def limit_notice(self, bytes_left_out: int, rows_left_out: int) -> str:
        """The line that stands where output was left out; one of the two numbers may be 0."""
        return texts.limit_notice(bytes_left_out, rows_left_out)

    def timeout_text(self, keystrokes: str, seconds: float, terminal_state: str) -> str:
        """The observation of a terminal that did not come back within ``seconds`` after ``keystrokes``."""
        return texts.timeout_text(keystrokes, seconds, terminal_state)

    def repair_prompt(self, reply: ParseResult, response_type: str) -> str:
        """What the model is asked after a response that could not be used."""
        return texts.repair_prompt(reply, response_type)

    def with_warnings(self, reply: ParseResult, observation: str) -> str:
        """The observation with the warnings about the last response in front."""
        return texts.with_warnings(reply, observation)


class LLM(Part):
    """One model behind one kind of API."""

    model_name: str = ""
    """The configured model, as the user names it."""
    context_limit: int | None = None
    """Tokens of the context window, ``None`` if unknown."""
    output_limit: int | None = None
    """Tokens that one response may have, ``None`` if unknown."""
    supports_images: bool = False
    """Whether messages may hold images."""
    knows_price: bool | None = None
    """Whether responses tell their cost: if not, a cost limit is refused before the first request. ``None``: unknown;
    the first response without a cost ends a run that has such a limit."""

    async def prepare(self) -> None:
        """Called once before the first request: find out what the model is.

        Raises:
            ConfigError: a setting turns out wrong.
            LLMError: the provider cannot be asked.
        """

    @abstractmethod
    async def call(self, request: LLMRequest) -> LLMResponse:
        """Ask the model; retries of transient faults are this method's own.

        Raises:
            ContextLengthExceededError: the request is too long for the model.
            LLMError: the provider failed for good; the line says how.
        """

    @abstractmethod
    def count_tokens(self, messages: list[Message]) -> int:
        """About how many tokens ``messages`` are. Costs O(given)."""


# -- who decides -------------------------------------------------------------------------------------------------------


class CompletionPolicy(Part):
    """When a claim of completion counts. The pending claim lives in ``run.pending_completion``."""

    @abstractmethod
    async def decide(self, run: Run, turn: Turn) -> Completion:
        """Called once in every turn that was parsed and not refused by a gate."""


class ContextStrategy(Part):
    """Keeps the chat inside the model's window."""

    @abstractmethod
    async def before_request(self, run: Run, prompt: str) -> str:
        """Called before each request; returns the prompt to send, mostly the one given."""

    @abstractmethod
    async def on_context_length_exceeded(self, run: Run, prompt: str) -> str:
        """Called when the provider refused a request as too long; returns the prompt to try again with.

        Raises:
            RunLimitReached: nothing can be done (reason ``context``).
        """


class Gate(Part):
    """The awaited place before anything is typed: approval, limits, deny lists."""

    @abstractmethod
    async def before_commands(self, run: Run, reply: ParseResult) -> ParseResult | str:
        """The reply to go on with, or a text: then nothing is typed and the text is the observation."""


class Observer(Part):
    """Implements hooks, one instance for each run. Any class with a ``name`` will do; this one is a convenience.

    An observer that is an async context manager is entered before ``terminus_run_started`` and left, shielded from
    cancellation, after ``terminus_run_finished``.
    """

    owns: ClassVar[frozenset[str]] = frozenset()
    """Names of files by which it knows that a folder holds a run already: such a folder is refused."""


# -- the table of roles ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Role:
    """One role.

    Attributes:
        name: also the name of its settings table.
        hook: registers its parts.
        base: what its parts subclass; ``None`` where any class will do.
        key: the ``[agent]`` key that chooses among them.
        many: whether a run has any number of them.
    """

    name: str
    hook: str
    base: type[Part] | None
    key: str
    many: bool = False


ROLES: dict[str, Role] = {
    role.name: role
    for role in (
        Role("environment", "terminus_register_environments", Environment, "environment"),
        Role("session", "terminus_register_session_backends", SessionBackend, "session"),
        Role("parser", "terminus_register_response_parsers", ResponseParser, "parser"),
        Role("llm", "terminus_register_llms", LLM, "llm"),
        Role("completion", "terminus_register_completion_policies", CompletionPolicy, "completion"),
        Role("context", "terminus_register_context_strategies", ContextStrategy, "context"),
        Role("action", "terminus_register_actions", Action, "actions", many=True),
        Role("gate", "terminus_register_gates", Gate, "gates", many=True),
        Role("observer", "terminus_register_observers", None, "observers", many=True),
    )
}
"""Every role by its name."""
