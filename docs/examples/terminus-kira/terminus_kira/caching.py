"""Marks the newest messages of each request, so that providers with explicit prompt caching keep what comes before."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from terminus_core import ContentPart, Message, hookimpl

if TYPE_CHECKING:
    from terminus_core import Run

MARKED = 3
"""Messages that are marked; Anthropic takes four marks in a request."""


class KiraCaching:
    """Marks for Claude, whoever serves it; leaves requests to other models as they are."""

    name: ClassVar[str] = "kira"

    @hookimpl(trylast=True)
    def terminus_prepare_messages(self, run: Run, messages: list[Message]) -> list[Message] | None:
        """Mark the newest messages that are not the model's own."""
        if "claude" not in run.llm.model_name.lower():
            return None
        marked = list(messages)
        places = [i for i, each in enumerate(messages) if each["role"] != "assistant" and each["content"]]
        for i in places[-MARKED:]:
            marked[i] = _marked(messages[i])
        return marked


def _marked(message: Message) -> Message:
    content = message["content"]
    parts = [ContentPart(type="text", text=content)] if isinstance(content, str) else list(content)
    parts[-1] = ContentPart(**{**parts[-1], "cache_control": {"type": "ephemeral"}})
    return Message(**{**message, "content": parts})
