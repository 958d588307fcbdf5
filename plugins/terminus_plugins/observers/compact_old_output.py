"""Observer ``compact_old_output``: old observations are sent in a short form; chat and trajectory keep all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from terminus_core import Message, hookimpl

if TYPE_CHECKING:
    from terminus_core import ContentPart


class CompactOldOutput:
    """Shortens what was observed long ago, in what is sent.

    The border between old and new moves in steps of several turns: in between, requests begin alike, and a provider's
    prompt cache holds.
    """

    name: ClassVar[str] = "compact_old_output"

    class Config(BaseModel):
        """``[observer.compact_old_output]``."""

        model_config = ConfigDict(extra="forbid")

        keep_turns: int = Field(6, ge=1, description="newest turns whose observations are always sent whole")
        step_turns: int = Field(6, ge=1, description="how many further turns wait until they are shortened together")
        keep_chars: int = Field(400, ge=0, description="characters that stay of an old observation, half at each end")

    def __init__(self, config: Config) -> None:
        self._config = config
        self._short: dict[int, tuple[Message, Message]] = {}  # by identity: the chat keeps its messages as they are

    @hookimpl
    def terminus_prepare_messages(self, messages: list[Message]) -> list[Message] | None:
        """Shorten the observations of old turns; the first message holds the rules and the task."""
        answers = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
        config = self._config
        n_old = max(0, len(answers) - config.keep_turns) // config.step_turns * config.step_turns
        if not n_old:
            return None
        sent = list(messages)
        short: dict[int, tuple[Message, Message]] = {}
        for i in range(1, answers[n_old - 1]):
            if messages[i]["role"] in {"user", "tool"}:
                known = self._short.get(id(messages[i])) or (messages[i], self._shortened(messages[i]))
                short[id(messages[i])] = known
                sent[i] = known[1]
        self._short = short
        return sent

    def _shortened(self, message: Message) -> Message:
        content = message["content"]
        if isinstance(content, str):
            return Message(**{**message, "content": self._text(content)})
        return Message(**{**message, "content": [self._part(part) for part in content]})

    def _part(self, part: ContentPart) -> ContentPart:
        return {**part, "text": self._text(part["text"])} if part["type"] == "text" else part

    def _text(self, text: str) -> str:
        keep = self._config.keep_chars
        tail = keep // 2
        note = f"[… {len(text) - keep:,} characters of old output left out …]"
        if len(text) <= keep + len(note):
            return text
        return f"{text[: keep - tail]}\n{note}\n{text[len(text) - tail :]}"


@hookimpl
def terminus_register_observers() -> list[type[CompactOldOutput]]:
    """Bring ``compact_old_output``."""
    return [CompactOldOutput]
