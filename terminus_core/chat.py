"""Messages, the values of a model call, and the chat that a run keeps with its model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypeAlias, TypedDict


class ContentPart(TypedDict):
    """One part of a message in OpenAI's chat form: a text or an image."""

    type: str
    """``text`` or ``image_url``."""
    text: NotRequired[str]
    image_url: NotRequired[dict[str, str]]
    """``{"url": "data:image/png;base64,…"}``."""
    cache_control: NotRequired[dict[str, str]]
    """A provider's prompt-caching mark, such as ``{"type": "ephemeral"}``."""


class Message(TypedDict):
    """One chat message in OpenAI's form; build it with keywords, read it like a dict."""

    role: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    content: str | list[ContentPart]
    tool_calls: NotRequired[list[dict[str, Any]]]
    """On an assistant message: the native tool calls as the model made them."""
    tool_call_id: NotRequired[str]
    """On a tool message: the call that it answers."""
    cache_control: NotRequired[dict[str, str]]
    """On a tool message: a provider's prompt-caching mark, as in :class:`ContentPart`."""
    reasoning_content: NotRequired[str]
    """On an assistant message, with ``interleaved_thinking``: the reasoning to send back."""


@dataclass(slots=True)
class Usage:
    """Tokens and cost of one call or of many.

    ``None`` means that the provider did not say, which is not the same as zero. ``cache_tokens`` are the part of
    ``prompt_tokens`` that the provider had cached; ``cost_usd`` is in US dollars.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cache_tokens: int | None = None
    cost_usd: float | None = None

    def add(self, other: Usage | None) -> None:
        """Count ``other`` in; what it leaves open, or gives as NaN or infinity, changes nothing."""
        if other is None:
            return
        for name in Usage.__slots__:
            more = getattr(other, name)
            if more is not None and math.isfinite(more):
                setattr(self, name, (getattr(self, name) or 0) + more)


@dataclass(slots=True, kw_only=True)
class RequestFailure:
    """A request to the model that failed and will be followed by another one.

    Attributes:
        reason: one line, without secrets.
        attempt: which request failed, counted from 1 for each answer wanted.
        max_attempts: how many are sent at most.
        pause_sec: seconds until the next one.
    """

    reason: str
    attempt: int
    max_attempts: int
    pause_sec: float


@dataclass(slots=True)
class LLMRequest:
    """What one model call is asked with.

    Attributes:
        messages: the chat as it is sent. It is the chat's own list: read it, copy it, never change it.
        tools: native tool definitions in OpenAI's form, if the parser has any.
        max_output_tokens: the most tokens that the answer may have, ``None`` for the model's own limit.
        on_attempt: to be called with 1, 2, … just before each request is sent.
        on_failure: to be called when a request has failed and another one will follow, before the pause between them.
    """

    messages: list[Message]
    tools: list[dict[str, Any]] | None = None
    max_output_tokens: int | None = None
    on_attempt: Callable[[int], None] = lambda attempt: None  # noqa: ARG005 - the default listens to nothing
    on_failure: Callable[[RequestFailure], None] = lambda failure: None  # noqa: ARG005 - as above


@dataclass(slots=True)
class LLMResponse:
    """One answer of a model.

    Attributes:
        content: the text; a provider's ``null`` counts as ``""``.
        reasoning_content: the reasoning text, never parsed for commands.
        model_name: the model that answered, as the provider names it; ``""`` if it does not say.
        usage: tokens and cost, ``None`` if the provider gave none.
        tool_calls: native tool calls in OpenAI's form, ids and names as the model made them.
        finish_reason: ``stop``, ``length`` (cut at the output limit), ``tool_calls`` …
        prompt_token_ids: ids of the prompt's tokens, for training.
        completion_token_ids: ids of the answer's tokens, for training.
        logprobs: one log-probability for each completion token.
        extra: anything else that is worth keeping.
    """

    content: str = ""
    reasoning_content: str | None = None
    model_name: str = ""
    usage: Usage | None = None
    tool_calls: list[dict[str, Any]] | None = None
    finish_reason: str | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


Content: TypeAlias = str | list[ContentPart]
"""A message's content: a text, or parts when there are images."""


class Chat:
    """The conversation with the model, kept as whole turns.

    A turn is the prompt, in as many messages as it needs, and the assistant's answer. The first turn carries the
    format rules and the task. An assistant's native tool calls are answered in the form that providers demand: one
    ``tool`` message for each call, the observation in the first.

    The size of the chat is known from the answers' usage; what no usage has counted yet is :attr:`uncounted`, so that
    nothing has to be counted twice.

    Args:
        keep_reasoning: send the model's own reasoning back to it (``interleaved_thinking``).
    """

    def __init__(self, *, keep_reasoning: bool = False) -> None:
        self.messages: list[Message] = []
        self.usage: Usage = Usage()
        """Tokens and cost of the answers in this chat, unwound ones included."""
        self.n_answers: int = 0
        """How many answers this chat has had, unwound ones included."""
        self._keep_reasoning = keep_reasoning
        self._tokens = 0
        self._n_counted = 0  # messages that those tokens are
        self._turns: list[tuple[int, int, int]] = []  # where each turn starts; tokens and counted messages before it

    @property
    def n_turns(self) -> int:
        """Whole turns now in the chat."""
        return len(self._turns)

    @property
    def uncounted(self) -> list[Message]:
        """The newest messages, whose tokens are not known yet."""
        return self.messages[self._n_counted :]

    @property
    def context_tokens(self) -> int | None:
        """Tokens of :attr:`messages`; ``None`` while some are :attr:`uncounted`."""
        return self._tokens if self._n_counted == len(self.messages) else None

    def add_count(self, tokens: int) -> None:
        """Take note that the :attr:`uncounted` messages are so many tokens."""
        self._tokens += tokens
        self._n_counted = len(self.messages)

    def prompt_messages(self, prompt: str, images: list[ContentPart] | None = None) -> list[Message]:
        """The messages that put ``prompt`` to the model as the chat stands now."""
        content: Content = [ContentPart(type="text", text=prompt), *images] if images else prompt
        calls = self.messages[-1].get("tool_calls") if self.messages else None
        if not calls:
            return [Message(role="user", content=content)]
        # Images may not stand in a tool message everywhere: they follow in a user message.
        answers = [
            Message(role="tool", tool_call_id=call["id"], content="" if i else prompt) for i, call in enumerate(calls)
        ]
        return [*answers, Message(role="user", content=images)] if images else answers

    def add_turn(self, asked: list[Message], response: LLMResponse) -> None:
        """Keep a prompt, as :meth:`prompt_messages` made it, with its answer, and count the answer."""
        self._turns.append((len(self.messages), self._tokens, self._n_counted))
        answer = Message(role="assistant", content=response.content)
        if response.tool_calls:
            answer["tool_calls"] = response.tool_calls
        if self._keep_reasoning and response.reasoning_content:
            answer["reasoning_content"] = response.reasoning_content
        self.messages += [*asked, answer]
        self.n_answers += 1
        usage = response.usage or Usage()
        self.usage.add(usage)
        if usage.prompt_tokens is not None:
            self._tokens, self._n_counted = usage.prompt_tokens, len(self.messages) - 1
            # Reasoning that is not sent back is among the answer's tokens, and takes no room: count the text then.
            sent_back = self._keep_reasoning or not response.reasoning_content
            if usage.completion_tokens is not None and sent_back:
                self.add_count(usage.completion_tokens)

    def unwind(self, turns: int = 1) -> list[Message]:
        """Take the newest turns off, never the first one; return the messages that were taken."""
        turns = min(turns, len(self._turns) - 1)
        if turns <= 0:
            return []
        start, self._tokens, self._n_counted = self._turns[-turns]
        del self._turns[-turns:]
        taken = self.messages[start:]
        del self.messages[start:]
        return taken

    def replace(self, messages: list[Message]) -> None:
        """Swap the history for ``messages``: turns that each end with an assistant's message."""
        self.messages = list(messages)
        self._tokens = self._n_counted = 0
        ends = [i for i, message in enumerate(messages, start=1) if message["role"] == "assistant"]
        self._turns = [(start, 0, 0) for start in [0, *ends[:-1]] if messages]
