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


@dataclass(slots=True)
class Attached:
    """This client is attached to a session, or to another one than before; ``session``: its number, such as ``$0``."""

    session: bytes


Event: TypeAlias = Reply | Output | Exit | Attached


# What one pane writes comes in many short lines, in which a newline is escaped.
_OUTPUT = re.compile(rb"%output (%\d+) [^\n]*\n(?:%output \1 [^\n]*\n)*")


class ControlReader:
    """Turns tmux's bytes, cut anywhere, into events; outputs of one pane that come together are one.

    A reply ends only with the very time and number that it began with: the text of a captured screen can look like
    an end line.
    """

    def __init__(self) -> None:
        self._rest = b""  # of a line outside a reply, or the end of what a reply has so far, with the newline before
        self._body: list[bytes] = []  # what a reply has before that
        self._stamp: bytes | None = None  # of the reply that is being read

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes and return the events that they complete."""
        events: list[Event] = []
        data = self._rest + data
        start = 0
        while True:
            if self._stamp is not None:
                start = self._finish_reply(data, start, events)
                if start < 0:
                    return events
            if match := _OUTPUT.match(data, start):
                pane, start = match[1], match.end()
                head = b"%output " + pane + b" "
                events.append(Output(pane, match[0][len(head) : -1].replace(b"\n" + head, b"")))
                continue
            end = data.find(b"\n", start)
            if end < 0:
                self._rest = data[start:]
                return events
            self._take_line(data[start:end], events)
            start = end if self._stamp is not None else end + 1

    def _take_line(self, line: bytes, events: list[Event]) -> None:
        if line.startswith(b"%begin "):
            self._stamp = line[7:]
        elif line.startswith(b"%session-changed "):
            events.append(Attached(line.split(b" ")[1]))
        elif line == b"%exit" or line.startswith(b"%exit "):
            events.append(Exit(line[6:].decode(errors="replace").strip()))

    def _finish_reply(self, data: bytes, start: int, events: list[Event]) -> int:
        """Where to go on behind the reply that ``data[start:]``, a newline first, belongs to; -1: it goes on."""
        assert self._stamp is not None  # noqa: S101 - called inside a reply only
        ok, last = True, b"\n%end " + self._stamp + b"\n"
        end = data.find(last, start)
        if end < 0:
            ok, last = False, b"\n%error " + self._stamp + b"\n"
            end = data.find(last, start)
        if end < 0:
            keep = max(start, len(data) - len(last))
            self._body.append(data[start:keep])
            self._rest = data[keep:]
            return -1
        self._body.append(data[start:end])
        body = b"".join(self._body)
        # The flags field: 1 answers a command of this client, 0 is about something else, such as its own beginning.
        if self._stamp.endswith(b" 1"):
            events.append(Reply(ok, body[1:].split(b"\n") if body else []))
        elif not ok:
            events.append(Exit(body.decode(errors="replace").strip()))
        self._stamp = None
        self._body.clear()
        return end + len(last)


_ESCAPE = re.compile(rb"\\([0-7]{3})")
_COMMON = ((b"\\015", b"\r"), (b"\\012", b"\n"), (b"\\033", b"\x1b"), (b"\\007", b"\a"), (b"\\011", b"\t"))
_BYTES = {b"%03o" % number: bytes((number,)) for number in range(256)}


def unescape(escaped: bytes) -> bytes:
    r"""The bytes that the program wrote. tmux writes bytes below 0x20 and the backslash as ``\ooo``."""
    if b"\\" not in escaped:
        return escaped
    text = escaped
    for code, byte in _COMMON:  # at the speed of C
        text = text.replace(code, byte)
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
