"""What one answer of the model asks for, whatever format it was written in, and the checks that all formats share."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from terminus_core import ActionCall, Command

DEFAULT_DURATION_SEC = 1.0
MAX_DIGITS = 4_300
"""A longer number is an error, whatever limit the interpreter has."""
BLANKS = " \t\r\n\ufeff\u200b\u200c\u200d\u2060"
"""What may stand anywhere between the parts of a reply: white space, byte-order mark, zero-width characters."""
MISSING = object()
"""The duration of a command that has none."""

_PAIR = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)
_SHOWN = 60


@dataclass(slots=True)
class Answer:
    """One complete answer.

    Attributes:
        start: where it begins in the reply.
        end: where the reply goes on after it.
        closed: it has an end of its own; only such an answer can be trusted in a reply that was cut.
        analysis: the model's view of the state.
        plan: what it means to do.
        commands: what it wants typed.
        actions: what it asks for beside keystrokes.
        claim: it claims that the task is complete.
        unusable: it has commands that cannot be read, beside a claim.
        errors: why it cannot be used.
        warnings: what was odd but harmless.
    """

    start: int = 0
    end: int = 0
    closed: bool = True
    analysis: str = ""
    plan: str = ""
    commands: list[Command] = field(default_factory=list)
    actions: list[ActionCall] = field(default_factory=list)
    claim: bool = False
    unusable: bool = False
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def asks_the_same_as(self, other: Answer) -> bool:
        """Whether it does not matter which of the two is used."""
        return (self.commands, self.actions, self.claim, self.unusable, self.errors) == (
            other.commands,
            other.actions,
            other.claim,
            other.unusable,
            other.errors,
        )

    def add_command(self, number: int, keystrokes: str, duration: object) -> None:
        """Take in a command: keystrokes as the model meant them, and a duration of any kind, or :data:`MISSING`."""
        if "\0" in keystrokes:
            self.errors.append(f"Command {number}: keystrokes hold a NUL character, which cannot be typed.")
            return
        keystrokes, mended = mend(keystrokes)
        if mended:
            self.warnings.append(f"Command {number}: half a surrogate pair in keystrokes was replaced by U+FFFD.")
        if controls := sorted(set(_CONTROL.findall(keystrokes))):
            names = ", ".join(f"U+{ord(each):04X}" for each in controls)
            self.warnings.append(f"Command {number}: keystrokes hold control characters: {names}.")
        if entity := _ENTITY.search(keystrokes):
            self.warnings.append(f"Command {number}: entities are typed as they stand, not decoded: {entity[0]}")
        seconds = DEFAULT_DURATION_SEC
        if duration is MISSING:
            self.warnings.append(f"Command {number}: duration is missing; {seconds} is used.")
        elif (given := _seconds(duration)) is None:
            self.warnings.append(
                f"Command {number}: duration must be a finite number of seconds, 0 or more; {seconds} is used."
            )
        else:
            seconds = given
        self.commands.append(Command(keystrokes, seconds))

    def add_text(self, part: str, text: str) -> None:
        """Take in the ``analysis`` or the ``plan``."""
        text, mended = mend(text)
        if mended:
            self.warnings.append(f"{part}: half a surrogate pair was replaced by U+FFFD.")
        setattr(self, part, text)

    def drop_commands(self, reasons: list[str]) -> None:
        """Commands that cannot be read: beside a claim they are left out, else the answer cannot be used."""
        if not self.claim:
            self.errors += reasons
            return
        self.commands = []
        self.unusable = True
        self.warnings += ["The commands cannot be read; none of them was run.", *reasons]


def read_claim(value: object) -> tuple[bool, str]:
    """Read the value of ``task_complete``: what it says, and a warning if it is not plainly a boolean."""
    if isinstance(value, bool):
        return value, ""
    word = value.strip(BLANKS).lower() if isinstance(value, str) else ""
    if word in ("true", "false"):
        return word == "true", f"task_complete should be plain true or false; it was read as {word}."
    return False, "task_complete must be true or false; it was read as false."


def mend(text: str) -> tuple[str, bool]:
    """Join surrogate pairs and replace lone halves by U+FFFD; say whether there were lone halves."""
    text = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    mended = _HALF.sub("\ufffd", text)
    return mended, mended != text


def shown(text: str) -> str:
    """A piece of the reply for a message: one line, not long."""
    line = mend(" ".join(text[: 4 * _SHOWN].split()))[0]
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def place(text: str, position: int) -> str:
    """A position in the reply for a message: line and column, from 1."""
    start = text.rfind("\n", 0, position) + 1
    return f"line {text.count(chr(10), 0, position) + 1}, column {position - start + 1}"


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if 0 <= seconds < math.inf else None
