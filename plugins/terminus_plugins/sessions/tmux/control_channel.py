"""The channel of an environment with byte streams: one persistent control-mode client, attached anew when it is lost.

A command list stays here until it has been answered. After a repair, what has no answer is sent again; lists that must
not run twice carry a number, which tmux keeps: it tells how far they have got.
"""

from __future__ import annotations

import math
import secrets
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import anyio

from terminus_core import EnvironmentFailedError, SessionClosedError, TerminusError
from terminus_plugins.sessions.tmux.channel import Channel, Request
from terminus_plugins.sessions.tmux.protocol import Attached, ControlReader, Event, Exit, Output, Reply, quote
from terminus_plugins.sessions.tmux.shell import PANE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from terminus_core import EnvironmentProcess

DONE = "@done"
"""Server option with the number of the last list that must not run twice."""
FIRST_PAUSE_SEC = 0.05
LONGEST_PAUSE_SEC = 5.0
STATUS_SEC = 1.0
"""How long the status of a client may take to be known after the end of its stream."""

OURS = b"$0"
"""Our session in tmux's words: the first one of the server."""
GONE = ("server exited", "lost server")
"""How the reasons begin that tell of the end of the server, not just of this client."""

_ENDS = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


class ControlRequest(Request):
    """A command list that may be sent again.

    Attributes:
        data: it, as bytes.
        number: of a list that must not run twice; 0: it may.
        since: ``time.monotonic()`` from when on an answer is expected.
    """

    __slots__ = ("data", "number", "since")

    def __init__(self, data: bytes, expected: int, then: Callable[[Sequence[Reply]], None] | None, number: int) -> None:
        super().__init__(expected, then)
        self.data = data
        self.number = number
        self.since = 0.0


class ControlChannel(Channel):
    """A control-mode client, and others after it when it is lost.

    Args:
        stream: the first client's stdin and stdout.
        another: starts another client; its argument says whether the server has ever been reached.
        probe: raises if the environment is gone for good.
        answer_timeout: see :class:`Channel`.
        repair_timeout: seconds that a repair may take.
        on_output: gets the pane and what its program writes, in tmux's escaped form, as it comes.
        on_gap: called when the client has been lost.
        on_repair: called when another is attached, before anything else is sent, with the seconds that it took.
        on_end: called once, at the end.
    """

    def __init__(  # noqa: PLR0913 - what it speaks through, and whom it tells
        self,
        stream: EnvironmentProcess,
        another: Callable[[bool], AbstractAsyncContextManager[EnvironmentProcess]],
        probe: Callable[[], Awaitable[object]],
        *,
        answer_timeout: float,
        repair_timeout: float,
        on_output: Callable[[bytes, bytes], None],
        on_gap: Callable[[], None],
        on_repair: Callable[[float], None],
        on_end: Callable[[], None],
    ) -> None:
        self.answer_timeout = answer_timeout
        self.ended: Literal["exit", "lost"] | None = None
        self.finished = anyio.Event()
        self._stream = stream
        self._another = another
        self._probe = probe
        self._repair_timeout = repair_timeout
        self._on_output = on_output
        self._on_gap = on_gap
        self._on_repair = on_repair
        self._on_end = on_end
        self._pending: deque[ControlRequest] = deque()  # sent, in the order of the answers to come
        self._held: deque[ControlRequest] = deque()  # to be sent when a client is there
        self._outgoing = bytearray()  # what is to be written yet
        self._is_writing = False
        self._send_nowait: Callable[[bytearray], int] = _takes_nothing
        self._wake = anyio.Event()
        self._is_up = False
        self._is_repairing = False
        self._is_ending = False
        self._attached = 0  # clients so far
        self._client = ""  # name of the last of them
        self._lost_at = 0.0
        self._opening = anyio.CancelScope()  # ends an attempt to attach that takes too long
        self._token = secrets.token_hex(4)
        self._number = 0
        self._told = ""
        self._scope = anyio.CancelScope(shield=True)

    def post(
        self,
        *commands: str,
        then: Callable[[Sequence[Reply]], None] | None = None,
        once: bool = False,
        soon: bool = False,
    ) -> ControlRequest:
        """See :class:`Channel`."""
        if once:
            self._number += 1
            commands = (*commands, f"set-option -s {DONE} {self._token}.{self._number}")
        data = " ; ".join(commands).encode(errors="replace") + b"\n"
        request = ControlRequest(data, len(commands), then, self._number if once else 0)
        if self.ended is not None:
            request.fail(self._failure())
        elif self._is_up:
            self._send(request, soon=soon)
        else:
            request.since = time.monotonic()
            self._held.append(request)
        return request

    async def run(self) -> None:
        """Read and write until the server is gone, or the way to it for good.

        Shielded: it ends with its stream, whose owner decides when that is. A reader that is cancelled first leaves a
        tmux client that blocks, and with it a server.
        """
        with self._scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self._look_at_the_clock)
                await self._serve(self._stream)
                while self.ended is None:
                    await self._repair()
                group.cancel_scope.cancel()
        self.ended = self.ended or "lost"
        for request in (*self._pending, *self._held):
            request.fail(self._failure())
        self.finished.set()
        self._on_end()

    def end(self, command: str) -> None:
        """End with a command after which there is no client any more."""
        self.post(command)
        self._is_ending = True

    def stop(self) -> None:
        """End it, after the first client has been ended: a server that hangs may still hold the stream open."""
        self._scope.cancel()

    # -- one client ----------------------------------------------------------------------------------------------------

    async def _serve(self, stream: EnvironmentProcess) -> None:
        """Speak to one client until it has ended."""
        self._send_nowait = getattr(stream, "send_nowait", _takes_nothing)  # optional, as far as this goes
        reader = ControlReader()
        async with anyio.create_task_group() as group:
            group.start_soon(self._write, stream)
            with suppress(*_ENDS):
                while True:
                    for event in reader.feed(await stream.receive(65536)):
                        self._take(event)
            group.cancel_scope.cancel()
        self._told = self._told or stream.stderr_tail
        if self._is_ending:
            self.ended = "exit"  # tmux before 3.2 does not say so
        if self._is_up:
            self._lost_at = anyio.current_time()
            if self.ended is None:
                self._on_gap()
        elif not self._attached and await _has_status(stream):
            self.ended = self.ended or "lost"  # it does not start
        self._is_up = False
        self._held.extendleft(reversed([request for request in self._pending if not request.finished]))
        self._pending.clear()
        self._outgoing.clear()
        self._is_writing = False

    async def _write(self, stream: EnvironmentProcess) -> None:
        with suppress(*_ENDS):  # the reader notices too, and what has no answer is sent again
            while True:
                await self._wake.wait()
                self._wake = anyio.Event()
                self._is_writing = True
                while self._outgoing:
                    data = bytes(self._outgoing)
                    self._outgoing.clear()
                    await stream.send(data)
                self._is_writing = False

    def _send(self, request: ControlRequest, *, soon: bool = False) -> None:
        request.since = time.monotonic()
        self._pending.append(request)
        self._outgoing += request.data
        if not soon and not self._is_writing:
            del self._outgoing[: self._send_nowait(self._outgoing)]
        if self._outgoing:
            self._wake.set()

    def _take(self, event: Event) -> None:
        if isinstance(event, Output):
            self._on_output(event.pane, event.escaped)
        elif isinstance(event, Reply):
            if self._pending and self._pending[0].add(event):
                self._pending.popleft()
        elif isinstance(event, Exit):
            self._told = event.reason
            if not self._is_up or event.reason.startswith(GONE):  # else the next client finds out what has ended
                self.ended = "exit"
                self._is_up = False
        elif self._is_up:
            self._stay(event)
        elif not self._pending:
            self._greet()

    def _stay(self, attached: Attached) -> None:
        """Go back to our session if something in it has led this client away: tmux tells a client of one only."""
        if attached.session != OURS:
            self._on_gap()  # meanwhile tmux tells of the other session: a prompt may be missed
            back = ControlRequest(f"switch-client -t {PANE}\n".encode(), 1, lambda _: self._on_repair(0.0), 0)
            self._send(back)

    def _greet(self) -> None:
        """What is written before the client is attached to a session is run before the command that makes it."""
        if self._client:  # it may live on at the other end of a dead connection, and block the server one day
            self._send(ControlRequest(f"detach-client -t {quote(self._client)}\n".encode(), 1, None, 0))
        ask = f"display-message -p '#{{client_name}} #{{{DONE}}}'\n".encode()
        self._send(ControlRequest(ask, 1, self._begin, 0))

    def _begin(self, replies: Sequence[Reply]) -> None:
        """A client is there: go on where the last one has got to."""
        self._opening.deadline = math.inf
        name, _, done = replies[0].lines[0].decode().partition(" ")
        token, _, number = done.partition(".")
        self._client = name
        self._attached += 1
        held, self._held = self._held, deque()
        self._is_up = True
        self._is_repairing = False
        if self._attached > 1:
            self._on_repair(anyio.current_time() - self._lost_at)
        for request in held:
            request.replies.clear()
            if token == self._token and 0 < request.number <= int(number):
                for _ in range(request.expected):
                    request.add(Reply(ok=True))
            else:
                self._send(request)

    async def _look_at_the_clock(self) -> None:
        """Let requests expire: one timer for all of them."""
        while True:
            now = earliest = time.monotonic()
            for request in () if self._is_repairing else (*self._pending, *self._held):
                if now < request.since + self.answer_timeout:
                    earliest = min(earliest, request.since)
                elif not request.overdue:
                    request.expire(f"tmux has not answered for {self.answer_timeout:g} seconds")
            await anyio.sleep(earliest + self.answer_timeout - now)

    # -- another client ------------------------------------------------------------------------------------------------

    async def _repair(self) -> None:
        """Attach again, with growing pauses; returns when that client is lost too, or everything is."""
        deadline = anyio.current_time() + self._repair_timeout
        pause = FIRST_PAUSE_SEC
        attached = self._attached
        self._is_repairing = True
        while self.ended is None:
            with anyio.CancelScope(deadline=deadline) as self._opening:
                try:
                    async with self._another(bool(self._attached)) as stream:
                        await self._serve(stream)
                except (TerminusError, OSError) as error:
                    self._told = str(error)
                    if not await self._is_there():
                        self.ended = "lost"
            if self._attached > attached:
                return
            if anyio.current_time() + pause > deadline:
                self.ended = self.ended or "lost"
            else:
                await anyio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SEC)

    async def _is_there(self) -> bool:
        """Whether the environment still answers: a place may have patience of its own, and tell when it is spent."""
        try:
            await self._probe()
        except TimeoutError:
            return True
        except (TerminusError, OSError) as error:
            self._told = str(error)
            return False
        return True

    def _failure(self) -> Exception:
        told = self._told
        if self.ended == "exit":
            return SessionClosedError(f"the terminal session has ended{told and f' ({told})'}")
        return EnvironmentFailedError(f"the connection to tmux is lost{told and f': {told}'}")


async def _has_status(stream: EnvironmentProcess) -> bool:
    """Whether the client has ended by itself; a connection that was lost leaves no status."""
    with anyio.move_on_after(STATUS_SEC):
        while stream.return_code is None:  # noqa: ASYNC110 - a stream tells its end by nothing else
            await anyio.sleep(0.01)
    return stream.return_code is not None


def _takes_nothing(_: bytearray) -> int:
    """A stream that cannot send without waiting."""
    return 0
