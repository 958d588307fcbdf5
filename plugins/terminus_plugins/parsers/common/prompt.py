"""Prompt templates: a built-in one for each format, or a file of the user's own."""

from __future__ import annotations

import string
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

if TYPE_CHECKING:
    from collections.abc import Sequence

PLACEHOLDERS = ("instruction", "terminal_state")
OFFERS = "offers"
"""A place that may be missing: what replies may ask for beside keystrokes."""


class PromptTemplate:
    """A text with the places ``{instruction}`` and ``{terminal_state}``, perhaps also ``{offers}``.

    As in Python's ``str.format``, a brace that is meant as a brace is written twice: ``{{`` and ``}}``. What is put in
    is never looked at for places again.

    Args:
        text: the template.

    Raises:
        ValueError: a place is unknown or missing, or a brace stands alone; one line that says what to write.
    """

    def __init__(self, text: str) -> None:
        cure = "write a literal brace twice: {{ or }}"
        try:
            fields = list(string.Formatter().parse(text))
        except ValueError as error:
            raise ValueError(f"{error}; {cure}") from None
        self._pieces: Sequence[tuple[str, str | None]] = [(literal, name) for literal, name, _, _ in fields]
        for _, name, form, conversion in fields:
            if name is not None and (name not in (*PLACEHOLDERS, OFFERS) or form or conversion):
                shown = name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
                raise ValueError(
                    f"unknown placeholder {{{shown[:60]}}}; known are {{instruction}}, {{terminal_state}} "
                    f"and {{offers}}; {cure}"
                )
        for name in PLACEHOLDERS:
            if all(name != each for _, each in self._pieces):
                raise ValueError(f"the placeholder {{{name}}} is missing")

    def fill(self, *, instruction: str, terminal_state: str, offers: str = "") -> str:
        """The text with the values in their places."""
        values = {"instruction": instruction, "terminal_state": terminal_state, OFFERS: offers, None: ""}
        return "".join(literal + values[name] for literal, name in self._pieces)


class PromptConfig(BaseModel):
    """Settings of a parser whose prompt can be replaced."""

    model_config = ConfigDict(extra="forbid")

    prompt_file: Path | None = Field(
        None,
        description="template of the first prompt, with {instruction} and {terminal_state}; "
        "a literal brace is written twice",
    )
    _template: PromptTemplate | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _load(self) -> Self:
        if self.prompt_file is not None:
            try:
                self._template = PromptTemplate(self.prompt_file.expanduser().read_text(encoding="utf-8-sig"))
            except OSError as error:
                raise ValueError(f"prompt_file {self.prompt_file}: {error.strerror}") from None
            except ValueError as error:
                raise ValueError(f"prompt_file {self.prompt_file}: {error}") from None
        return self

    def template(self, default: Path) -> PromptTemplate:
        """The user's template, else the built-in one in the file ``default``."""
        return self._template or _built_in(default)


@cache
def _built_in(file: Path) -> PromptTemplate:
    return PromptTemplate(file.read_text(encoding="utf-8"))
