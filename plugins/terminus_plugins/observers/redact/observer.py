"""Observer ``redact``: secrets are masked in everything that is recorded and, if asked for, in what the model sees."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from terminus_core import ContentPart, Message, TerminalText, hookimpl, secret_texts
from terminus_plugins.observers.redact.patterns import Masker, secrets_in
from terminus_plugins.observers.redact.stream import Piece, Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from terminus_core import Run, SessionEvent


class Redact:
    """Masks the values of the program's environment variables and settings that look like keys, and known forms.

    What is typed stays as it is: a command that the model writes with a secret works.
    """

    name: ClassVar[str] = "redact"

    class Config(BaseModel):
        """``[observer.redact]``."""

        model_config = ConfigDict(extra="forbid")

        model: bool = Field(default=False, description="mask what the model sees, too")
        variables: list[str] = Field(default_factory=list, description="further variables to treat as secret")
        secrets: list[str] = Field(default_factory=list, description="further secrets, as they stand")
        patterns: list[str] = Field(default_factory=list, description="regular expressions of further secrets")

        @field_validator("patterns")
        @classmethod
        def _valid(cls, patterns: list[str]) -> list[str]:
            for pattern in patterns:
                try:
                    matches_nothing = re.compile(pattern).search("")
                except re.error as error:
                    raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
                if matches_nothing:
                    raise ValueError(f"{pattern!r} matches an empty text")
            return patterns

    def __init__(self, config: Config) -> None:
        self._config = config
        self._masker: Masker | None = None
        self._width: int | None = None
        self._looks = Stream()
        self._unlisten: Callable[[], None] | None = None
        self._sent: dict[int, tuple[Message, Message]] = {}  # by identity: the chat keeps its messages as they are

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._unlisten is not None:
            self._unlisten()

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Find out how wide the terminal is."""
        if run.session is not None:
            self._unlisten = run.session.listen(self._on_session_event)

    @hookimpl(trylast=True)
    def terminus_redact(self, run: Run, text: str) -> str:
        """Mask what goes into files and to observers."""
        masker = self._masker_of(run)
        return masker.mask_piece(text) if isinstance(text, Piece) else masker.mask(text)

    @hookimpl(tryfirst=True)
    def terminus_filter_observation(self, run: Run, text: str) -> TerminalText | None:
        """Mask what the terminal shows, also where a row ends within a secret."""
        if not self._config.model:
            return None
        key = self._looks.key
        masked = self._masker_of(run).mask(text, self._width, self._looks)
        if getattr(text, "kind", "new") == "none":
            self._looks.key = key  # the row with the cursor says nothing new
        if masked == text:
            return None
        left_out = getattr(text, "rows_left_out", 0)
        return TerminalText(masked, kind=getattr(text, "kind", "new"), rows_left_out=left_out)

    @hookimpl(trylast=True)
    def terminus_prepare_messages(self, run: Run, messages: list[Message]) -> list[Message] | None:
        """Mask all else that the model sees: the task, its own answers, what other plugins say."""
        if not self._config.model:
            return None
        masker = self._masker_of(run)
        known, self._sent = self._sent, {}
        for message in messages:
            place = id(message)
            self._sent[place] = known.get(place) or (message, _masked(message, masker))
        return [self._sent[id(message)][1] for message in messages]

    def _on_session_event(self, event: SessionEvent) -> None:
        if event.kind == "resize" and isinstance(event.data, tuple):
            self._width = event.data[0]

    def _masker_of(self, run: Run) -> Masker:
        if self._masker is None:
            values = [
                *secrets_in(os.environ, self._config.variables),
                *secret_texts(run.settings.model_dump(mode="json")),
                *self._config.secrets,
            ]
            self._masker = Masker(values, self._config.patterns)
        return self._masker


def _masked(message: Message, masker: Masker) -> Message:
    masked = Message(**message)
    content = message["content"]
    if isinstance(content, str):
        masked["content"] = masker.mask(content)
    else:
        masked["content"] = [_masked_part(part, masker) for part in content]
    if "reasoning_content" in message:
        masked["reasoning_content"] = masker.mask(message["reasoning_content"])
    if "tool_calls" in message:
        masked["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": masker.mask(call["function"]["arguments"])}}
            for call in message["tool_calls"]
        ]
    return masked


def _masked_part(part: ContentPart, masker: Masker) -> ContentPart:
    return {**part, "text": masker.mask(part["text"])} if part["type"] == "text" else part
