"""The keyword arguments of one ``litellm.completion`` call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from terminus_core import Message

if TYPE_CHECKING:
    from collections.abc import Collection

    from .settings import LiteLLMConfig

OWNED = {
    "model": "the setting model",
    "messages": "the run's own",
    "tools": "the parser's own",
    "stream": "not supported",
    "timeout": "the setting timeout_sec",
    "max_retries": "the setting max_attempts",
    "num_retries": "the setting max_attempts",
}
"""Arguments that a user's keyword arguments may not name, and what to use for them."""

OUTPUT_LIMITS = ("max_completion_tokens", "max_tokens")
"""Arguments that limit the answer, whichever the provider takes."""

_LEAST_BUDGET = 1024
"""Tokens; providers refuse a smaller budget for thinking."""


def optional_fields(config: LiteLLMConfig) -> set[str]:
    """Fields of a request that are worth having, but that some providers refuse."""
    fields = {"logprobs", "return_token_ids"} if config.collect_rollout_details else set()
    return fields | {"session_id"} if config.session_id else fields


def call_arguments(
    config: LiteLLMConfig, *, without: Collection[str] = (), max_output_tokens: int | None = None
) -> dict[str, Any]:
    """All but model, messages and tools.

    Args:
        config: the settings; the user's own keyword arguments win over what follows from them.
        without: optional fields to leave out.
        max_output_tokens: an upper limit for the answer, which wins over a higher one of the user's.
    """
    wanted = optional_fields(config) - set(without)
    extra_body: dict[str, Any] = {}
    if "return_token_ids" in wanted:
        extra_body["return_token_ids"] = True
    if "session_id" in wanted:
        extra_body["session_id"] = config.session_id
    for kwargs in (config.llm_kwargs, config.llm_call_kwargs):
        extra_body |= kwargs.get("extra_body") or {}
    thinking = config.max_thinking_tokens and {"type": "enabled", "budget_tokens": config.max_thinking_tokens}
    arguments = {
        "api_base": config.api_base,
        "temperature": config.temperature,
        "reasoning_effort": config.reasoning_effort,
        "thinking": thinking,
        "logprobs": True if "logprobs" in wanted else None,
        **config.llm_kwargs,
        **config.llm_call_kwargs,
        "extra_body": extra_body or None,
    }
    if max_output_tokens is not None:
        name = next((name for name in OUTPUT_LIMITS if arguments.get(name)), "max_tokens")
        arguments[name] = min(max_output_tokens, arguments.get(name) or max_output_tokens)
    limit = next((arguments[name] for name in OUTPUT_LIMITS if arguments.get(name)), None)
    arguments["thinking"] = _fitting(arguments["thinking"], limit)
    given = {name: value for name, value in arguments.items() if value is not None}
    # What a provider does not take is left out; the client's hidden retries are off.
    return {"drop_params": True, **given, "timeout": config.timeout_sec, "max_retries": 0, "num_retries": 0}


def _fitting(thinking: Any, limit: int | None) -> Any:
    """``thinking`` with a budget below the limit of the whole answer, which half of it is left for otherwise."""
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if limit is None or not isinstance(budget, int) or budget < limit:
        return thinking
    return {**thinking, "budget_tokens": limit // 2} if limit // 2 >= _LEAST_BUDGET else None


def with_readable_calls(message: Message) -> Message:
    """``message`` with native tool calls whose arguments are a JSON object: what a model wrote may be none.

    Providers and litellm read the arguments of calls that stand in the history, and refuse the whole request.
    """
    calls = message.get("tool_calls")
    return Message(**{**message, "tool_calls": [_readable(call) for call in calls]}) if calls else message


def _readable(call: dict[str, Any]) -> dict[str, Any]:
    arguments = call["function"]["arguments"]
    try:
        if isinstance(json.loads(arguments), dict):
            return call
    except (ValueError, TypeError, RecursionError):
        pass
    return {**call, "function": {**call["function"], "arguments": json.dumps({"unreadable": arguments})}}


def well_formed(value: Any) -> Any:
    """``value`` with half surrogate pairs replaced by U+FFFD: they have no UTF-8, so no request could hold them."""
    if isinstance(value, str):
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, dict):
        return {name: well_formed(inner) for name, inner in value.items()}
    return [well_formed(inner) for inner in value] if isinstance(value, list) else value
