"""Answers that litellm cannot read, for want of a part that says nothing or in a form that it does not know."""

from __future__ import annotations

import json
from typing import Any

_CUT = {"max_tokens", "model_context_window_exceeded", "max_output_tokens"}


def as_chat(answer: dict[str, Any]) -> dict[str, Any] | None:
    """An answer's body in the form of OpenAI's chat completions, ``None`` if it is none of the three known forms.

    Args:
        answer: a body in the form of OpenAI's chat completions or Responses API, or of Anthropic's messages.
    """
    if isinstance(answer.get("choices"), list):
        choices = answer["choices"]
        return answer if choices and isinstance(choices[0], dict) and choices[0].get("message") else None
    if isinstance(answer.get("output"), list):
        return _from_responses(answer)
    return _from_anthropic(answer) if answer.get("type") == "message" else None


def _from_responses(answer: dict[str, Any]) -> dict[str, Any]:
    items = _dicts(answer["output"])
    text = [part for item in items if item.get("type") == "message" for part in _dicts(item.get("content"))]
    thought = [part for item in items if item.get("type") == "reasoning" for part in _dicts(item.get("summary"))]
    calls = [
        _call(item.get("call_id"), item.get("name"), item.get("arguments"))
        for item in items
        if item.get("type") == "function_call"
    ]
    usage = _dict(answer.get("usage"))
    return _chat(
        answer,
        {"content": text, "reasoning_content": _joined(thought, "text"), "tool_calls": calls},
        _dict(answer.get("incomplete_details")).get("reason"),
        {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
        },
    )


def _from_anthropic(answer: dict[str, Any]) -> dict[str, Any]:
    blocks = _dicts(answer.get("content"))
    thought = [block for block in blocks if block.get("type") in {"thinking", "redacted_thinking"}]
    calls = [
        _call(block.get("id"), block.get("name"), json.dumps(block.get("input")))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    usage = _dict(answer.get("usage"))
    # Anthropic counts cached tokens beside the others, not among them.
    parts = [usage.get(f"{kind}input_tokens") for kind in ("", "cache_read_", "cache_creation_")]
    return _chat(
        answer,
        {
            "content": [block for block in blocks if block.get("type") == "text"],
            "reasoning_content": _joined(thought, "thinking"),
            "thinking_blocks": thought,
            "tool_calls": calls,
        },
        answer.get("stop_reason"),
        {
            "prompt_tokens": sum(part for part in parts if isinstance(part, int)),
            "completion_tokens": usage.get("output_tokens"),
            "cache_read_input_tokens": usage.get("cache_read_input_tokens"),
        },
    )


def _chat(answer: dict[str, Any], message: dict[str, Any], reason: Any, usage: dict[str, Any]) -> dict[str, Any]:
    finish = "length" if reason in _CUT else "tool_calls" if message["tool_calls"] else "stop"
    return {
        "model": answer.get("model"),
        "choices": [{"message": message, "finish_reason": finish}],
        "usage": usage,
    }


def _call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _joined(parts: list[dict[str, Any]], key: str) -> str:
    return "".join(part[key] for part in parts if isinstance(part.get(key), str))


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
