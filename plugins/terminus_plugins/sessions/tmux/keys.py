"""What keystrokes mean: the name of one key is pressed, everything else is typed. No input or output here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from terminus_plugins.sessions.tmux.protocol import quote

# What each named key sends to a program in the normal cursor mode; recordings show it as input.
_NAMED = {
    "Enter": "\r",
    "Escape": "\x1b",
    "Tab": "\t",
    "BTab": "\x1b[Z",
    "BSpace": "\x7f",
    "Space": " ",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    "Home": "\x1b[1~",
    "End": "\x1b[4~",
    "PageUp": "\x1b[5~",
    "PPage": "\x1b[5~",
    "PageDown": "\x1b[6~",
    "NPage": "\x1b[6~",
    "IC": "\x1b[2~",
    "DC": "\x1b[3~",
    **{f"F{number}": f"\x1bO{letter}" for number, letter in enumerate("PQRS", 1)},
    **{
        f"F{number}": f"\x1b[{code}~"
        for number, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)
    },
}
_MODIFIED = re.compile(r"(C-M-|C-|M-)([^\s\x00-\x1f\x7f])")
# What xterm sends for the control key with these; with other digits and signs it sends just those.
_CONTROLLED = dict(zip("2345678/?", "\x00\x1b\x1c\x1d\x1e\x1f\x7f\x1f\x7f", strict=True))
_CONTROLLED |= {char: chr(ord(char.upper()) & 0x1F) for char in "abcdefghijklmnopqrstuvwxyz@[\\]^_"}
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x0c\x0e-\x1f\x7f]")
_PASTE_END = "\x1b[201~"
_KERNELS_LINE = 4095
"""Bytes of one line that the kernel keeps for a program that is not there yet, such as a shell between two commands."""
_CHUNK = 16_384
"""Characters in one tmux command: a longer text goes in several, in order."""


@dataclass(slots=True, frozen=True)
class Keys:
    """Keystrokes, ready to be sent.

    Attributes:
        lists: tmux command lists, one tuple each.
        data: about the bytes that the program gets.
        enters: how many times the Enter key is in it.
        plain: nothing but text, tabs and Enter: each line that a shell reads from it gives at most one prompt.
    """

    lists: tuple[tuple[str, ...], ...]
    data: bytes
    enters: int
    plain: bool

    @property
    def runs(self) -> bool:
        """Whether the last of it is the Enter key: what a shell would run."""
        return self.data.endswith(b"\r")


def key_data(name: str) -> str | None:
    """What the key called ``name`` sends, or ``None`` if there is no such key."""
    if name in _NAMED:
        return _NAMED[name]
    match = _MODIFIED.fullmatch(name)
    if match is None:
        return None
    modifiers, char = match.groups()
    if modifiers != "M-":
        char = _CONTROLLED.get(char.lower(), char)
    return char if modifiers == "C-" else "\x1b" + char


def compile_keys(keystrokes: str, pane: str) -> Keys:
    """Turn keystrokes into tmux commands for ``pane``."""
    pressed = key_data(keystrokes)
    lists: tuple[tuple[str, ...], ...]
    if pressed is not None:  # tmux itself knows the named ones, whose bytes a program can choose
        named = keystrokes in _NAMED
        lists = ((f"send-keys -t {pane} {quote(keystrokes)}",),) if named else (tuple(_typed(pressed, pane)),)
        return Keys(lists, pressed.encode(errors="replace"), int(pressed == "\r"), plain=pressed == "\r")
    text = keystrokes.replace("\r\n", "\r").replace("\n", "\r")
    plain = _CONTROL.search(text) is None
    others = text.rstrip("\r").split("\r")[1:]
    is_shaky = "\t" in text or any(len(line.encode(errors="replace")) > _KERNELS_LINE for line in others)
    if others and is_shaky and _PASTE_END not in text:
        lists = _pasted(text, pane)
    else:
        lists = tuple((command,) for command in _typed(text, pane))
    return Keys(lists, text.encode(errors="replace"), text.count("\r"), plain)


def _typed(text: str, pane: str) -> list[str]:
    """Literal text; a NUL cannot be in an argument and goes as a hexadecimal key."""
    commands = []
    for part in re.split("(\x00)", text) if "\x00" in text else [text]:
        if part == "\x00":
            commands.append(f"send-keys -t {pane} -H 00")
        else:
            commands += [
                f"send-keys -t {pane} -l -- {quote(part[start : start + _CHUNK])}"
                for start in range(0, len(part), _CHUNK)
            ]
    return commands


def _pasted(text: str, pane: str) -> tuple[tuple[str, ...], ...]:
    """Several lines with tabs or long ones: bracketed paste where the program asked for it, the last Enter keys apart.

    A shell's line editor would take the tabs for completion; and it reads line by line, with the kernel in between.
    """
    body = text.rstrip("\r")
    fill = [
        (f"set-buffer -b keys {'-a ' if start else ''}-- {quote(body[start : start + _CHUNK])}",)
        for start in range(0, len(body), _CHUNK)
    ]
    enters = [(command,) for command in _typed(text[len(body) :], pane)]
    return (*fill, (f"paste-buffer -p -r -d -b keys -t {pane}",), *enters)
