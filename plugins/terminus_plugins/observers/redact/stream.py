"""A terminal's output in pieces: what redaction knows of what came before, and says of what has to wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(slots=True)
class Stream:
    """One output that is redacted piece by piece.

    Attributes:
        width: columns, if the piece is a drawn screen: a row of that width goes on in the next one, and rows keep
            their places.
        is_last: nothing follows that belongs to this piece.
        key: characters of a private key that the pieces so far end with.
        waiting: the end of the piece that is not in its redacted text, as it may be the beginning of a secret.
    """

    width: int | None = None
    is_last: bool = False
    key: int = 0
    waiting: str = ""


class Piece(str):
    """A text that goes through ``run.redact`` as a piece of a stream.

    Args:
        text: the piece, with what was waiting before it.
        stream: where it belongs; redaction keeps it up to date.
    """

    __slots__ = ("stream",)
    stream: Stream

    def __new__(cls, text: str, stream: Stream) -> Self:
        """Make a piece; see the class."""
        self = super().__new__(cls, text)
        self.stream = stream
        return self
