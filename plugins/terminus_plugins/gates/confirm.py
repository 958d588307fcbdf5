"""Gate ``confirm``: a person at the terminal decides what is typed."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from anyio import to_thread

from terminus_core import Command, ConfigError, Gate, ParseResult, Run, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterator

TERMINAL = "/dev/tty"
POLL_SEC = 0.1
"""How soon a question that nobody waits for any more lets go of the terminal."""
QUESTION = "Type this? [y]es, [n]o and why, [e]dit, [a]lways: "

_INSTEAD = r"     instead, \n is Enter (Enter alone keeps it, - leaves it out): "

_NAMES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\x1b": r"\e", "\\": r"\\"}
_VALUES = {name: char for char, name in _NAMES.items()}
_ESCAPE = re.compile(r"\\(?:[ntre\\]|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")


class Confirm(Gate):
    """Shows each answer's commands and actions, and asks; beside the live output, whatever stdin and stdout are.

    Raises:
        ConfigError: the program has no terminal to ask on.
    """

    name: ClassVar[str] = "confirm"

    def __init__(self) -> None:
        self._always = False
        try:
            with _terminal():
                pass
        except OSError:
            raise ConfigError(
                "gate 'confirm' asks a person, and there is no terminal to ask on: run it in a terminal, or without "
                "the gate (--gate no:confirm)"
            ) from None

    async def before_commands(self, run: Run, reply: ParseResult) -> ParseResult | str:  # noqa: ARG002 - the protocol's argument
        """The reply, perhaps edited, or the person's no."""
        hint = ""
        while not self._always:
            answer = await _ask(f"{hint}{_listed(reply)}{QUESTION}")
            word, _, rest = (answer or "").partition(" ")
            match word.lower():
                case "y" | "yes":
                    break
                case "a" | "always":
                    self._always = True
                case "e" | "edit":
                    reply = await _edited(reply)
                case "n" | "no":
                    return _refusal(rest.strip() or await _ask("Why? The model is told; Enter says nothing: "))
                case _ if answer is None:
                    return _refusal(None)
                case _:
                    hint = f"{_shown(word)}: not one of y, n, e, a.\n"
        return reply


def _listed(reply: ParseResult) -> str:
    lines = [f"{_shown(command.keystrokes)}  ({command.duration_sec:g} s)" for command in reply.commands]
    lines += [f"{action.name} {_shown(str(action.arguments))}" for action in reply.actions]
    return "".join(f"  {number}. {line}\n" for number, line in enumerate(lines, start=1))


async def _edited(reply: ParseResult) -> ParseResult:
    """Ask for each command what to type instead, in the form in which commands are shown."""
    commands: list[Command] = []
    for number, command in enumerate(reply.commands, start=1):
        shown = f"  {number}. {_shown(command.keystrokes)}\n"
        line = await _ask(f"{shown}{_INSTEAD}")
        while line and (hint := _untypable(line)):
            line = await _ask(f"     {hint}\n{_INSTEAD}")
        if line == "-":
            continue
        commands.append(replace(command, keystrokes=_meant(line)) if line else command)
    if commands == reply.commands:
        return reply
    note = "A person changed your commands. Typed were: " + (
        ", ".join(repr(each.keystrokes) for each in commands) or "none"
    )
    return replace(reply, commands=commands, warning="\n".join(filter(None, [reply.warning, note])))


def _refusal(reason: str | None) -> str:
    said = f" The person says: {reason}" if reason else " Find another way, or ask for less."
    return f"Nothing of your answer was typed: a person looked at it and refused.{said}"


# -- the terminal ------------------------------------------------------------------------------------------------------


async def _ask(text: str) -> str | None:
    """Put a question and wait for a line, ``None`` at the end of input; a cancel leaves at once."""
    abandoned = threading.Event()
    try:
        return await to_thread.run_sync(_read_line, text, abandoned, abandon_on_cancel=True)
    finally:
        abandoned.set()


def _read_line(text: str, abandoned: threading.Event) -> str | None:
    try:
        with _terminal() as terminal:
            termios.tcflush(terminal, termios.TCIFLUSH)  # what was typed before the question is no answer to it
            _write(terminal, text)
            line = b""
            while not line.endswith(b"\n") and not abandoned.is_set():
                if select.select([terminal], [], [], POLL_SEC)[0]:
                    data = os.read(terminal, 4096)
                    if not data:
                        _write(terminal, "\n")
                        return None
                    line += data
            return line.decode(errors="replace").strip()
    except OSError:  # the terminal is gone
        return None


@contextmanager
def _terminal() -> Iterator[int]:
    terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        yield terminal
    finally:
        os.close(terminal)


def _write(terminal: int, text: str) -> None:
    data = text.encode(errors="replace")
    while data:
        data = data[os.write(terminal, data) :]


def _shown(text: str) -> str:
    """``text`` on one line, so that nothing in it can act on the terminal; :func:`_meant` reads it back."""
    return "".join(_NAMES.get(char) or (char if char.isprintable() else _coded(char)) for char in text)


def _coded(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - digits


def _untypable(line: str) -> str:
    """Why what :func:`_meant` would give cannot be typed; ``""`` if it can."""
    for found in _ESCAPE.finditer(line):
        code = int(found[found.lastindex], base=16) if found.lastindex else 1
        if not code or code > sys.maxunicode or 0xD800 <= code < 0xE000:  # noqa: PLR2004 - the halves of pairs
            return f"{found[0]} is no character that can be typed."
    return "A NUL cannot be typed." if "\0" in line else ""


def _meant(line: str) -> str:
    def char(found: re.Match[str]) -> str:
        return chr(int(found[found.lastindex], base=16)) if found.lastindex else _VALUES[found[0]]

    return _ESCAPE.sub(char, line)


@hookimpl
def terminus_register_gates() -> list[type[Gate]]:
    """Bring ``confirm``."""
    return [Confirm]
