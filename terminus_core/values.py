"""The values that pass between the parts of an agent, the loop and its observers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse, Message


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


@dataclass(slots=True)
class ActionCall:
    """A reply's request for an action.

    Attributes:
        name: of the action.
        arguments: as the model gave them, checked against the action's ``parameters``.
        call_id: the model's own id of the native tool call that asked for it; ``""`` if it was asked for otherwise.
    """

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    call_id: str = ""


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
    actions: list[ActionCall] = field(default_factory=list)
    commands_unusable: bool = False


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
    """A policy's decision.

    Attributes:
        observation: what goes back to the model.
        done: the run is done.
        subagents: the model calls behind the decision; the step refers to their documents.
    """

    observation: str
    done: bool = False
    subagents: list[Subagent] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Marker:
    """A point in the run worth finding again.

    Attributes:
        label: what people read.
        kind: ``episode``, ``parse_error``, ``completion_asked``, ``completion_confirmed``, ``summary``, ``gap``,
            ``note``, or a plugin's own word.
        episode: the episode it belongs to, counted from 1; 0 before the first.
        time: when, in seconds since 1970; 0 if unknown.
    """

    label: str
    kind: str = "note"
    episode: int = 0
    time: float = 0.0


@dataclass(slots=True)
class Subagent:
    """A model call beside the chat, such as one call of a summary.

    Attributes:
        kind: what it was for, such as ``summary``.
        messages: exactly the messages that were sent.
        response: the answer.
        attempt: its number among the calls of the same kind in this run, counted from 1.
        group: several kinds that belong together, such as ``summarization``.
    """

    kind: str
    messages: list[Message]
    response: LLMResponse
    attempt: int = 1
    group: str = ""

    @property
    def trajectory_file(self) -> str:
        """The name of its own document, beside the run's trajectory."""
        kind = re.sub(r"[^A-Za-z0-9_-]", "_", self.kind)
        return (
            f"trajectory.{self.group}-{self.attempt}-{kind}.json"
            if self.group
            else f"trajectory.{kind}-{self.attempt}.json"
        )


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
