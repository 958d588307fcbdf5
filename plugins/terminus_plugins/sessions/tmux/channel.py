"""How command lists reach tmux and how its answers come back.

The session's logic knows :class:`Channel` only; several kinds of channel carry the same lists by different means.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from terminus_plugins.sessions.tmux.protocol import Reply


class TmuxRefusedError(Exception):
    """tmux answered a command with an error; the text is tmux's own."""


class Request:
    """A command list on its way, and the answers to it.

    Attributes:
        expected: how many answers there will be.
        replies: those that have come.
        finished: no more will come.
        overdue: why nobody should wait any longer; ``""``: they may.
    """

    __slots__ = ("_event", "_failure", "_then", "expected", "finished", "overdue", "replies")

    def __init__(self, expected: int, then: Callable[[Sequence[Reply]], None] | None = None) -> None:
        self.replies: list[Reply] = []
        self.finished = False
        self.overdue = ""
        self.expected = expected
        self._failure: Exception | None = None
        self._event: anyio.Event | None = None
        self._then = then

    def add(self, reply: Reply) -> bool:
        """Take one answer; ``True`` if it was the last: an error drops the rest of a list."""
        self.replies.append(reply)
        if reply.ok and len(self.replies) < self.expected:
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

    async def wait(self) -> list[Reply]:
        """Wait for the answers.

        Raises:
            TimeoutError: none in the time that the channel gives it.
            TmuxRefusedError, SessionClosedError, EnvironmentFailedError: see :meth:`result`.
        """
        if not self.finished and not self.overdue:
            self._event = self._event or anyio.Event()
            await self._event.wait()
        if not self.finished:
            raise TimeoutError(self.overdue)
        return self.result()

    def expire(self, told: str) -> None:
        """Whoever waits need not wait any longer; the answer may still come."""
        self.overdue = told
        self._wake()

    def _finish(self) -> None:
        self.finished = True
        self._wake()

    def _wake(self) -> None:
        if self._event is not None:
            self._event.set()


@dataclass(slots=True, frozen=True)
class Goal:
    """What a wait is for: the end of what was typed, as the prompts of the shell tell it.

    Attributes:
        shell: process id of the shell whose prompts count; ``""``: any.
        prompts: this many are enough at once; 0: no number is.
        jobs: whether a background job keeps a wait from ending.
        quiet: whether a prompt, and quiet after it, are enough too.
    """

    shell: str
    prompts: int
    jobs: bool
    quiet: bool


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
    def post(
        self,
        *commands: str,
        then: Callable[[Sequence[Reply]], None] | None = None,
        once: bool = False,
        soon: bool = False,
    ) -> Request:
        """Send a command list without waiting. Lists are run in the order of the calls.

        ``then`` is called with the answers, in the order of the stream, unless tmux refuses. ``once``: it must not be
        run twice, whatever happens; others may be. ``soon``: it may go with the next list, if that comes before the
        event loop is back; tmux answers both at a time then.
        """
        ...

    async def ask(self, *commands: str) -> list[Reply]:
        """Send a command list and wait for its answers.

        Raises:
            TimeoutError, TmuxRefusedError, SessionClosedError, EnvironmentFailedError: see :meth:`Request.wait`.
        """
        return await self.post(*commands).wait()

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
