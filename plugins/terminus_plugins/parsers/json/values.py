"""The pieces of a JSON object turned into values, as JSON or, where it is written so, as a Python literal."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from typing import Any

from terminus_plugins.parsers.common.answer import MAX_DIGITS, shown

JSON_WORDS = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
}
PYTHON_WORDS = {"True": True, "False": False, "None": None}

_RAW_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_STRINGS = json.JSONDecoder(strict=False)
_JSON_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4})|.)', re.DOTALL)
_PYTHON_ESCAPE = re.compile(
    r"""\\(?:(['"\\abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"""
    r"""|N\{([^{}]*)\}|([^\n]))"""
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "a": "\a", "v": "\v"}
_SAME_IN_BOTH = re.compile(r'\\(?:["\\bfnrt]|u[0-9a-fA-F]{4})')

_PYTHON = "The object is a Python literal, not JSON; it was read as Python reads it."
_LINE_BREAK = "Line breaks and tabs inside strings should be written \\n and \\t; they were kept."
_ILLEGAL_ESCAPE = "Backslashes that begin no escape should be doubled; they were kept as they stand."


class Pairs(list[Any]):
    """An object's raw keys and values as they come, a key twice if it comes twice."""


class Values:
    """Reads raw pieces, in one of two dialects.

    Args:
        is_python: read strings as Python does.
        has_single_quotes: it is Python beyond doubt, so that double-quoted strings are Python's too.

    Attributes:
        problems: why the values cannot be trusted.
        repairs: what had to be overlooked.
    """

    def __init__(self, *, is_python: bool, has_single_quotes: bool) -> None:
        self.problems: set[str] = set()
        self.repairs: set[str] = {_PYTHON} if is_python else set()
        self._text = self._python_text if is_python else self._json_text
        self._has_single_quotes = has_single_quotes

    def read(self, node: Any) -> Any:
        """The value of :class:`Pairs`, a list, or a raw string, number or word."""
        if isinstance(node, Pairs):
            result = {}
            for raw, value in node:
                key = self._text(raw)
                if key in result:
                    self.problems.add(f'The key "{shown(key)}" stands twice in one object.')
                result[key] = self.read(value)
            return result
        if isinstance(node, list):
            return [self.read(each) for each in node]
        if node[0] in "\"'":
            return self._text(node)
        if node in JSON_WORDS:
            return JSON_WORDS[node]
        return PYTHON_WORDS[node] if node in PYTHON_WORDS else self._number(node)

    def _number(self, piece: str) -> float:
        if len(piece) > MAX_DIGITS and sum(map(str.isdigit, piece)) > MAX_DIGITS:
            self.problems.add(f"A number has more than {MAX_DIGITS} digits.")
        return float(piece)

    def _json_text(self, piece: str) -> str:
        inner = piece[1:-1]
        self._check_controls(inner)
        if any(each in inner for each in "\n\r\t"):
            self.repairs.add(_LINE_BREAK)
        try:
            return str(_STRINGS.decode(piece))
        except json.JSONDecodeError:
            return _JSON_ESCAPE.sub(self._json_escape, inner)

    def _json_escape(self, found: re.Match[str]) -> str:
        if short := found[1]:
            return _SHORT.get(short, short)
        if found[2]:
            return chr(int(found[2], 16))
        self.repairs.add(_ILLEGAL_ESCAPE)
        return found[0]

    def _python_text(self, piece: str) -> str:
        inner = piece[1:-1]
        self._check_controls(inner)
        if "\n" in inner or "\r" in inner:
            self.problems.add("A Python string holds a line break; write \\n.")
        if not self._has_single_quotes and "\\" in _SAME_IN_BOTH.sub("", inner):
            self.problems.add("It mixes JSON with Python, so that its escapes have two meanings; send plain JSON.")
        return _PYTHON_ESCAPE.sub(self._python_escape, inner) if "\\" in inner else inner

    def _python_escape(self, found: re.Match[str]) -> str:
        short, octal, x, u, long, name, other = found.groups()
        if short:
            return _SHORT.get(short, short)
        if other and other not in "xuUN":
            self.repairs.add(_ILLEGAL_ESCAPE)
            return found[0]
        try:
            return unicodedata.lookup(name) if name else chr(int(octal or x or u or long or "", 8 if octal else 16))
        except (ValueError, KeyError, OverflowError):
            self.problems.add(f"The escape {shown(found[0])} is not valid in Python.")
            return found[0]

    def _check_controls(self, inner: str) -> None:
        if control := _RAW_CONTROL.search(inner):
            self.problems.add(f"A string holds the control character U+{ord(control[0]):04X} as it is; escape it.")
