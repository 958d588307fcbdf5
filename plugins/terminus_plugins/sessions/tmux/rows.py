"""Which rows of the terminal are new. No input or output here.

Rows are numbered from the first that the terminal ever showed: rows trimmed from the history, rows in the history, rows
on the screen. What was given is remembered by number, with the text of the last screen as a check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from terminus_core import TerminalText

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELDS = ("history_size", "cursor_y", "alternate_on", "pane_width", "pane_height", "history_limit")
STATE = " ".join(f"#{{{field}}}" for field in FIELDS)
"""tmux format of :class:`State`."""


@dataclass(slots=True, frozen=True)
class State:
    """The pane at one instant, as tmux tells it."""

    history: int
    cursor: int
    alternate: bool
    width: int
    height: int
    limit: int

    @classmethod
    def parse(cls, line: bytes) -> State:
        """Read a line made with :data:`STATE`."""
        history, cursor, alternate, width, height, limit = map(int, line.split())
        return cls(history, cursor, bool(alternate), width, height, limit)


@dataclass(slots=True)
class Look:
    """One atomic look: the state and the rows from ``first`` (row number) to the bottom of the screen.

    ``trimmed`` rows have been dropped at the top of the history so far. ``check`` are the rows from the number in
    ``check_first`` on, taken apart where ``rows`` begin later. ``unseen``: nobody read the output, so the history may
    have been wiped; ``unsure``: ``trimmed`` may be too low.
    """

    state: State
    trimmed: int
    first: int
    rows: Sequence[str]
    check_first: int = 0
    check: Sequence[str] = ()
    unseen: bool = False
    unsure: bool = False

    @property
    def top(self) -> int:
        """Number of the first row on the screen."""
        return self.trimmed + self.state.history

    @property
    def screen(self) -> Sequence[str]:
        """The rows on the screen."""
        return self.rows[self.top - self.first :]

    def known(self, first: int, count: int) -> Sequence[str] | None:
        """``count`` rows from number ``first``, or ``None`` if they were not taken."""
        for start, rows in ((self.first, self.rows), (self.check_first, self.check)):
            if first >= start and first + count <= start + len(rows):
                return rows[first - start : first - start + count]
        return None


class RowReader:
    """Gives each row once.

    Attributes:
        wanted: number of the first row that the next look needs; ``None``: the screen is enough.
        last: number of the last row given or passed.
    """

    def __init__(self) -> None:
        self.wanted: int | None = None
        self.last = 0
        self._seen: list[str] = []  # the rows from ``wanted`` to ``last``, as they were
        self._last_given = False  # a blank row under the cursor is not given until the cursor has left it
        self._width = 0
        self._epoch: object = 0
        self._alternate: Sequence[str] | None = None

    def forget(self) -> None:
        """What was given no longer says where the next rows begin."""
        self.wanted = None

    def read(self, look: Look, epoch: object = 0) -> TerminalText:
        """The new rows of a look. ``epoch`` changes whenever the history was wiped."""
        lost = self.wanted is None or self._width != look.state.width or self._epoch != epoch
        if look.state.alternate:
            if lost:
                self._epoch = epoch  # the normal screen's rows are checked when it is back
            return self._full_screen(look)
        self._alternate = None
        found = None if lost else self._new_rows(look)
        if found is None:
            text = TerminalText("\n".join(_trim(look.screen, look.state.cursor)), kind="screen")
        elif not found[0] and not found[1]:
            text = TerminalText(look.screen[look.state.cursor], kind="none")
        else:
            text = TerminalText("\n".join(found[0]), rows_left_out=found[1])
        self._remember(look, epoch)
        return text

    def _full_screen(self, look: Look) -> TerminalText:
        """vim, less: the screen, if it has changed; the place in the normal screen's rows is kept."""
        screen = list(look.screen)
        if screen == self._alternate:
            return TerminalText(screen[look.state.cursor], kind="none")
        self._alternate = screen
        return TerminalText("\n".join(_trim(screen, look.state.cursor)), kind="screen")

    def _new_rows(self, look: Look) -> tuple[Sequence[str], int] | None:
        """The new rows and how many before them are out of reach, or ``None`` if that cannot be told."""
        assert self.wanted is not None  # noqa: S101 - asked only with a place to go on from
        above = len(self._seen) - 1
        known = look.known(self.wanted, above + 1)
        bottom = look.top + len(_trim(look.screen, look.state.cursor))
        first = self.last
        if known is None:
            if self.wanted >= look.trimmed:
                return None
            # Trimmed away since: nothing to check by, and the last row may have been written on.
        elif look.unsure and len(set(known[:above])) <= max(above // 2, 2):
            return None  # rows like these may stand anywhere
        elif list(known[:above]) != self._seen[:above]:
            first = self.wanted + next(i for i in range(above) if known[i] != self._seen[i])
            if first >= look.top or bottom <= self.last:
                return None  # redrawn, and all of it is on the screen
            if look.unsure or (look.unseen and first == self.wanted):
                return None  # other rows have come in their place
        elif self._last_given and known[above] == self._seen[above]:
            first += 1
        left_out = max(0, look.first - first)
        return look.rows[max(first, look.first) - look.first : max(bottom - look.first, 0)], left_out

    def _remember(self, look: Look, epoch: object) -> None:
        screen = _trim(look.screen, look.state.cursor)
        self._last_given = len(screen) > look.state.cursor
        self._seen = [*screen] if self._last_given else [*screen, ""]
        self.wanted = look.top
        self.last = look.top + len(self._seen) - 1
        self._width = look.state.width
        self._epoch = epoch


def _trim(screen: Sequence[str], cursor: int) -> Sequence[str]:
    """The screen without the blank rows at and below the cursor."""
    end = len(screen)
    while end > cursor and not screen[end - 1]:
        end -= 1
    return screen[:end]
