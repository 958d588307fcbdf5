"""Gate ``deny``: keystrokes that match a pattern are not typed, and the model is told why.

It keeps a model from doing something by mistake. It is no wall against one that means it: what is typed can be written
in countless ways.
"""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from terminus_core import Gate, ParseResult, Run, hookimpl

_START = r"(?:^|[;&|(`]|\bsudo\s)\s*"
_EVERYTHING = r"[\"']?(?:/|(?:~|\$HOME|\$\{HOME\})/?)[\"']?\*?(?=[\s;&|)]|$)"
PATTERNS = {
    rf"{_START}rm\s[^\n;&|]*?(?<=\s){_EVERYTHING}": "that would remove everything",
    rf"{_START}mkfs(?:\.\w+)?\s": "that would overwrite a file system",
    rf"{_START}dd\s[^\n;&|]*\bof=/dev/(?!null|stdout|stderr|tty)": "that would overwrite a device",
    rf"{_START}(?:shutdown|reboot|halt|poweroff)\b": "that would switch the machine off",
    r":\s*\(\)\s*\{\s*:\s*\|": "that would start processes without end",
}
"""What is refused if nothing else is set: a few things that no task wants."""


class Deny(Gate):
    """Looks at the keystrokes of an answer, each command alone and all of them in a row."""

    name: ClassVar[str] = "deny"

    class Config(BaseModel):
        """``[gate.deny]``."""

        model_config = ConfigDict(extra="forbid")

        patterns: dict[str, str] = Field(
            PATTERNS, description="regular expressions for keystrokes, each with the reason that the model is told"
        )

        @field_validator("patterns")
        @classmethod
        def _valid(cls, patterns: dict[str, str]) -> dict[str, str]:
            for pattern in patterns:
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
            return patterns

    def __init__(self, config: Config) -> None:
        self._patterns = [(re.compile(pattern, re.MULTILINE), reason) for pattern, reason in config.patterns.items()]

    async def before_commands(self, run: Run, reply: ParseResult) -> ParseResult | str:  # noqa: ARG002 - the protocol's argument
        """The reply as it is, or what was found in it."""
        texts = [command.keystrokes for command in reply.commands]
        for text in [*texts, "".join(texts)]:
            for pattern, reason in self._patterns:
                if found := pattern.search(text):
                    return (
                        "Nothing of your answer was typed. Keystrokes like these are not allowed here: "
                        f"{found[0].strip()!r} ({reason}). Find another way."
                    )
        return reply


@hookimpl
def terminus_register_gates() -> list[type[Gate]]:
    """Bring ``deny``."""
    return [Deny]
