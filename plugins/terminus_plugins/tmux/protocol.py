"""Control mode as bytes: a reader of what tmux says, and the quoting of what it is told. No input or output here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(slots=True)
class Reply:
    """What tmux answered to one command of ours."""

    ok: bool
    lines: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class Output:
    """What a program wrote into a pane, still in tmux's escaped form (:func:`unescape`)."""

    pane: bytes
    escaped: bytes


@dataclass(slots=True)
class Exit:
    """tmux has let this client go; ``reason`` is mostly empty."""

    reason: str


Event: TypeAlias = Reply | Output | Exit


class ControlReader:
    """Turns tmux's bytes, cut anywhere, into events.

    A reply ends only with the very time and number that it began with: the text of a captured screen can look like
    an end line.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._block: list[bytes] | None = None
        self._stamp = b""

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes and return the events that they complete."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        events: list[Event] = []
        for line in lines:
            if self._block is not None:
                self._in_block(line, events)
            elif line.startswith(b"%output "):
                pane, _, text = line[8:].partition(b" ")
                events.append(Output(pane, text))
            elif line.startswith(b"%begin "):
                self._stamp = line[7:]
                self._block = []
            elif line == b"%exit" or line.startswith(b"%exit "):
                events.append(Exit(line[6:].decode(errors="replace").strip()))
        return events

    def _in_block(self, line: bytes, events: list[Event]) -> None:
        assert self._block is not None  # noqa: S101 - called inside a block only
        ok = line.startswith(b"%end ")
        if not (ok or line.startswith(b"%error ")) or line.partition(b" ")[2] != self._stamp:
            self._block.append(line)
            return
        # The flags field: 1 answers a command of this client, 0 is about something else.
        if self._stamp.endswith(b" 1"):
            events.append(Reply(ok, self._block))
        self._block = None


_ESCAPE = re.compile(rb"\\([0-7]{3})")
_BYTES = {b"%03o" % number: bytes((number,)) for number in range(256)}


def unescape(escaped: bytes) -> bytes:
    r"""The bytes that the program wrote. tmux writes bytes below 0x20 and the backslash as ``\ooo``."""
    if b"\\" not in escaped:
        return escaped
    text = escaped.replace(b"\\015\\012", b"\r\n")  # most of it, at the speed of C
    if b"\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _BYTES.get(match[1], match[0]), text)


_UNQUOTABLE = re.compile(r"[\x00-\x1f\x7f]+|'+")


def quote(text: str) -> str:
    """``text`` as one argument in tmux's command language, on one physical line.

    Single quotes keep everything as it is; control characters go in double quotes, as octal escapes.
    """

    def outside(match: re.Match[str]) -> str:
        run = match[0]
        inner = run if run[0] == "'" else "".join(f"\\{ord(char):03o}" for char in run)
        return f"'\"{inner}\"'"

    return "'" + _UNQUOTABLE.sub(outside, text) + "'"
