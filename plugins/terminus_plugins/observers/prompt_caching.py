"""Observer ``prompt_caching``: marks requests for providers that cache a prompt only up to a mark.

A request is marked on its first message, on the newest message of the request before it, and on its own newest: what
the last request wrote into the cache is read, and what is new is written. Marks move on; the text of a message and its
place never change, so that the common beginning of consecutive requests stays what it was.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from terminus_core import ContentPart, Message, hookimpl

if TYPE_CHECKING:
    from terminus_core import Run

MARK = {"type": "ephemeral"}


class PromptCaching:
    """Sets the marks where the model is known to take them, or where it is told to."""

    name: ClassVar[str] = "prompt_caching"

    class Config(BaseModel):
        """Settings."""

        model_config = ConfigDict(extra="forbid")

        enabled: bool | Literal["auto"] = Field("auto", description="whether to mark; auto: by the model's name")
        models: list[str] = Field(
            ["anthropic/", "claude", "bedrock/*claude", "vertex_ai/claude", "openrouter/anthropic/"],
            description="how the names of models begin that take marks; `*` stands for anything",
        )

    def __init__(self, config: Config) -> None:
        self._enabled = config.enabled
        self._models = config.models

    @hookimpl(trylast=True)
    def terminus_prepare_messages(self, run: Run, messages: list[Message]) -> list[Message] | None:
        """Mark what is sent, after all other filters."""
        wanted = self._takes_marks(run.llm.model_name) if self._enabled == "auto" else self._enabled
        if not wanted:
            return None
        marked = list(messages)
        for i in _places(messages):
            marked[i] = _marked(messages[i])
        return marked

    def _takes_marks(self, model: str) -> bool:
        return any(fnmatchcase(model.lower(), f"{beginning.lower()}*") for beginning in self._models)


def _places(messages: list[Message]) -> set[int]:
    """First message, end of the request before, end of this one; a text must be there to carry a mark."""
    backwards = range(len(messages) - 1, -1, -1)
    last_answer = next((i for i in backwards if messages[i]["role"] == "assistant"), 0)
    ends = (0, last_answer - 1, len(messages) - 1)
    places = (next((i for i in range(end, -1, -1) if _carries_mark(messages[i])), None) for end in ends)
    return {place for place in places if place is not None}


def _carries_mark(message: Message) -> bool:
    return bool(message["content"]) and message["role"] != "assistant"


def _marked(message: Message) -> Message:
    content = message["content"]
    if message["role"] == "tool":  # becomes a block of its own, which carries the mark
        return Message(**{**message, "cache_control": dict(MARK)})
    parts = [ContentPart(type="text", text=content)] if isinstance(content, str) else list(content)
    parts[-1] = ContentPart(**{**parts[-1], "cache_control": dict(MARK)})
    return Message(**{**message, "content": parts})


@hookimpl
def terminus_register_observers() -> list[type[PromptCaching]]:
    """Bring ``prompt_caching``."""
    return [PromptCaching]
