"""What people read: literal text, lines, tables. Text of a model or a terminal is never taken for markup."""

from __future__ import annotations

import json
import math
import os
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import click

from terminus_core.errors import TerminusError

_PICTURES = {chr(code): chr(0x2400 + code) for code in range(32)} | {"\x7f": "\u2421", "\n": "\u23ce"}


def literal(text: str) -> str:
    """``text`` on one line, with everything that a terminal would obey made visible."""
    return "".join(each if each.isprintable() else _visible(each) for each in text)


def _visible(char: str) -> str:
    if char in _PICTURES:
        return _PICTURES[char]
    if unicodedata.category(char) == "Zs":
        return " "
    return char.encode("unicode_escape").decode("ascii")


def shorten(text: str, length: int) -> str:
    """``text`` on one literal line of at most ``length`` characters."""
    line = literal(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "\u2026"


def forgiving(*streams: TextIO) -> None:
    """Let no character be one that the stream's encoding refuses."""
    for stream in streams:
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


class Lines:
    """Lines of text on a stream, with colour on a terminal. A reader that has gone is ignored."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.is_terminal = stream.isatty()
        self._color = self.is_terminal and not os.environ.get("NO_COLOR")

    def write(self, line: str, **style: Any) -> None:
        """Print a line that is literal already; ``style`` as for :func:`click.style`."""
        self.put((click.style(line, **style) if self._color and style else line) + "\n")

    def put(self, text: str) -> None:
        """Write ``text`` as it is.

        Raises:
            TerminusError: stdout cannot be written, such as on a full disk.
        """
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError as error:
            # What is still buffered would fail again when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())
            if self.stream is sys.stdout and not isinstance(error, BrokenPipeError):
                raise TerminusError(f"cannot write to stdout: {error.strerror or error}") from None

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns: wrapped to the width of a terminal, else one line for each row."""
        cells = [[literal(cell) for cell in row] for row in rows]
        if self.is_terminal:
            self._wrapped(headings, cells)
            return
        lines = [list(headings), *cells]
        widths = [min(40, max(len(line[column]) for line in lines)) for column in range(len(headings))]
        for line in lines:
            self.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())

    def _wrapped(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        from rich import box  # noqa: PLC0415 - only a table on a terminal needs rich
        from rich.console import Console  # noqa: PLC0415 - as above
        from rich.table import Table  # noqa: PLC0415 - as above
        from rich.text import Text  # noqa: PLC0415 - as above

        table = Table(*headings, box=box.SIMPLE_HEAD)
        for row in rows:
            table.add_row(*[Text(cell, overflow="fold") for cell in row])
        Console(file=self.stream).print(table)


def print_json(data: Any) -> None:
    """Print one line of JSON on stdout; what JSON cannot express becomes text."""
    try:
        line = json.dumps(data, default=str, allow_nan=False)
    except Exception:  # noqa: BLE001 - keys that are no texts, circles, NaN, an object that cannot be a text
        line = json.dumps(_sayable(data, ()))
    Lines(sys.stdout).write(line)


def _sayable(data: Any, around: tuple[int, ...]) -> Any:
    """``data`` as JSON can say it; ``around`` are the containers that it lies in."""
    if id(data) in around:
        return "(itself)"
    inside = (*around, id(data))
    if isinstance(data, Mapping):
        return {_text(key): _sayable(value, inside) for key, value in data.items()}
    if isinstance(data, list | tuple | set | frozenset):
        return [_sayable(value, inside) for value in data]
    is_said = data is None or isinstance(data, str | int) or (isinstance(data, float) and math.isfinite(data))
    return data if is_said else _text(data)


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a stranger's object
        return f"({type(value).__name__})"
