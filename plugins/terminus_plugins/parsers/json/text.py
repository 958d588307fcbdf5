"""A JSON object inside other text, read with the few repairs that cannot touch what a string says.

Strict JSON reads as any JSON library reads it. Beyond that: trailing commas, real line breaks and tabs inside strings,
illegal escapes (kept as they stand), NaN and infinities, and objects that are written as a Python literal. Nothing is
ever closed, quoted or joined by guess.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from terminus_plugins.parsers.common.answer import BLANKS, MAX_DIGITS, place, shown
from terminus_plugins.parsers.common.reply import REASONING, TORN_OBJECT, begins_line
from terminus_plugins.parsers.json.values import JSON_WORDS, PYTHON_WORDS, Pairs, Values

MAX_DEPTH = 100

OBJECT_START = rf"(?P<object>\{{(?=[{BLANKS}]*(?:[\"'}}]|\Z)))"
"""A brace that begins an object, not one of prose or of a shell's, for a pattern."""

_TOKEN = re.compile(
    rf"""
    (?P<blank>[{re.escape(BLANKS)}]+)
    | (?P<string> "(?:[^"\\]++|\\.)*+" | '(?:[^'\\\r\n]++|\\[^\r\n])*+' )
    | (?P<torn> "(?:[^"\\]++|\\.)*+\\?\Z | '(?:[^'\\\r\n]++|\\[^\r\n])*+\\?\Z )
    | (?P<mark>[{{}}\[\],:])
    | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)
    | (?P<word>-?[a-z_]+)
    | {REASONING}
    | (?P<junk>.)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_MORE = re.compile("[{<]")
_ANSWER_KEY = re.compile(r"""["'](?:analysis|plan|commands|keystrokes|task_complete)["']""")


@dataclass(slots=True)
class ObjectText:
    """What stands at an opening brace.

    Attributes:
        end: where to go on.
        value: the object; ``None`` if it is not whole.
        error: why an object that looks like an answer is not whole.
        problems: why the object, though whole, cannot be trusted.
        repairs: what had to be overlooked, in a fixed order.
    """

    end: int
    value: dict[str, Any] | None = None
    error: str = ""
    problems: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)


def read_object(text: str, start: int) -> ObjectText:
    """Read the object that starts at ``text[start]``, in time linear in its length. Never raises."""
    return _strictly(text, start) or _tolerantly(text, start)


def _strictly(text: str, start: int) -> ObjectText | None:
    """An object that is JSON to the letter, as nearly all are, in a fraction of the time."""
    if text.count("{", start) + text.count("[", start) > MAX_DEPTH:
        return None  # it may be too deep: that is for the other reading to tell
    try:
        value, end = _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return ObjectText(end, value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice")
    return value


def _number(text: str) -> float:
    if len(text) > MAX_DIGITS:
        raise ValueError("a number that runs away")
    return float(text)


_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_number, parse_float=_number)


def _tolerantly(text: str, start: int) -> ObjectText:
    grammar = _Grammar()
    doubtful = 0  # where the first string begins that may hold more than a string
    for token in _TOKEN.finditer(text, start):
        kind = token.lastgroup
        if kind == "blank":
            continue
        if kind == "torn" and grammar.want in ("key", "item", "value"):
            break
        if reason := grammar.take(kind, token[0]):
            return _broken(text, start, token, reason, doubtful)
        if not doubtful and kind == "string" and _MORE.search(token[0]):
            doubtful = token.start()
        if grammar.want == "end":
            return grammar.finish(token.end())
    if TORN_OBJECT.match(text, start) and not begins_line(text, start):
        return ObjectText(start + 1)  # the last words are prose
    return ObjectText(len(text), error=f"The JSON object that starts at {place(text, start)} is never closed.")


def _broken(text: str, start: int, token: re.Match[str], reason: str, doubtful: int) -> ObjectText:
    if not _ANSWER_KEY.search(text, start, token.end()):
        # Prose with a brace in it: its quotes make no strings, and an answer may begin between two of them.
        return ObjectText(doubtful + 1 if doubtful else token.start())
    error = f"The JSON is not valid at {place(text, token.start())}: {reason}."
    # The rest belongs to the broken object, unless it was all reasoning that ends somewhere outside its strings.
    for later in _TOKEN.finditer(text, token.start()):
        if later.lastgroup == "unthink":
            return ObjectText(later.start(), error=error)
    return ObjectText(len(text), error=error)


class _Grammar:
    """Takes the tokens of one object; strings stay raw until the end shows which dialect they are in."""

    def __init__(self) -> None:
        self.want = "value"
        """What may come: ``value``, ``item`` (or a closing bracket), ``key`` (or a closing brace), ``colon``, ``next``
        (a comma or the end of a container), ``end`` (nothing: the object is whole)."""
        self._open: list[list[Any]] = []
        self._top: list[Any] = []
        self._previous = ""
        self._trailing_comma = False
        self._words: set[str] = set()  # the words and the kinds of quotes that occur

    def take(self, kind: str | None, piece: str) -> str:
        """Take a token; return why it cannot stand here, or ``""``."""
        before, self._previous = self._previous, piece
        if kind == "mark" and piece in "{[":
            return self._start(piece)
        if kind == "mark" and piece in "}]":
            return self._stop(piece, trailing_comma=before == ",")
        if piece == "," and self.want == "next":
            self.want = "key" if isinstance(self._open[-1], Pairs) else "item"
        elif piece == ":" and self.want == "colon":
            self.want = "value"
        elif kind == "string" and self.want == "key":
            self._words.add(piece[0])
            self._open[-1].append(piece)
            self.want = "colon"
        elif self.want in ("value", "item") and (
            kind in ("string", "number") or piece in JSON_WORDS or piece in PYTHON_WORDS
        ):
            self._words.add(piece if kind == "word" else piece[0])
            self._attach(piece)
            self.want = "next"
        else:
            return f"unexpected {shown(piece)}"
        return ""

    def _start(self, piece: str) -> str:
        if self.want not in ("value", "item"):
            return f"unexpected {piece}"
        if len(self._open) == MAX_DEPTH:
            return f"nested more than {MAX_DEPTH} deep"
        node: list[Any] = Pairs() if piece == "{" else []
        self._attach(node)
        self._open.append(node)
        self.want = "key" if piece == "{" else "item"
        return ""

    def _stop(self, piece: str, *, trailing_comma: bool) -> str:
        is_object = isinstance(self._open[-1], Pairs)
        if is_object is not (piece == "}") or self.want not in ("next", "key" if is_object else "item"):
            return f"unexpected {piece}"
        self._trailing_comma |= trailing_comma
        self._top = self._open.pop()
        self.want = "next" if self._open else "end"
        return ""

    def _attach(self, value: Any) -> None:
        if self._open and isinstance(self._open[-1], Pairs):
            self._open[-1][-1] = (self._open[-1][-1], value)
        elif self._open:
            self._open[-1].append(value)

    def finish(self, end: int) -> ObjectText:
        """The whole object, which ends at ``end``."""
        is_python = bool(self._words & {"'", *PYTHON_WORDS})
        values = Values(is_python=is_python, has_single_quotes="'" in self._words)
        value = values.read(self._top)
        if is_python and self._words & {*JSON_WORDS}:
            values.problems.add("It mixes JSON with Python: use double quotes, true, false and null only.")
        if self._trailing_comma and not is_python:
            values.repairs.add("Trailing commas are not JSON; they were dropped.")
        return ObjectText(end, value, problems=sorted(values.problems), repairs=sorted(values.repairs))
