"""A terminal session in tmux: keys in, rows out, size, restart, end. What travels how is the channel's business."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from terminus_core import EnvironmentFailedError, Session, SessionClosedError, SessionEvent, TerminalText
from terminus_plugins.sessions.tmux.channel import Channel, Request, TmuxRefusedError
from terminus_plugins.sessions.tmux.disturbances import STATE as DISTURBED
from terminus_plugins.sessions.tmux.disturbances import Disturbances, is_ordinary
from terminus_plugins.sessions.tmux.events import Listeners, draw
from terminus_plugins.sessions.tmux.keys import Keys, compile_keys
from terminus_plugins.sessions.tmux.pane import Pane
from terminus_plugins.sessions.tmux.protocol import Reply, quote, unescape
from terminus_plugins.sessions.tmux.rows import RowReader
from terminus_plugins.sessions.tmux.shell import PANE, Place, pane_argv, respawn
from terminus_plugins.sessions.tmux.watch import ShellWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from terminus_plugins.sessions.tmux.config import TmuxConfig

KEPT = "#{pid} #{pane_pid} #{pane_width} #{history_size} #{@token}:#{@shell}:#{@home}:#{@ended}"
"""What is asked first; the options hold what a later process needs to know (:meth:`TmuxSession._keep`)."""

RESET = "[A program had left the terminal in another mode or character set. The terminal was reset.]"
REPAIRED = "[The connection to the terminal was lost for {:.1f} s. It works again, and every key has arrived once.]"


class TmuxSession(Session):
    """One pane of one tmux server. Made by the backend, usable between its :meth:`begin` and the end of its channel.

    Attributes:
        place: where the server is.
        server: the server's process id.
        sessions: ids of the sessions of processes that the pane has had: each program that tmux starts leads one.
        token: what the end mark of the shell carries.
    """

    capabilities = frozenset({"exit_status", "history", "prompt", "resize", "restart", "resume", "stream"})

    def __init__(self, place: Place, config: TmuxConfig) -> None:
        self.place = place
        self.server = ""
        self.sessions: set[str] = set()
        self.token = secrets.token_hex(8)
        self._config = config
        self._pane = Pane(config)
        self._watch = ShellWatch(self._pane, config, self.token)
        self._rows = RowReader()
        self._listeners = Listeners()
        self._posted: Request | None = None
        self._screen: Sequence[str] = ()
        self._held = 0  # more calls that belong together
        self._together = False  # the next keys go with the last ones
        self._told: list[str] = []  # what the next look says first
        self._disturbances = Disturbances()

    # -- what the backend calls ----------------------------------------------------------------------------------------

    async def begin(self, channel: Channel, *, resumed: bool = False) -> None:
        """Use ``channel``; wait until the shell reads, or, resumed, find out how things are."""
        self._pane.use(channel)
        if not channel.streams:
            self.capabilities = self.capabilities - {"stream"}
        try:
            reply = (await self._pane.ask(f"display-message -p -t {PANE} {quote(KEPT)}"))[0]
        except TimeoutError as error:
            raise EnvironmentFailedError(f"tmux does not start: {error}") from error
        self.server, pane, width, history, kept = reply.lines[0].decode().split(" ", 4)
        self.sessions.add(pane)
        self._pane.scroll.width = int(width)
        if not resumed:
            await self._watch.wait_until_ready()
            self._keep()
            return
        self._pane.scroll.observe(int(history))
        self.token, shell, self._watch.home, ended = kept.split(":")
        self._watch.prompt.resume(self.token, shell.encode() or None, int(ended) if ended else None)

    def on_output(self, pane: bytes, escaped: bytes) -> None:
        """Take what a program wrote; called by the channel, in order."""
        if pane != PANE.encode():
            return
        self._watch.wrote()
        self._pane.count(escaped)
        if self._listeners or b"\\0" in escaped or self._watch.prompt.wants:
            data = unescape(escaped)
            self._disturbances.feed(data)
            self._listeners.tell("output", data)
            if self._watch.prompt.feed(data):
                self._watch.told()

    def on_marks(self, marks: bytes, ended: str, ago: float) -> None:
        """Take what a channel without a stream has found: marks, an exit status, and how long ago anything changed."""
        self._watch.wrote(ago)
        if ended:
            marks += f"\x1b]133;X;{self.token};{ended}\a".encode()
        self._watch.prompt.feed(marks)
        self._watch.on_change()

    def on_gap(self) -> None:
        """The channel has lost its client."""
        self._listeners.gap("the connection to the terminal was lost")

    def on_repair(self, seconds: float) -> None:
        """The channel has another client after so many seconds; called before anything else is asked of it."""
        if seconds:
            self._told.append(REPAIRED.format(seconds))
        self._pane.gap()
        self._watch.gap()
        self._pane.channel.post(*self._pane.draw_list(), then=lambda replies: self._listeners.screen(*draw(replies)))

    def on_end(self) -> None:
        """The channel has ended."""
        self._watch.on_change()

    # -- the session ---------------------------------------------------------------------------------------------------

    @property
    def exit_status(self) -> int | None:  # type: ignore[override]  # read-only here
        """Exit status of the shell that has ended; ``None`` while it lives or if it is not known."""
        return self._watch.prompt.end_status if self._watch.dead else None

    @property
    def resume_token(self) -> str:  # type: ignore[override]  # read-only here
        """What another process attaches with, if this one is gone without closing the session."""
        return f"{self.place.folder} {self.place.name}"

    @property
    def attach_command(self) -> str:  # type: ignore[override]  # read-only here
        """What a person types to watch."""
        return self.place.attach_command

    def batch(self, count: int) -> None:
        """The next ``count`` calls of :meth:`send_keys` belong together: by exec they go with the last of them."""
        self._held = 0 if self._pane.channel.streams else count - 1

    async def send_keys(
        self,
        keystrokes: str,
        *,
        block: bool = False,
        min_timeout_sec: float = 0.0,
        max_timeout_sec: float = 180.0,
    ) -> None:
        """See :class:`terminus_core.Session`. A blocking wait needs keystrokes that end with Enter."""
        await self._refuse_if_over()
        is_held, self._held = self._held > 0, max(0, self._held - 1)
        if not self._together:
            await self._settle_posted()
        was_idle = self._watch.prompt.idle or self._together
        if was_idle and keystrokes:
            await self._tidy_up()
        started = time.monotonic()
        keys = compile_keys(keystrokes, PANE)
        if keystrokes:
            self._type(keys, soon=not block and min_timeout_sec <= 0)
            if self._pane.channel.streams and (block or min_timeout_sec > 0):
                await self._settle_posted()  # a prompt that is on its way was drawn before these keys
        self._together = is_held and not block
        if block and keys.runs:
            ended = await self._watch.wait_for_end(keys, max_timeout_sec, was_idle=was_idle)
            await self._settle_posted()
            if not ended:
                raise TimeoutError(f"the command has not ended within {max_timeout_sec:g} seconds")
        elif min_timeout_sec > 0:
            goal = None
            if keystrokes and self._config.wait == "prompt":
                goal = self._watch.end_of(keys, was_idle=was_idle, jobs=True)
            self._together = self._together and self._pane.channel.defer(min_timeout_sec, goal)
            if not self._together:
                await self._watch.wait(started + min_timeout_sec - time.monotonic(), goal)
                await self._settle_posted()

    async def get_incremental_output(self) -> TerminalText:
        """See :class:`terminus_core.Session`."""
        look = await self._pane.look(self._rows.wanted, self._rows.last)
        text = self._rows.read(look, (self._watch.prompt.cleared, self._pane.scroll.doubts))
        self._pane.is_blind = False
        self._pane.foresee(self._rows.wanted)
        self._screen = look.screen
        if text.kind == "none" and await self._watch.is_over():
            raise self._closed()
        if self._told:
            told = "\n".join(self._told)
            self._told = []
            text = TerminalText(f"{told}\n{text}", kind=text.kind, rows_left_out=text.rows_left_out)
        return text

    async def capture_pane(self, *, entire: bool = False) -> str:
        """See :class:`terminus_core.Session`. Once tmux itself is gone: the screen at the last look."""
        if self._pane.channel.ended and self._screen:
            return "\n".join(self._screen).rstrip("\n")
        return await self._pane.capture(entire=entire)

    async def is_session_alive(self) -> bool:
        """See :class:`terminus_core.Session`."""
        channel = self._pane.channel
        for _ in range(2):
            if self._watch.dead or channel.ended == "exit":
                return False
            try:
                await channel.ask(f"has-session -t {PANE}")
                return not await self._watch.is_over()
            except TimeoutError:
                continue
            except (TmuxRefusedError, SessionClosedError):
                return False
        raise EnvironmentFailedError(f"tmux does not answer: asked twice, {channel.answer_timeout:g} seconds each")

    def listen(self, listener: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """See :class:`terminus_core.Session`. Size and screen come with tmux's answer, before any later output.

        Without a stream, the screen at each look is all that is told of the output.
        """
        key = object()
        stopped = False

        def begin(replies: Sequence[Reply]) -> None:
            if not stopped:
                self._listeners.add(key, listener, *draw(replies))

        def stop() -> None:
            nonlocal stopped
            stopped = True
            self._listeners.remove(key)

        if not self._pane.channel.streams:
            self._pane.drawn = lambda replies: self._listeners.tell("screen", draw(replies)[1])
        self._pane.channel.post(*self._pane.draw_list(), then=begin)
        return stop

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, in columns and rows.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as for :meth:`send_keys`.
        """
        await self._pane.ask(f"resize-window -t {PANE} -x {width} -y {height}")
        self._pane.scroll.width, self._pane.scroll.height = width, height
        self._listeners.tell("resize", (width, height))

    async def restart(self) -> None:
        """A fresh shell in place of the one that runs or has ended.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as for :meth:`send_keys`.
        """
        token = secrets.token_hex(8)

        def restarted(_: Sequence[Reply]) -> None:  # in the order of the stream: what follows is the new shell's
            self.token = token
            self._watch.restart(token)
            self._rows.forget()

        request = self._pane.channel.post(
            f"set-option -p -u -t {PANE} @ended",
            respawn(PANE, pane_argv(self.place, self._config.shell, token)),
            then=restarted,
            once=True,
        )
        await self._pane.answers(request)
        self.sessions.add(await self._pane.tell("#{pane_pid}"))
        await self._watch.wait_until_ready()
        self._keep()

    # -- details -------------------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        """Note in tmux what another process needs to know about the shell."""
        shell = self._watch.prompt.shell or b""
        values = {"@token": self.token, "@shell": shell.decode(errors="replace"), "@home": self._watch.home}
        self._pane.channel.post(*(f"set-option -p -t {PANE} {key} {quote(text)}" for key, text in values.items()))

    async def _refuse_if_over(self) -> None:
        if await self._watch.is_over():
            raise self._closed()

    async def _tidy_up(self) -> None:
        """Before something is typed at a prompt: the line is empty, and the terminal as a shell expects it."""
        if not self._pane.channel.streams:  # nobody has seen whether the terminal was asked something
            self._pane.channel.post(f"send-keys -t {PANE} C-g C-u", soon=True)
            return
        if not (self._disturbances.asked or self._disturbances.is_suspect):
            return
        commands = [f"send-keys -t {PANE} C-g C-u"]
        if self._disturbances.is_garbled or not is_ordinary(await self._pane.tell(DISTURBED)):
            commands = [f"send-keys -R -t {PANE}", f"send-keys -t {PANE} C-g C-u C-l"]
            self._told = [*self._told, RESET]
        self._disturbances.cleared()
        await self._pane.ask(*commands)

    def _type(self, keys: Keys, *, soon: bool) -> None:
        """Send keys without waiting for the answer: the next one proves that they have been taken."""
        self._watch.prompt.sent()

        def typed(_: Sequence[Reply]) -> None:
            self._watch.prompt.sent()  # what has come before this answer was written before these keys
            self._listeners.tell("input", keys.data)

        post = self._pane.channel.post
        first, *rest = keys.lists
        self._posted = post(
            f"copy-mode -q -t {PANE}",
            *first,
            then=typed,
            once=True,
            soon=soon,
        )
        for commands in rest:
            self._posted = post(*commands, once=True, soon=soon)

    async def _settle_posted(self) -> None:
        """Wait until earlier keys have been taken."""
        if self._posted is None:
            return
        try:
            await self._pane.answers(self._posted)
        except SessionClosedError as error:
            raise self._closed() from error
        finally:
            if self._posted.finished:
                self._posted = None

    def _closed(self) -> Exception:
        """Why nothing can be done any more."""
        if self._pane.channel.ended == "lost":
            return EnvironmentFailedError("the connection to tmux is lost")
        status = self._watch.prompt.end_status
        return SessionClosedError(
            "the terminal session has ended" if status is None else f"the shell has ended with status {status}"
        )
