"""What output does to the terminal itself: questions that it answers, modes and character sets that it is left in.

The terminal types its answers to questions as if somebody had: a shell that reads a line finds them in it. No input or
output here. Sequences: ECMA-48 and xterm's ctlseqs.
"""

from __future__ import annotations

import re

_SIGNS = re.compile(
    rb"(?P<question>"
    rb"\x1b\[[>=?]?[0-9;]*[cnxt]|\x1b\[>[0-9;]*q|\x1b\[\?[0-9;]*\$p|\x1b\][0-9;]+;\?|\x1bP[+$]q|\x1bZ|\x05)"
    rb"|(?P<charset>\x1b[()](?P<set>.)|(?P<shift>[\x0e\x0f]))"
    rb"|(?P<mode>\x1b\[[0-9;]*r|\x1b\[\?(?:[0-9]+;)*(?:6|47|1047|1049)h|\x1b\[4h)"
)

_STRING_BEGIN = re.compile(rb"\x1b[\x00-\x17\x19\x1c-\x1f\x7f-\xff]*P")
"""What stands between is skipped, as tmux does."""
_STRING_END = b"\x1b\\"
_UNFINISHED = re.compile(rb"\x1b(?:[\x00-\x17\x19\x1c-\x1f\x7f-\xff]{,64}|[\[\]][0-9;?>=]{,32})\Z")

STATE = "#{alternate_on}#{insert_flag}#{origin_flag} #{scroll_region_upper} #{scroll_region_lower} #{pane_height}"
"""What tmux is asked for to find out whether the terminal is as a shell expects it."""


class Disturbances:
    """Follows output.

    Attributes:
        asked: the terminal has been asked something since the last :meth:`cleared`.
        changed: a mode may have been changed since then.
    """

    def __init__(self) -> None:
        self.asked = False
        self.changed = False
        self._set = b"B"
        self._is_shifted = False
        self._in_string = False
        self._tail = b""

    @property
    def is_garbled(self) -> bool:
        """Whether letters come out as something else (line drawing, national sets), or not at all."""
        return self._in_string or self._is_shifted or self._set not in (b"B", b"@")

    @property
    def is_suspect(self) -> bool:
        """Whether the terminal may not be as a shell expects it: tmux has to be asked."""
        return self.changed or self.is_garbled

    def feed(self, data: bytes) -> None:
        """Take output as the program wrote it."""
        data = self._tail + data
        cut = _UNFINISHED.search(data, max(0, data.rfind(b"\x1b")))
        self._tail = cut[0] if cut else b""
        self._follow_strings(data)
        for found in _SIGNS.finditer(data):
            if found["question"]:
                self.asked = True
            elif found["mode"]:
                self.changed = True
            elif found["shift"]:
                self._is_shifted = found["shift"] == b"\x0e"
            elif found["set"] and data[found.start() + 1 : found.start() + 2] == b"(":
                self._set = found["set"]

    def _follow_strings(self, data: bytes) -> None:
        """Once a device control string has begun, tmux swallows everything up to its end."""
        position = 0
        while position >= 0:
            if self._in_string:
                end = data.find(_STRING_END, position)
                if end < 0:
                    return
                self._in_string, position = False, end + len(_STRING_END)
            else:
                begin = _STRING_BEGIN.search(data, position)
                if begin is None:
                    return
                self._in_string, position = True, begin.end()

    def cleared(self) -> None:
        """The line is empty and the terminal as a shell expects it."""
        self.asked = self.changed = self._is_shifted = self._in_string = False
        self._set = b"B"


def is_ordinary(state: str) -> bool:
    """Whether tmux's answer to :data:`STATE` is that of a terminal as a shell expects it."""
    flags, upper, lower, height = state.split(" ")
    return flags == "000" and upper == "0" and int(lower) == int(height) - 1
