"""Rows of a terminal: which of them go on in the next one."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from terminus_plugins.observers.redact.pem import CONTROL

if TYPE_CHECKING:
    from collections.abc import Iterator

_BREAK = re.compile(rf"(?:{CONTROL})*\r?\n(?:{CONTROL})*")
_CONTROL = re.compile(CONTROL)


def wraps(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where a row is full and may go on: begin and end of the break, with colours around it.

    A row is full too if one column is left: a wide character had no room there, or a blank was trimmed away.
    """
    start = 0
    for found in _BREAK.finditer(text):
        if width - 1 <= columns(_CONTROL.sub("", text[start : found.start()])) <= width:
            yield found.span()
        start = found.end()


def columns(row: str) -> int:
    """How many columns a row without control characters takes."""
    if row.isascii():
        return len(row)
    return sum(map(_columns_of, row))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
