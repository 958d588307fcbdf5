"""What of the terminal's output can be told now: a secret may come in pieces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from terminus_plugins.observers.redact.stream import Piece, Stream

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_WORD = 4096
"""Characters for which output waits, at most."""

_LAST_WORD = re.compile(r"[^\s\x00-\x1f\x7f]+\Z")


class OutputRedactor:
    """Redacts the output of one terminal.

    Output waits until the word that it ends with is whole, and while it ends with the beginning of a secret that has
    blanks in it.

    Args:
        redact: what texts go through; it may know :class:`Piece`.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._stream = Stream()
        self._waiting = ""

    def output(self, text: str, *, final: bool) -> str:
        """What can be told when ``text`` has come; ``final``: nothing follows that belongs to it."""
        text = self._waiting + text
        found = _LAST_WORD.search(text)
        word = found[0] if found and len(found[0]) <= LONGEST_WORD and not final else ""
        told = self._pass(text.removesuffix(word), is_last=final)
        self._waiting = self._stream.waiting + word
        return told

    def screen(self, text: str, width: int) -> str:
        """A drawn screen of ``width`` columns, whole in itself."""
        return self._pass(text, is_last=True, width=width)

    def _pass(self, text: str, *, is_last: bool, width: int | None = None) -> str:
        stream = self._stream
        stream.waiting, stream.is_last, stream.width = "", is_last, width
        return self._redact(Piece(text, stream))
