"""One pane: what is asked of tmux about it, over whatever channel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from terminus_core import SessionClosedError
from terminus_plugins.sessions.tmux.channel import Channel, Foresight, Request, TmuxRefusedError
from terminus_plugins.sessions.tmux.events import SCREEN_STATE
from terminus_plugins.sessions.tmux.protocol import Reply, quote
from terminus_plugins.sessions.tmux.rows import STATE, Look, State
from terminus_plugins.sessions.tmux.scroll import ScrollCounter, UnseenScroll
from terminus_plugins.sessions.tmux.shell import PANE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from terminus_plugins.sessions.tmux.config import TmuxConfig

BIG_CAPTURE_BYTES = 300_000
"""From here on decoding leaves the event loop's thread."""

_STATE, _SCREEN_STATE = quote(STATE), quote(SCREEN_STATE)


class Pane:
    """A pane of a tmux server.

    Attributes:
        channel: the way to the server.
        scroll: how many rows have left its history.
        is_blind: output may be missing since the last look.
        drawn: takes the answers to :meth:`draw_list`, of which each look then brings some along.
    """

    def __init__(self, config: TmuxConfig) -> None:
        self.channel: Channel
        self.scroll = ScrollCounter(config.history_limit, config.pane_width, config.pane_height)
        self._config = config
        self._usual = 8  # rows that a look takes above the screen
        self.is_blind = False
        self.drawn: Callable[[Sequence[Reply]], None] | None = None
        self._sizing: Request | None = None

    def use(self, channel: Channel) -> None:
        """Speak to tmux by ``channel``."""
        self.channel = channel
        if not channel.streams:
            config = self._config
            self.scroll = UnseenScroll(config.history_limit, config.pane_width, config.pane_height)

    async def answers(self, request: Request) -> list[Reply]:
        """Wait for the answers to a request about the pane: a refusal means that it is gone.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as for any call of the session.
        """
        try:
            return await request.wait()
        except TmuxRefusedError as error:
            raise SessionClosedError(f"the terminal session has ended ({error})") from error

    async def ask(self, *commands: str) -> list[Reply]:
        """Send a command list and wait for its answers.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as for any call of the session.
        """
        return await self.answers(self.channel.post(*commands))

    async def tell(self, format_: str) -> str:
        """What tmux says about the pane in one of its formats."""
        reply = (await self.ask(f"display-message -p -t {PANE} {quote(format_)}"))[0]
        return reply.lines[0].decode(errors="replace")

    async def capture(self, *, entire: bool) -> str:
        """The screen, or the whole history with it."""
        start = " -S -" if entire else ""
        lines = (await self.ask(f"capture-pane -p -t {PANE}{start}"))[0].lines
        return (await _decode(b"\n".join(lines))).rstrip("\n")

    def gap(self) -> None:
        """Output may be missing from here on."""
        self.is_blind = True
        self.scroll.gap()

    def count(self, escaped: bytes) -> None:
        """Count the rows of output, and ask for the size of the history before the count gets vague."""
        if self.scroll.output(escaped) and (self._sizing is None or self._sizing.finished):
            self._sizing = self.channel.post(
                f"display-message -p -t {PANE} '#{{history_size}}'",
                then=self._sized,
            )

    def _sized(self, replies: Sequence[Reply]) -> None:
        size = replies[0].lines[0]
        if size:  # tmux has nothing to say about a pane that is gone, and does not call that an error
            self.scroll.observe(int(size))

    async def look(self, wanted: int | None, last: int) -> Look:
        """One atomic look that reaches up to row ``wanted``, or as far as ``max_rows`` allows.

        What is further up than that is taken only from ``wanted`` to ``last``, to check by.
        """
        replies = self.channel.foreseen()
        if replies:
            note = _Note(self.scroll)
            note(replies)
            look = await self._made(note, replies)
        else:
            look = await self._look_from(self._usual)
        if wanted is None or look.state.alternate:
            return look
        height = growth = look.state.height
        self._usual = min(2 * max(look.top - wanted, 4), 2 * height)  # most episodes are like the one before
        while look.first > max(wanted, look.trimmed):
            previous, back = look.top, look.top - wanted + growth
            if back <= self._config.max_rows:
                look = await self._look_from(back)
            else:
                look = await self._look_from(self._config.max_rows, (back, look.top - last))
                if look.check_first <= max(wanted, look.trimmed):
                    break
            growth = 2 * (look.top - previous) + height  # it runs on while it is looked at
        return look

    def foresee(self, wanted: int | None) -> None:
        """Say which look will most likely be next, when everything up to row ``wanted`` has been given."""
        if isinstance(self.scroll, UnseenScroll) and self.scroll.is_long:
            self._clear_history(self.scroll)
        anchor = self.scroll.trimmed if wanted is None else wanted
        above = anchor - self.scroll.trimmed
        self.channel.foresee(Foresight(self._look_list, above, self._usual, self._config.max_rows))

    def _clear_history(self, scroll: UnseenScroll) -> None:
        """Clear the history, if nothing has been added to it by then."""
        size = scroll.history

        def cleared(replies: Sequence[Reply]) -> None:
            if replies[0].lines == [b"%d" % size]:
                scroll.cleared(size)

        self.channel.post(
            f"display-message -p -t {PANE} '#{{history_size}}'",
            f"if-shell -F -t {PANE} '#{{==:#{{history_size}},{size}}}' 'clear-history -t {PANE}'",
            then=cleared,
        )

    def _look_list(self, back: object) -> tuple[str, ...]:
        """The command list of a look; the capture comes first: it refuses if the pane is gone."""
        drawing = self.draw_list() if self.drawn else ()
        return (
            *drawing,
            f"capture-pane -p -t {PANE} -S -{back}",
            f"display-message -p -t {PANE} {_STATE}",
        )

    def draw_list(self) -> tuple[str, str]:
        """The command list of a screen with its colours and its cursor."""
        return (f"capture-pane -p -e -t {PANE}", f"display-message -p -t {PANE} {_SCREEN_STATE}")

    async def _look_from(self, back: int, check: tuple[int, int] | None = None) -> Look:
        """Take the screen and ``back`` rows above it; ``check``: bounds of more, in rows above the screen."""
        note = _Note(self.scroll)
        commands = self._look_list(back)
        if check is not None:
            commands = (f"capture-pane -p -t {PANE} -S -{check[0]} -E -{check[1]}", *commands)
        replies = await self.answers(self.channel.post(*commands, then=note))
        look = await self._made(note, replies)
        if check is not None:
            look.check_first = max(look.trimmed, look.top - check[0])
            look.check = await _decode_rows(replies[0].lines)
        return look

    async def _made(self, note: _Note, replies: Sequence[Reply]) -> Look:
        if self.drawn and len(replies) > len(("check", "capture", "state")):
            self.drawn(replies[-4:-2])
        rows = await _decode_rows(replies[-2].lines)
        top = note.trimmed + note.state.history
        look = Look(note.state, note.trimmed, top + note.state.height - len(rows), rows)
        look.unseen = self.is_blind
        if isinstance(self.scroll, UnseenScroll):
            look.unseen, look.unsure = True, self.scroll.is_unsure
        return look


class _Note:
    """Takes the state of a look, in the order of the stream: the count of rows must not run ahead."""

    def __init__(self, scroll: ScrollCounter) -> None:
        self._scroll = scroll
        self.state: State
        self.trimmed: int

    def __call__(self, replies: Sequence[Reply]) -> None:
        self.state = State.parse(replies[-1].lines[0])
        self._scroll.observe(self.state.history)
        self.trimmed = self._scroll.trimmed


async def _decode(data: bytes) -> str:
    if len(data) < BIG_CAPTURE_BYTES:
        return data.decode(errors="replace")
    return await to_thread.run_sync(partial(data.decode, errors="replace"))


async def _decode_rows(lines: list[bytes]) -> list[str]:
    return (await _decode(b"\n".join(lines))).split("\n")
