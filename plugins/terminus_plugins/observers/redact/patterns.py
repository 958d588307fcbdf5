"""What secrets look like, and how they are found in texts, also in rows of a terminal that were wrapped."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from terminus_core import SECRET_FORMS, secret_variables
from terminus_plugins.observers.redact.pem import key_spans
from terminus_plugins.observers.redact.rows import wraps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from terminus_plugins.observers.redact.stream import Piece, Stream

MASK = "***"
SHORTEST = 8
"""Characters; a shorter value would garble ordinary words."""

LONGEST_WAIT = 4096
"""Characters at the end of a piece that wait for the next one, at most."""

_BEGUN = re.compile(r"(?:-----(?:BEGIN|END) [A-Z -]*|(?:[Bb]earer|Basic) +)\Z")
_LONGEST_BEGUN = 80


class Masker:
    """Replaces secrets in texts.

    Args:
        values: known secrets; those that are too short are left out.
        patterns: regular expressions of further ones.
    """

    def __init__(self, values: Iterable[str], patterns: Iterable[str] = ()) -> None:
        known = {form for value in values for form in _forms(value) if len(form) >= SHORTEST}
        # A terminal does not keep a blank at the end of a row.
        self._forms = [
            (max(value.split(), key=len), re.compile(re.escape(value).replace(r"\ ", " ?"))) for value in known
        ]
        self._forms += [(hint, re.compile(pattern)) for hint, pattern in SECRET_FORMS.items()]
        self._forms += [("", re.compile(pattern)) for pattern in patterns]
        self._with_blanks = [value for value in known if " " in value and "\n" not in value]

    def mask(self, text: str, width: int | None = None, stream: Stream | None = None) -> str:
        """``text`` with every secret as ``***``.

        Args:
            text: any text.
            width: columns, if the text is rows of a terminal: a row of that width goes on in the next one.
            stream: what the text is a piece of.
        """
        breaks = [*wraps(text, width)] if width else []
        places, left_out = [], [0]  # of the breaks in the joined text, and characters of them so far
        for start, end in breaks:
            places.append(start - left_out[-1])
            left_out.append(left_out[-1] + end - start)
        joined = _without(text, breaks) if breaks else text
        is_drawn = stream is not None and stream.width is not None
        masked, done = [], 0
        for start, end in self._spans(joined, stream):
            begin = start + left_out[bisect_right(places, start)]
            stop = end + left_out[bisect_right(places, end - 1)]
            if begin >= done:
                masked += [text[done:begin], MASK]
            if is_drawn:
                masked.append("\r\n" * text.count("\n", max(begin, done), stop))
            done = max(done, stop)
        return "".join([*masked, text[done:]]) if masked else text

    def mask_piece(self, piece: Piece) -> str:
        """A piece with every secret as ``***``, without the end of it that has to wait: its stream says which."""
        stream = piece.stream
        cut = len(piece) - (0 if stream.is_last else self._begun(piece))
        if cut < len(piece):
            seen = key_spans(piece, stream.key)[0]
            for start, end in sorted([*seen, *self._found(piece)], reverse=True):
                if start < cut < end:
                    cut = start if len(piece) - start <= LONGEST_WAIT else end
        stream.waiting = piece[cut:]
        return self.mask(piece[:cut], stream.width, stream)

    def _spans(self, text: str, stream: Stream | None) -> list[tuple[int, int]]:
        keys, goes_on = key_spans(text, stream.key if stream else 0)
        if stream:
            stream.key = goes_on
        return sorted([*keys, *self._found(text)])

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        return (found.span() for hint, form in self._forms if hint in text for found in form.finditer(text))

    def _begun(self, text: str) -> int:
        """How many characters at the end may be the beginning of a secret that has blanks in it."""
        found = _BEGUN.search(text[-_LONGEST_BEGUN:])
        longest = len(found[0]) if found else 0
        tail = text[-LONGEST_WAIT:]
        for value in self._with_blanks:
            lengths = range(min(len(value) - 1, len(tail)), longest, -1)
            longest = next((length for length in lengths if tail.endswith(value[:length])), longest)
        return longest


def _without(text: str, breaks: list[tuple[int, int]]) -> str:
    starts, ends = [0, *(end for _, end in breaks)], [*(start for start, _ in breaks), len(text)]
    return "".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def secrets_in(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    """Values of variables that are named, or whose name looks like a secret's; a path is none."""
    yield from (environ[name] for name in names if name in environ)
    yield from secret_variables(environ)


def _forms(value: str) -> Iterator[str]:
    """A secret as it may stand somewhere: without the scheme of a header, inside JSON, and line by line."""
    bare = re.sub(r"^(?:bearer|basic)\s+", "", value.strip(), flags=re.IGNORECASE)
    yield bare
    yield json.dumps(bare)[1:-1]
    yield json.dumps(bare, ensure_ascii=False)[1:-1]
    if "\n" in bare:
        yield from (line.strip() for line in bare.splitlines())
