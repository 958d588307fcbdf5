"""From keystrokes to the bytes that a terminal sends."""

from __future__ import annotations

import re
from dataclasses import dataclass

_KEYS = {
    "Enter": "\r",
    "Escape": "\x1b",
    "Tab": "\t",
    "BTab": "\x1b[Z",
    "BSpace": "\x7f",
    "Space": " ",
    "Home": "\x1b[1~",
    "IC": "\x1b[2~",
    "DC": "\x1b[3~",
    "End": "\x1b[4~",
    "PageUp": "\x1b[5~",
    "PPage": "\x1b[5~",
    "PageDown": "\x1b[6~",
    "NPage": "\x1b[6~",
    **{f"F{n}": f"\x1bO{letter}" for n, letter in enumerate("PQRS", start=1)},
    **{f"F{n}": f"\x1b[{code}~" for n, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)},
}
_ARROWS = {"Up": "A", "Down": "B", "Right": "C", "Left": "D"}
_MODIFIED = re.compile(r"(C-)?(M-)?(.)", re.DOTALL)
PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"


@dataclass(frozen=True)
class Typed:
    """What is sent, and how many prompts it will bring if a shell reads it: ``None`` if it runs nothing."""

    data: bytes
    prompts: int | None


def compile_keys(keystrokes: str, *, application: bool, bracketed: bool) -> Typed:
    """The bytes of a key's name, or of a text.

    Args:
        keystrokes: as :meth:`terminus_core.Session.send_keys` has them.
        application: the program has asked for the arrows' other form.
        bracketed: it has asked to be told what is pasted.
    """
    key = _key(keystrokes, application=application)
    if key is not None:
        return Typed(key.encode(), 1)
    text = re.sub("\r\n|\n", "\r", keystrokes)
    if bracketed and "\t" in text and "\r" in text.rstrip("\r"):
        # A tab is a key of the shell's, unless it is pasted. The last Enter runs what was pasted.
        body = text.removesuffix("\r")
        enter = text[len(body) :]
        data = f"{PASTE_BEGIN}{body.replace(PASTE_END, '')}{PASTE_END}{enter}"
        return Typed(data.encode(), 1 if enter else None)
    return Typed(text.encode(), text.count("\r") or None)


def _key(name: str, *, application: bool) -> str | None:
    if name in _ARROWS:
        return f"\x1b{'O' if application else '['}{_ARROWS[name]}"
    if name in _KEYS:
        return _KEYS[name]
    found = _MODIFIED.fullmatch(name)
    if not found or not (found[1] or found[2]):
        return None
    char = found[3]
    if found[1]:
        if not ("@" <= char.upper() <= "_"):
            return None
        char = chr(ord(char.upper()) & 0x1F)
    return f"\x1b{char}" if found[2] else char
