"""The screen: pyte's, with what a session needs beside it: history, an alternate screen, rows by number.

A row's number counts from the first row that the terminal ever showed; it never changes.
"""

from __future__ import annotations

import copy
import unicodedata
from collections import deque
from typing import Any

import pyte

ALTERNATE = {47, 1047, 1049}
APPLICATION_KEYS = 1 << 5
"""pyte keeps private modes shifted by five bits."""
BRACKETED_PASTE = 2004 << 5


class GhostScreen(pyte.Screen):
    """A screen that knows which rows have been given to the model.

    Attributes:
        base: number of the row at the top of the screen.
        given: number of the last row that was given; ``-1`` before.
        redrawn: rows that had been given have been drawn over, or wiped.
        alternate: a full-screen program has the screen.
    """

    def __init__(self, columns: int, lines: int, history_rows: int) -> None:
        self.history: deque[str] = deque(maxlen=history_rows)
        self.base = 0
        self.given = -1
        self.redrawn = True
        self.alternate = False
        self._kept: tuple[Any, Any] | None = None
        super().__init__(columns, lines)

    # -- what is seen --------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[str]:
        """The rows on the screen, without trailing blanks."""
        return [self._text(y) for y in range(self.lines)]

    @property
    def row(self) -> int:
        """Number of the row with the cursor."""
        return self.base + self.cursor.y

    @property
    def end(self) -> int:
        """Number after the last row with text, or that of the cursor's row where that is blank."""
        rows = self.rows
        while len(rows) > self.cursor.y and not rows[-1]:
            rows.pop()
        return self.base + len(rows)

    @property
    def oldest(self) -> int:
        """Number of the oldest row that is still known."""
        return self.base - len(self.history)

    def between(self, first: int, end: int) -> list[str]:
        """The rows from number ``first`` to before ``end``."""
        known = [*self.history, *self.rows]
        return known[max(0, first - self.oldest) : end - self.oldest]

    def drawing(self) -> bytes:
        """What draws the screen as it is now."""
        rows = "\r\n".join(self.between(self.base, self.end))
        return f"\x1b[0m\x1b[H\x1b[2J{rows}\x1b[{self.cursor.y + 1};{self.cursor.x + 1}H".encode()

    # -- what the emulator calls ---------------------------------------------------------------------------------------

    def index(self) -> None:
        """A line feed: at the bottom the top row goes to the history."""
        if not self.alternate and self.margins is None and self.cursor.y == self.lines - 1:
            self.history.append(self._text(0))
            self.base += 1
        super().index()

    def draw(self, data: str) -> None:
        """Text at the cursor. pyte drops what follows a character without width that is no accent: leave those out."""
        self._touch()
        super().draw(data if data.isascii() else "".join(filter(_has_place, data)))

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        """Wipe a part of the screen, or the history (3)."""
        if how == 3 and not self.alternate:  # noqa: PLR2004 - the sequence's own number
            self.history.clear()
            self.redrawn = True
        elif how in (1, 2) or (self.row == self.given and not self.cursor.x):
            self.redrawn = True
        self._touch()
        super().erase_in_display(how, *args, **kwargs)

    def reset(self) -> None:
        """Begin anew."""
        self.history.clear()
        self.redrawn = True
        self.alternate = False
        super().reset()

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        """The alternate screen is pyte's to be: keep the other one."""
        if kwargs.get("private") and ALTERNATE & set(modes) and not self.alternate:
            redrawn = self.redrawn
            self._kept = copy.deepcopy((self.buffer, self.cursor))
            self.alternate = True
            self.erase_in_display(2)
            self.redrawn = redrawn
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        """Back to the screen that was kept."""
        if kwargs.get("private") and ALTERNATE & set(modes) and self.alternate and self._kept:
            self.buffer, self.cursor = self._kept
            self.alternate = False
            self.dirty.update(range(self.lines))
        super().reset_mode(*modes, **kwargs)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Another size; what no longer fits above the cursor goes to the history. Colours are lost."""
        rows = self.between(self.base, self.row + 1)
        history = self.history.copy()
        lines, columns = lines or self.lines, columns or self.columns
        super().resize(lines, columns)
        gone = max(0, len(rows) - lines)
        column = self.cursor.x
        self.reset()
        self.history.extend([*history, *rows[:gone]])
        self.base += gone
        for number, text in enumerate(rows[gone:]):
            self.cursor_position(number + 1, 1)
            super().draw(text[:columns])
        self.cursor.x = min(column, columns - 1)

    def _text(self, y: int) -> str:
        """A row of the screen; pyte's own way to get it is ten times slower."""
        cells = self.buffer[y]
        return "".join(cells[x].data for x in range(max(cells, default=-1) + 1)).rstrip()

    def _touch(self) -> None:
        """Something changes at the cursor."""
        if self.row < self.given and not self.alternate:
            self.redrawn = True


def _has_place(char: str) -> bool:
    return bool(unicodedata.combining(char)) or unicodedata.category(char) not in {"Cf", "Me", "Mn"}
