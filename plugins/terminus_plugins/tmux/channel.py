"""How command lists reach tmux and how its answers come back.

The session's logic knows :class:`Channel` only. :class:`ControlChannel` is one persistent control-mode client over any
pair of byte streams; another kind of channel may carry the same lists by other means.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import anyio

from terminus_core import EnvironmentFailedError, EnvironmentProcess, SessionClosedError
from terminus_plugins.tmux.protocol import Attached, ControlReader, Event, Exit, Output, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio.abc import TaskGroup


class TmuxRefusedError(Exception):
    """tmux answered a command with an error; the text is tmux's own."""


class Request:
    """A command list on its way, and the answers to it."""

    __slots__ = ("_event", "_expected", "_failure", "_then", "finished", "replies")

    def __init__(self, expected: int, then: Callable[[Sequence[Reply]], None] | None = None) -> None:
        self.replies: list[Reply] = []
        self.finished = False
        self._expected = expected
        self._failure: Exception | None = None
        self._event: anyio.Event | None = None
        self._then = then

    def add(self, reply: Reply) -> bool:
        """Take one answer; ``True`` if it was the last: an error drops the rest of a list."""
        self.replies.append(reply)
        if reply.ok and len(self.replies) < self._expected:
            return False
        self._finish()
        if self._then is not None and reply.ok:
            self._then(self.replies)
        return True

    def fail(self, failure: Exception) -> None:
        """No answer will come."""
        self._failure = failure
        self._finish()

    def result(self) -> list[Reply]:
        """The answers of a finished request.

        Raises:
            TmuxRefusedError: tmux refused a command.
            SessionClosedError, EnvironmentFailedError: the channel ended before the answer.
        """
        if self._failure is not None:
            raise self._failure
        if not self.replies[-1].ok:
            raise TmuxRefusedError(b" ".join(self.replies[-1].lines).decode(errors="replace"))
        return self.replies

    async def wait(self, limit: float) -> list[Reply]:
        """Wait for the answers.

        Raises:
            TimeoutError: none within ``limit`` seconds.
            TmuxRefusedError, SessionClosedError, EnvironmentFailedError: see :meth:`result`.
        """
        if not self.finished:
            self._event = self._event or anyio.Event()
            with anyio.move_on_after(limit):
                await self._event.wait()
        if not self.finished:
            raise TimeoutError(f"tmux has not answered for {limit:g} seconds")
        return self.result()

    def _finish(self) -> None:
        self.finished = True
        if self._event is not None:
            self._event.set()


@dataclass(slots=True, frozen=True)
class Goal:
    """What a wait is for: the end of what was typed, as the prompts of the shell tell it.

    Attributes:
        shell: process id of the shell whose prompts count; ``""``: any.
        prompts: this many are enough at once; 0: a prompt, and quiet.
        jobs: whether a background job keeps a wait from ending.
    """

    shell: str
    prompts: int
    jobs: bool


@dataclass(slots=True, frozen=True)
class Foresight:
    """The look that will most likely be asked for next.

    Attributes:
        commands: its command list, given the number of rows above the screen.
        anchor: size of the history at the last look.
        least: rows to take at least.
        most: rows to take at most.
    """

    commands: Callable[[object], tuple[str, ...]]
    anchor: int
    least: int
    most: int


class Channel(Protocol):
    """Carries command lists to one tmux server.

    Attributes:
        streams: what programs write is told as it comes.
        answer_timeout: seconds until a missing answer is a :class:`TimeoutError`.
        ended: ``None`` while it works; ``exit``: tmux said that it is over; ``lost``: the way to it broke.
    """

    streams: ClassVar[bool] = True
    answer_timeout: float
    ended: Literal["exit", "lost"] | None

    @abstractmethod
    def post(self, *commands: str, then: Callable[[Sequence[Reply]], None] | None = None) -> Request:
        """Send a command list without waiting. Lists are run in the order of the calls.

        ``then`` is called with the answers, in the order of the stream, unless tmux refuses.
        """
        ...

    async def ask(self, *commands: str) -> list[Reply]:
        """Send a command list and wait for its answers.

        Raises:
            TimeoutError, TmuxRefusedError, SessionClosedError, EnvironmentFailedError: see :meth:`Request.wait`.
        """
        return await self.post(*commands).wait(self.answer_timeout)

    async def sleep(self, seconds: float, changed: anyio.Event, goal: Goal | None) -> None:  # noqa: ARG002 - for others
        """Sleep until ``changed``, or for ``seconds``; ``goal`` is what whoever sleeps is waiting for.

        Raises:
            TimeoutError, EnvironmentFailedError: as of :meth:`Request.wait`, where sleeping takes asking.
        """
        with anyio.move_on_after(seconds):
            await changed.wait()

    def defer(self, seconds: float, goal: Goal | None) -> bool:  # noqa: ARG002 - for others
        """Let the wait be part of what is sent, before anything that is posted later; ``False``: it has to be slept."""
        return False

    def foresee(self, look: Foresight) -> None:  # noqa: ARG002 - for others
        """Say which look will most likely be asked for after the next sleep."""
        return

    def foreseen(self) -> list[Reply] | None:
        """The answers to that look, if it has been taken already and nothing was posted since."""
        return None


class ControlChannel(Channel):
    """One control-mode client.

    Args:
        stream: the client's stdin and stdout.
        answer_timeout: see :class:`Channel`.
        on_output: gets the pane and what its program writes, in tmux's escaped form, as it comes.
        on_end: called once, when the stream has ended.
    """

    def __init__(
        self,
        stream: EnvironmentProcess,
        *,
        answer_timeout: float,
        on_output: Callable[[bytes, bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self.answer_timeout = answer_timeout
        self.ended: Literal["exit", "lost"] | None = None
        self.finished = anyio.Event()
        self._stream = stream
        self._on_output = on_output
        self._on_end = on_end
        self._reader = ControlReader()
        self._pending: deque[Request] = deque()
        self._outgoing: list[bytes] = []
        self._attached = anyio.Event()
        self._wake = anyio.Event()
        self._scopes = (anyio.CancelScope(shield=True), anyio.CancelScope(shield=True))
        self._reason = ""

    def start(self, group: TaskGroup) -> None:
        """Read and write in ``group``, until the stream ends."""
        group.start_soon(self._read)
        group.start_soon(self._write)

    def post(self, *commands: str, then: Callable[[Sequence[Reply]], None] | None = None) -> Request:
        """See :class:`Channel`."""
        request = Request(len(commands), then)
        if self.ended is not None:
            request.fail(self._failure())
            return request
        self._pending.append(request)
        self._outgoing.append(" ; ".join(commands).encode(errors="replace") + b"\n")
        self._wake.set()
        return request

    def stop(self) -> None:
        """End both tasks, after the client has been ended: a server that hangs may still hold the stream open."""
        for scope in self._scopes:
            scope.cancel()

    # Both tasks are shielded: they end with the stream, whoever owns the stream decides when. A reader that is
    # cancelled first leaves a tmux client that blocks, and with it a server.

    async def _read(self) -> None:
        ends = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)
        with self._scopes[0], suppress(*ends):
            while True:
                for event in self._reader.feed(await self._stream.receive(65536)):
                    self._take(event)
        self._end()

    async def _write(self) -> None:
        with (
            self._scopes[1],
            suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError),
        ):
            # What is written before the session exists is run before the command that makes it.
            await self._attached.wait()
            while self.ended is None:
                await self._wake.wait()
                self._wake = anyio.Event()
                data = b"".join(self._outgoing)
                self._outgoing.clear()
                if data:
                    await self._stream.send(data)

    def _take(self, event: Event) -> None:
        if isinstance(event, Output):
            self._on_output(event.pane, event.escaped)
        elif isinstance(event, Attached):
            self._attached.set()
        elif isinstance(event, Exit):
            self.ended = "exit"
            self._reason = event.reason
        elif self._pending and self._pending[0].add(event):
            self._pending.popleft()

    def _end(self) -> None:
        self.ended = self.ended or "lost"
        while self._pending:
            self._pending.popleft().fail(self._failure())
        self._attached.set()
        self._wake.set()
        self.finished.set()
        self._on_end()

    def _failure(self) -> Exception:
        if self.ended == "exit":
            return SessionClosedError(f"the terminal session has ended{self._reason and f' ({self._reason})'}")
        told = self._stream.stderr_tail
        return EnvironmentFailedError(f"the connection to tmux is lost{told and f': {told}'}")
