"""A terminal session in tmux: keys, rows, the end. What travels how is the channel's business."""

from __future__ import annotations

import math
import secrets
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from terminus_core import EnvironmentFailedError, Session, SessionClosedError, SessionEvent, TerminalText
from terminus_plugins.tmux.channel import Channel, Request, TmuxRefusedError
from terminus_plugins.tmux.events import SCREEN_STATE, Listeners, draw
from terminus_plugins.tmux.keys import Keys, compile_keys
from terminus_plugins.tmux.prompt import PromptState
from terminus_plugins.tmux.protocol import Reply, quote, unescape
from terminus_plugins.tmux.rows import STATE, Look, RowReader, State
from terminus_plugins.tmux.scroll import ScrollCounter
from terminus_plugins.tmux.shell import KEEPERS, Place, pane_argv, respawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from terminus_plugins.tmux.config import TmuxConfig

SETTLE_SEC = 0.1
"""Quiet after a prompt that ends a wait, where the marks alone cannot tell (several lines, keys for a program)."""
QUIET_SEC = 2.0
"""Quiet after which a shell without marks counts as ready."""
PROMPT_QUIET_SEC = 0.5
"""The same, if it shows something that may be a prompt."""
SILENT_BASH_SEC = 5.0
"""The same for a bash, whose start-up files may have silenced the marks, or may just be slow."""
POLL_SEC = 0.05
"""How often a shell without marks is asked whether it is back."""
BIG_CAPTURE_BYTES = 300_000
"""From here on decoding leaves the event loop's thread."""


class TmuxSession(Session):
    """One pane of one tmux server. Made by the backend, usable between its :meth:`begin` and the end of its channel."""

    capabilities = frozenset({"exit_status", "history", "prompt", "resize", "restart", "resume", "stream"})

    def __init__(self, place: Place, config: TmuxConfig) -> None:
        self.token = secrets.token_hex(8)
        self.place = place
        self.server = ""
        self._config = config
        self._channel: Channel
        self._pane = "%0"
        self._prompt = PromptState(self.token)
        self._rows = RowReader()
        self._scroll = ScrollCounter(config.history_limit, config.pane_width, config.pane_height)
        self._listeners = Listeners()
        self._posted: Request | None = None
        self._sizing: Request | None = None
        self._changed = anyio.Event()
        self._last_output = time.monotonic()
        self._spoke = False
        self._dead = False
        self._screen: Sequence[str] = ()
        self._home = ""  # the unmarked shell's own name, as tmux tells it

    # -- what the backend calls ----------------------------------------------------------------------------------------

    async def begin(self, channel: Channel, *, resumed: bool = False) -> None:
        """Use ``channel``; wait until the shell reads, or, resumed, find out how things are."""
        self._channel = channel
        target = f"={self.place.name}:"
        fields = "#{pid} #{pane_id} #{pane_width} #{history_size} #{@token}:#{@shell}:#{@home}:#{@ended}"
        reply = (await self._ask(f"display-message -p -t {target} {quote(fields)}"))[0]
        self.server, self._pane, width, history, kept = reply.lines[0].decode().split(" ", 4)
        self._scroll.width = int(width)
        if not resumed:
            await self._wait_until_ready()
            return
        self._scroll.observe(int(history))
        self.token, shell, self._home, ended = kept.split(":")
        self._prompt.restart(self.token)
        self._prompt.shell = shell.encode() or None
        self._prompt.end_status = int(ended) if ended else None

    def on_output(self, pane: bytes, escaped: bytes) -> None:
        """Take what a program wrote; called by the channel, in order."""
        if pane != self._pane.encode():
            return
        self._last_output = time.monotonic()
        if not self._spoke:
            self._spoke = True
            self.on_change()
        if self._scroll.output(escaped) and (self._sizing is None or self._sizing.finished):
            self._sizing = self._channel.post(
                f"display-message -p -t {self._pane} '#{{history_size}}'",
                then=lambda replies: self._scroll.observe(int(replies[0].lines[0])),
            )
        if self._listeners or b"\\033" in escaped or self._prompt.wants:
            data = unescape(escaped)
            self._listeners.tell("output", data)
            if self._prompt.feed(data):
                self.on_change()

    def on_change(self) -> None:
        """Wake whoever waits for something to happen."""
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    # -- the session ---------------------------------------------------------------------------------------------------

    @property
    def exit_status(self) -> int | None:
        """Exit status of the shell that has ended; ``None`` while it lives or if it is not known."""
        return self._prompt.end_status if self._dead else None

    @property
    def resume_token(self) -> str:
        """What another process attaches with, if this one is gone without closing the session."""
        return f"{self.place.folder} {self.place.name}"

    @property
    def attach_command(self) -> str:
        """What a person types to watch."""
        return self.place.attach_command

    async def send_keys(
        self,
        keystrokes: str,
        *,
        block: bool = False,
        min_timeout_sec: float = 0.0,
        max_timeout_sec: float = 180.0,
    ) -> None:
        """See :class:`terminus_core.Session`. A blocking wait needs keystrokes that end with Enter."""
        if await self._is_over():
            raise self._closed()
        await self._settle_posted()
        was_idle = self._prompt.idle
        keys = compile_keys(keystrokes, self._pane)
        if keystrokes:
            self._type(keys)
        if block and keys.runs:
            if self._prompt.shell is None:
                ended = await self._wait_unmarked(max_timeout_sec)
            else:
                ended = await self._wait(max_timeout_sec, self._end_of(keys, was_idle=was_idle, jobs=False))
            await self._settle_posted()
            if not ended:
                raise TimeoutError(f"the command has not ended within {max_timeout_sec:g} seconds")
        elif min_timeout_sec > 0:
            early = keystrokes and self._config.wait == "prompt"
            await self._wait(min_timeout_sec, self._end_of(keys, was_idle=was_idle, jobs=True) if early else None)
            await self._settle_posted()

    async def get_incremental_output(self) -> TerminalText:
        """See :class:`terminus_core.Session`."""
        look = await self._look()
        text = self._rows.read(look, (self._prompt.cleared, self._scroll.doubts))
        self._screen = look.screen
        if text.kind == "none" and await self._is_over():
            raise self._closed()
        return text

    async def capture_pane(self, *, entire: bool = False) -> str:
        """See :class:`terminus_core.Session`. Once tmux itself is gone: the screen at the last look."""
        if self._channel.ended and self._screen:
            return "\n".join(self._screen).rstrip("\n")
        start = " -S -" if entire else ""
        lines = (await self._ask(f"capture-pane -p -t {self._pane}{start}"))[0].lines
        return (await _decode(b"\n".join(lines))).rstrip("\n")

    async def is_session_alive(self) -> bool:
        """See :class:`terminus_core.Session`."""
        for _ in range(2):
            if self._dead or self._channel.ended == "exit":
                return False
            try:
                await self._channel.ask(f"has-session -t ={self.place.name}")
            except TimeoutError:
                continue
            except (TmuxRefusedError, SessionClosedError):
                return False
            return not await self._is_over()
        limit = self._channel.answer_timeout
        raise EnvironmentFailedError(f"tmux does not answer: asked twice, {limit:g} seconds each")

    def listen(self, listener: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """See :class:`terminus_core.Session`. Size and screen come with tmux's answer, before any later output."""
        key = object()
        stopped = False

        def begin(replies: Sequence[Reply]) -> None:
            if stopped:
                return
            size, screen = draw(replies[0].lines[0], replies[1].lines)
            first = Listeners()
            first.add(key, listener)
            first.tell("resize", size)
            first.tell("screen", screen)
            if first:
                self._listeners.add(key, listener)

        def stop() -> None:
            nonlocal stopped
            stopped = True
            self._listeners.remove(key)

        self._channel.post(
            f"display-message -p -t {self._pane} {quote(SCREEN_STATE)}",
            f"capture-pane -p -e -t {self._pane}",
            then=begin,
        )
        return stop

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, in columns and rows.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as for :meth:`send_keys`.
        """
        await self._ask(f"resize-window -t ={self.place.name}: -x {width} -y {height}")
        self._scroll.width = width
        self._listeners.tell("resize", (width, height))

    async def restart(self) -> None:
        """A fresh shell in place of the one that runs or has ended.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as for :meth:`send_keys`.
        """
        token = secrets.token_hex(8)
        argv = pane_argv(self.place, self._config.shell, token)
        request = self._channel.post(
            f"set-option -p -u -t {self._pane} @ended", respawn(self._pane, argv), then=lambda _: self._restarted(token)
        )
        with self._speaking():
            await request.wait(self._channel.answer_timeout)
        await self._wait_until_ready()

    # -- typing and waiting --------------------------------------------------------------------------------------------

    def _type(self, keys: Keys) -> None:
        """Send keys without waiting for the answer: the next one proves that they have been taken."""
        self._prompt.sent()
        leave_mode = f"copy-mode -q -t {self._pane}"
        first, *rest = keys.lists
        self._posted = self._channel.post(leave_mode, *first, then=lambda _: self._listeners.tell("input", keys.data))
        for commands in rest:
            self._posted = self._channel.post(*commands)

    async def _settle_posted(self) -> None:
        """Wait until earlier keys have been taken."""
        if self._posted is None:
            return
        posted, self._posted = self._posted, None
        with self._speaking():
            try:
                await posted.wait(self._channel.answer_timeout)
            except TimeoutError:
                self._posted = posted
                raise

    def _end_of(self, keys: Keys, *, was_idle: bool, jobs: bool) -> Callable[[], float]:
        """A function that says how long to wait until the end of what was typed may be sure: 0, it has ended."""

        def pause() -> float:
            prompt = self._prompt
            if not prompt.idle or (jobs and prompt.jobs):
                return math.inf
            if was_idle and keys.plain and 0 < keys.enters <= prompt.prompts:
                return 0.0
            return self._last_output + SETTLE_SEC - time.monotonic()

        return pause

    async def _wait(self, seconds: float, early: Callable[[], float] | None) -> bool:
        """Wait at most ``seconds``; ``True`` if ``early`` or the end of the session ended it before."""
        deadline = time.monotonic() + seconds
        while not await self._is_over():
            pause = early() if early else math.inf
            if pause <= 0:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            changed = self._changed
            with anyio.move_on_after(min(left, pause)):
                await changed.wait()
        return True

    async def _wait_unmarked(self, seconds: float) -> bool:
        """Wait until a shell that does not tell is in the foreground again, and quiet."""
        started = time.monotonic()
        while (now := time.monotonic()) - started < seconds and not await self._is_over():
            if now - max(started, self._last_output) >= 2 * SETTLE_SEC and await self._program() == self._home:
                return True
            await anyio.sleep(POLL_SEC)
        return await self._is_over()

    async def _wait_until_ready(self) -> None:
        """Wait until the shell reads, and note in tmux what another process needs to know about it."""
        started = time.monotonic()
        limit = self._config.start_timeout_sec
        while (left := started + limit - time.monotonic()) > 0:
            if await self._is_over():
                raise SessionClosedError(f"the shell ended with status {self._prompt.end_status} before it was ready")
            quiet = time.monotonic() - max(self._last_output, started)
            pause = await self._ready_in(quiet)
            if pause <= 0:
                break
            changed = self._changed
            with anyio.move_on_after(min(pause, left)):
                await changed.wait()
        else:
            raise EnvironmentFailedError(
                f"the shell showed no prompt within {limit:g} seconds: look at its start-up files, "
                "or raise start_timeout_sec in [session.tmux]"
            )
        self._home = await self._program()
        values = {"@token": self.token, "@shell": (self._prompt.shell or b"").decode(), "@home": self._home}
        self._channel.post(*(f"set-option -p -t {self._pane} {key} {quote(value)}" for key, value in values.items()))

    async def _ready_in(self, quiet: float) -> float:
        """How long to wait until the shell may have shown that it reads: 0, it has."""
        if self._prompt.idle:
            return 0.0
        if self._prompt.reading:  # a line editor, whose prompt follows at once
            return SETTLE_SEC - quiet
        if self._config.expects_marks:
            enough = SILENT_BASH_SEC
        else:
            enough = PROMPT_QUIET_SEC if self._spoke else QUIET_SEC
        if quiet < enough or (quiet >= QUIET_SEC and not self._config.expects_marks):
            return enough - quiet
        reply = (await self._ask(f"display-message -p -t {self._pane} '#{{cursor_x}}'"))[0]
        return POLL_SEC if reply.lines == [b"0"] else 0.0

    # -- the end -------------------------------------------------------------------------------------------------------

    async def _is_over(self) -> bool:
        """Whether the shell or tmux is gone, as far as has been told.

        An end mark counts when tmux confirms it: only the keeper runs in the pane. It starts right after the mark.
        """
        if self._dead or self._channel.ended:
            return True
        if self._prompt.end_status is None:
            return False
        for attempt in range(6):
            if await self._program() in KEEPERS:
                self._dead = True
                return True
            await anyio.sleep(0.01 * 2**attempt)
        self._prompt.end_status = None
        return False

    def _closed(self) -> Exception:
        """Why nothing can be done any more."""
        if self._channel.ended == "lost":
            return EnvironmentFailedError("the connection to tmux is lost")
        status = self._prompt.end_status
        return SessionClosedError(
            "the terminal session has ended" if status is None else f"the shell has ended with status {status}"
        )

    def _restarted(self, token: str) -> None:
        self.token = token
        self._prompt.restart(token)
        self._rows.forget()
        self._dead = False
        self._spoke = False
        self._last_output = time.monotonic()

    # -- speaking with tmux --------------------------------------------------------------------------------------------

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """A refusal about our own pane means that it is gone."""
        try:
            yield
        except TmuxRefusedError as error:
            raise SessionClosedError(f"the terminal session has ended ({error})") from error

    async def _ask(self, *commands: str) -> list[Reply]:
        with self._speaking():
            return await self._channel.ask(*commands)

    async def _program(self) -> str:
        """What runs in the foreground, as tmux tells it."""
        replies = await self._ask(f"display-message -p -t {self._pane} '#{{pane_current_command}}'")
        return replies[0].lines[0].decode(errors="replace")

    async def _look(self) -> Look:
        """One atomic look that reaches far enough up, or as far as ``max_rows`` allows."""
        wanted = self._rows.wanted
        look = await self._look_from(back=self._config.pane_height * 2)
        height = look.state.height
        growth = height
        while wanted is not None and look.first > max(wanted, look.trimmed) and not look.state.alternate:
            back = look.top - wanted + growth
            previous = look.top
            if back <= self._config.max_rows:
                look = await self._look_from(back=back)
            else:
                look = await self._look_from(back=self._config.max_rows, check=(back, look.top - self._rows.last))
                if look.check_first <= max(wanted, look.trimmed):
                    break
            growth = 2 * (look.top - previous) + height
        return look

    async def _look_from(self, *, back: int, check: tuple[int, int] | None = None) -> Look:
        """Take the screen and ``back`` rows above it; ``check``: two more bounds, in rows above the screen."""
        told: list[Any] = []

        def note(replies: Sequence[Reply]) -> None:  # in the order of the stream: the counter must not run ahead
            state = State.parse(replies[0].lines[0])
            self._scroll.observe(state.history)
            told.extend((state, self._scroll.trimmed))

        commands = [
            f"display-message -p -t {self._pane} {quote(STATE)}",
            f"capture-pane -p -t {self._pane} -S -{back}",
        ]
        if check is not None:
            commands.append(f"capture-pane -p -t {self._pane} -S -{check[0]} -E -{check[1]}")
        with self._speaking():
            request = self._channel.post(*commands, then=note)
            replies = await request.wait(self._channel.answer_timeout)
        state, trimmed = told
        top = trimmed + state.history
        rows = await _decode_rows(replies[1].lines)
        look = Look(state, trimmed, max(trimmed, top - back), rows)
        if check is not None:
            look.check_first = max(trimmed, top - check[0])
            look.check = await _decode_rows(replies[2].lines)
        return look


async def _decode(data: bytes) -> str:
    if len(data) < BIG_CAPTURE_BYTES:
        return data.decode(errors="replace")
    return await to_thread.run_sync(partial(data.decode, errors="replace"))


async def _decode_rows(lines: list[bytes]) -> list[str]:
    return (await _decode(b"\n".join(lines))).split("\n")
