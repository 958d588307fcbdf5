"""The session: bytes in and out of the shell, prompts seen in them, and what is new on the screen."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Literal

import anyio
import pyte
from terminus_core import EnvironmentFailedError, Session, SessionClosedError, SessionEvent, TerminalText

from terminus_ghost.keys import compile_keys
from terminus_ghost.screen import APPLICATION_KEYS, BRACKETED_PASTE, GhostScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from terminus_core import Environment, EnvironmentProcess

MARK = re.compile(rb"\x1b\]133;([A-Z]);([^\x07;]*);?([^\x07]*)\x07")
CHUNK = 1024
"""Bytes that the emulator gets at a time: it is slow, and others want to run."""
STATUS_SEC = 1.0
"""How long after its last output a process may keep us waiting for its status."""
QUIET_SEC = 0.3
"""Silence at a prompt after which nothing more is expected, though fewer prompts came than keys should bring."""


class GhostSession(Session):
    """One shell on one pseudo-terminal."""

    capabilities = frozenset({"exit_status", "history", "prompt", "resize", "stream"})

    def __init__(self, environment: Environment, screen: GhostScreen) -> None:
        self._environment = environment
        self._screen = screen
        self._stream = pyte.ByteStream(screen)
        self._process: EnvironmentProcess
        self._listeners: list[Callable[[SessionEvent], None]] = []
        self._changed = anyio.Event()
        self._tail = b""
        self._tty = ""
        self._shell = b""
        self._marks = 0
        self._at_prompt = False
        self._jobs = 0
        self._ended = False
        self._given_text: str | None = None
        self._full_screen: list[str] | None = None

    # -- what the backend calls ----------------------------------------------------------------------------------------

    async def read(self, process: EnvironmentProcess) -> None:
        """Take what programs write, until there is no more."""
        self._process = process
        try:
            while True:
                self._feed(await process.receive(CHUNK))
                await anyio.lowlevel.checkpoint()  # others want to run, however much there is to read
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, EnvironmentFailedError):
            with anyio.move_on_after(STATUS_SEC):
                while process.return_code is None:  # noqa: ASYNC110 - nobody tells when the status is there
                    await anyio.sleep(0.01)
            self._ended = True
            self._tell_change()

    async def wait_until_ready(self, seconds: float) -> None:
        """Wait for the first prompt.

        Raises:
            EnvironmentFailedError: none has come.
            SessionClosedError: the shell has ended instead.
        """
        with anyio.move_on_after(seconds) as limit:
            await self._wait(lambda: self._at_prompt)
        if self._ended:
            raise SessionClosedError(f"the shell ended before it was ready: {' '.join(self._screen.rows).strip()}")
        if limit.cancelled_caught:
            raise EnvironmentFailedError(f"the shell has shown no prompt within {seconds:g} seconds")

    # -- the session ---------------------------------------------------------------------------------------------------

    @property
    def exit_status(self) -> int | None:
        """The shell's status, once it has ended."""
        return self._process.return_code if self._ended else None

    async def send_keys(
        self,
        keystrokes: str,
        *,
        block: bool = False,
        min_timeout_sec: float = 0.0,
        max_timeout_sec: float = 180.0,
    ) -> None:
        """Type, and wait: blocking until the prompt is back, else until it is back with no job in the background."""
        if self._ended:
            raise SessionClosedError("the shell has ended")
        mode = self._screen.mode
        typed = compile_keys(keystrokes, application=APPLICATION_KEYS in mode, bracketed=BRACKETED_PASTE in mode)
        wanted = self._marks + (typed.prompts or 0)
        if keystrokes:
            self._at_prompt = False
            try:
                await self._process.send(typed.data)
            except anyio.BrokenResourceError:
                raise SessionClosedError("the shell has ended") from None
            self._tell("input", typed.data)

        def done() -> bool:
            return self._at_prompt and self._marks >= wanted and (block or not self._jobs)

        if block and typed.prompts is not None:
            with anyio.move_on_after(max_timeout_sec) as limit:
                await self._wait(done, quiet_will_do=True)
            if limit.cancelled_caught:
                raise TimeoutError(f"the command has not ended within {max_timeout_sec:g} seconds")
        elif min_timeout_sec > 0:
            with anyio.move_on_after(min_timeout_sec):
                await self._wait(done if typed.prompts is not None else lambda: False)
        else:
            await anyio.lowlevel.checkpoint()

    async def get_incremental_output(self) -> TerminalText:
        """The rows that are new, or the screen where that cannot be told."""
        await anyio.lowlevel.checkpoint()
        screen = self._screen
        text = self._full_screen_text() if screen.alternate else self._new_rows()
        if text.kind == "none" and self._ended:
            raise SessionClosedError("the shell has ended")
        return text

    async def capture_pane(self, *, entire: bool = False) -> str:
        """The screen, or all rows that are known."""
        await anyio.lowlevel.checkpoint()
        screen = self._screen
        return "\n".join(screen.between(screen.oldest if entire else screen.base, screen.end))

    async def is_session_alive(self) -> bool:
        """Whether the shell has not ended."""
        await anyio.lowlevel.checkpoint()
        return not self._ended

    def listen(self, listener: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Size and screen at once, then all that happens."""
        now = time.monotonic()
        listener(SessionEvent(now, "resize", (self._screen.columns, self._screen.lines)))
        listener(SessionEvent(now, "screen", self._screen.drawing()))
        self._listeners.append(listener)

        def stop() -> None:
            self._listeners = [each for each in self._listeners if each is not listener]

        return stop

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, in columns and rows."""
        await self._environment.exec(f"stty -F {self._tty} cols {width} rows {height}")
        self._screen.resize(height, width)
        self._tell("resize", (width, height))

    # -- what the shell writes -----------------------------------------------------------------------------------------

    def _feed(self, data: bytes) -> None:
        self._stream.feed(data)
        for kind, who, more in MARK.findall(self._tail + data):
            self._take_mark(kind, who, more)
        self._tail = (self._tail + data).rpartition(b"\x07")[2][-100:]
        self._tell("output", data)
        self._tell_change()

    def _take_mark(self, kind: bytes, who: bytes, more: bytes) -> None:
        """T: the terminal's name. B: a prompt. K: a prompt for the rest of a command. Nested shells do not count."""
        if kind == b"T":
            self._tty = who.decode()
            return
        self._shell = self._shell or who
        if who == self._shell:
            self._marks += 1
            self._at_prompt = kind == b"B"
            self._jobs = int(more or 0)

    def _tell(self, kind: Literal["output", "input", "resize"], data: bytes | tuple[int, int]) -> None:
        for listener in self._listeners:
            listener(SessionEvent(time.monotonic(), kind, data))

    def _tell_change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _wait(self, done: Callable[[], bool], *, quiet_will_do: bool = False) -> None:
        """Wait until ``done``, which is asked after each change, or the shell has ended, or it is quiet at a prompt."""
        while not self._ended and not done():
            with anyio.move_on_after(QUIET_SEC) as quiet:
                await self._changed.wait()
            if quiet.cancelled_caught and quiet_will_do and self._at_prompt:
                return

    # -- what is new ---------------------------------------------------------------------------------------------------

    def _new_rows(self) -> TerminalText:
        screen = self._screen
        self._full_screen = None
        end = screen.end
        if screen.redrawn:
            text = TerminalText("\n".join(screen.between(screen.base, end)), kind="screen")
        else:
            known = screen.between(screen.given, screen.given + 1) if screen.given >= screen.oldest else [""]
            first = screen.given + (self._given_text is not None and known == [self._given_text])
            rows = screen.between(first, end)
            left_out = max(0, screen.oldest - first)
            text = TerminalText("\n".join(rows), rows_left_out=left_out)
            if not rows and not left_out:
                text = TerminalText(screen.rows[screen.cursor.y], kind="none")
        # A blank row under the cursor has not been given: something may still be written there.
        blank = end == screen.row
        screen.given = end if blank else end - 1
        self._given_text = None if blank else screen.between(end - 1, end)[0]
        screen.redrawn = False
        return text

    def _full_screen_text(self) -> TerminalText:
        screen = self._screen
        rows = screen.between(screen.base, screen.end)
        if rows == self._full_screen:
            return TerminalText(screen.rows[screen.cursor.y], kind="none")
        self._full_screen = rows
        return TerminalText("\n".join(rows), kind="screen")
