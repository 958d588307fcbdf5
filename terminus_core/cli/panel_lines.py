"""A terminal with lines that stay and, below them, a panel that is drawn again and again."""

from __future__ import annotations

import io
import os
import re
import select
import textwrap
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO, cast

import click

from terminus_core.cli.printing import literal
from terminus_core.cli.queued_lines import QueuedLines

_ERASE = "\r\x1b[K\n\x1b[J\x1b[A"
"""This row, and all below it: tmux keeps what is erased from the very first cell on in its history."""
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class PanelLines(QueuedLines):
    """Lines above a panel.

    After each picture the cursor stands at the panel's first column. A terminal keeps it there when it is resized and
    wraps its rows anew, so erasing from the cursor on removes all of the panel, whatever its size was.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._panel: str | None = None
        self._lock = threading.RLock()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal now."""
        try:
            columns, rows = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            columns, rows = 0, 0
        return columns or 80, rows or 24

    def put(self, text: str) -> None:
        """Write lines above the panel."""
        with self._lock:
            super().put(text if self._panel is None else _ERASE + text + self._panel)

    def draw(self, rows: Sequence[str]) -> None:
        """Draw a panel in place of the one before; its rows are narrower than the terminal and fewer."""
        if self.is_behind:
            return  # a picture that nobody would see
        with self._lock:
            up = f"\x1b[{len(rows) - 1}A" if len(rows) > 1 else ""
            panel = "\n".join(rows) + "\r" + up
            start = _HIDE if self._panel is None else _ERASE
            self._panel = panel
            super().put(start + panel)

    def clear(self) -> None:
        """Take the panel away; the cursor is seen again."""
        with self._lock:
            if self._panel is not None:
                self._panel = None
                super().put(_ERASE + _SHOW)

    def leave(self) -> None:
        """As :meth:`clear`, past everything that waits, if the terminal takes it at once: the program ends."""
        if self._panel is None:
            return
        with suppress(OSError, ValueError):
            descriptor = self.stream.fileno()
            if select.select([], [descriptor], [], 0)[1]:
                os.write(descriptor, (_ERASE + _SHOW).encode())

    def as_stream(self) -> TextIO:
        """A text stream whose lines appear above the panel: for ``print`` in plugins."""
        return cast("TextIO", _LineStream(self))


class _LineStream(io.TextIOBase):
    """Passes whole lines on."""

    def __init__(self, lines: PanelLines) -> None:
        self._lines = lines
        self._rest = ""

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._lines.stream.fileno()

    def write(self, text: str) -> int:
        *whole, self._rest = (self._rest + text).split("\n")
        for line in whole:
            self._lines.write("".join(_pieces(line.rstrip("\r"))))
        return len(text)

    def close(self) -> None:
        if self._rest:
            self.write("\n")
        super().close()


def _pieces(line: str) -> list[str]:
    """A line with colours as they are and all else that a terminal would obey made visible."""
    pieces = [literal(each) for each in _STYLE.split(line)]
    styles: list[Any] = [*_STYLE.findall(line), ""]
    return [piece + style for piece, style in zip(pieces, styles, strict=True)]


def rows_of(text: str, width: int, most: int, **style: Any) -> list[str]:
    """``text``, literal, as at most so many rows of at most ``width`` cells; what does not fit ends in an ellipsis."""
    from rich.cells import cell_len, chop_cells, set_cell_size  # noqa: PLC0415 - only a terminal needs rich

    cells = cell_len(text)
    rows = [text] if cells <= width else textwrap.wrap(text, width) if cells == len(text) else chop_cells(text, width)
    if len(rows) > most:
        rows = [*rows[: most - 1], set_cell_size(rows[most - 1], width - 1).rstrip() + "\u2026"]
    return [click.style(row, **style) if style else row for row in rows]
