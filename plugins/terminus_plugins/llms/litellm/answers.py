"""What litellm makes of a provider's answer, as an :class:`LLMResponse`: odd shapes never raise."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

from terminus_core import LLMResponse, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T", int, float)

_MOST_TOKENS = 2**53
"""A higher count is nonsense, and beyond what JSON's readers hold exactly."""


def to_response(data: Mapping[str, Any]) -> LLMResponse | None:
    """The first choice of a chat completion; ``None`` if it has no choice at all.

    Args:
        data: OpenAI's form, whatever the provider: litellm's ``ModelResponse`` as plain dicts, or a body as it came.
    """
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    choice = _dict(choices[0])
    message = _dict(choice.get("message"))
    content = _content(message.get("content"))
    more = _dict(choice.get("provider_specific_fields"))
    return LLMResponse(
        content=content,
        reasoning_content=_text(message.get("reasoning_content") or message.get("reasoning")) or None,
        model_name=_text(data.get("model")),
        usage=_usage(_dict(data.get("usage")), silent=not content and not message.get("tool_calls")),
        tool_calls=_tool_calls(message.get("tool_calls")),
        finish_reason=_text(choice.get("finish_reason")) or None,
        prompt_token_ids=_numbers(data.get("prompt_token_ids") or choice.get("prompt_token_ids"), int),
        completion_token_ids=_numbers(choice.get("token_ids") or more.get("token_ids"), int),
        logprobs=_logprobs(choice.get("logprobs")),
        extra={name: value for name, value in more.items() if name != "token_ids" and value is not None},
    )


def choice_fault(data: Mapping[str, Any]) -> Any:
    """The fault that a provider tells of inside the first choice, in OpenRouter's form, ``None`` if there is none."""
    choice = _dict(next(iter(data.get("choices") or []), None))
    return choice.get("error") or _dict(choice.get("provider_specific_fields")).get("error")


def replay_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """What some providers want back beside the reasoning text, such as Anthropic's signatures."""
    message = _dict(_dict((data.get("choices") or [None])[0]).get("message"))
    return {name: message[name] for name in ("thinking_blocks", "reasoning_items") if message.get(name)}


def _usage(usage: Mapping[str, Any], *, silent: bool) -> Usage | None:
    """Usage; litellm puts 0 where a provider gave nothing; no prompt has 0 tokens, and no answer but an empty one."""
    prompt = _count(usage.get("prompt_tokens")) or None
    completion = _count(usage.get("completion_tokens"))
    if completion == 0 and not (silent and prompt):
        completion = None
    cached = _count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:
        cached = _count(usage.get("cache_read_input_tokens", usage.get("prompt_cache_hit_tokens")))
    if prompt is None and completion is None:
        return None
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cache_tokens=cached)


def _tool_calls(calls: Any) -> list[dict[str, Any]] | None:
    if not isinstance(calls, list) or not calls:
        return None
    plain = []
    for i, call in enumerate(map(_dict, calls)):
        function = _dict(call.get("function"))
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps({} if arguments is None else arguments)
        plain.append(
            {
                "id": _text(call.get("id")) or f"call_{i}",
                "type": "function",
                "function": {"name": _text(function.get("name")), "arguments": arguments},
            }
        )
    return plain


def _logprobs(logprobs: Any) -> list[float] | None:
    content = _dict(logprobs).get("content")
    return _numbers([_dict(token).get("logprob") for token in content], float) if isinstance(content, list) else None


def _numbers(values: Any, kind: type[T]) -> list[T] | None:
    """All of ``values`` as numbers, or ``None``: a list with holes would not fit its tokens."""
    if not isinstance(values, list) or not values:
        return None
    try:
        numbers = [kind(value) for value in values]
        return numbers if all(map(math.isfinite, numbers)) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _content(value: Any) -> str:
    """A text, or the texts among its parts."""
    if isinstance(value, list):
        return "".join(_text(_dict(part).get("text")) for part in value)
    return _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 <= value <= _MOST_TOKENS else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
