"""A model call beside the chat as the steps of a trajectory of its own."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from terminus_core import ImageSource, Step, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from terminus_core import LLMResponse, Message, Subagent

# Steps are built unchecked: the document that takes them validates what it writes.


def steps_of(subagent: Subagent, model_name: str) -> Iterator[Step]:
    """The messages that were sent, each once, then the answer.

    What comes before the newest answer among the messages was said in another trajectory: it is marked as copied.
    An answer to a native tool call stands in the observation of the step that called.

    Args:
        subagent: the call.
        model_name: the configured model, for an answer that names none.
    """
    steps: list[dict[str, Any]] = []
    n_copied = 0
    for message in subagent.messages:
        if message["role"] != "tool":
            steps.append(_step(message))
        elif not _observe(steps, message):
            steps.append(_step(message) | {"extra": {"role": "tool", "tool_call_id": message.get("tool_call_id")}})
        if message["role"] in {"assistant", "tool"}:
            n_copied = len(steps)
    for step in steps[:n_copied]:
        step["is_copied_context"] = True
    steps.append(_answer(subagent.response, model_name))
    for number, step in enumerate(steps, start=1):
        yield Step.model_construct(step_id=number, **step)


def _step(message: Message) -> dict[str, Any]:
    source = {"system": "system", "assistant": "agent"}.get(message["role"], "user")
    step: dict[str, Any] = {"source": source, "message": _content(message["content"])}
    if message.get("reasoning_content"):
        step["reasoning_content"] = message["reasoning_content"]
    if message.get("tool_calls"):
        step["tool_calls"] = _tool_calls(message["tool_calls"])
    return step


def _observe(steps: list[dict[str, Any]], message: Message) -> bool:
    """Put a tool message into the step that made the call, if that is the newest but for other answers."""
    call_id = message.get("tool_call_id")
    calls = steps[-1].get("tool_calls", []) if steps else []
    if call_id not in {call["tool_call_id"] for call in calls}:
        return False
    results = steps[-1].setdefault("observation", {"results": []})["results"]
    results.append({"source_call_id": call_id, "content": _content(message["content"])})
    return True


def _answer(response: LLMResponse, model_name: str) -> dict[str, Any]:
    usage = response.usage or Usage()
    metrics = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cache_tokens or None,
        "cost_usd": usage.cost_usd if usage.cost_usd and usage.cost_usd > 0 else None,
        "prompt_token_ids": response.prompt_token_ids,
        "completion_token_ids": response.completion_token_ids,
        "logprobs": response.logprobs,
    }
    metrics = {name: value for name, value in metrics.items() if value is not None}
    return {
        "timestamp": datetime.now(UTC).isoformat(timespec="microseconds"),
        "source": "agent",
        "model_name": response.model_name or model_name,
        "message": response.content,
        "reasoning_content": response.reasoning_content or None,
        "tool_calls": _tool_calls(response.tool_calls) if response.tool_calls else None,
        "metrics": metrics or None,
    }


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] != "image_url":
        return {"type": "text", "text": part.get("text", "")}
    try:
        source = ImageSource.of(part["image_url"]["url"])
    except ValueError:
        return {"type": "text", "text": "[an image of an unknown kind]"}
    return {"type": "image", "source": source.model_dump()}


def _tool_calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "tool_call_id": call["id"],
            "function_name": call["function"]["name"],
            "arguments": _arguments(call["function"].get("arguments")),
        }
        for call in calls
    ]


def _arguments(given: Any) -> dict[str, Any]:
    """Arguments as an object; what is none stands under ``arguments`` as it was given."""
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        arguments = given
    return arguments if isinstance(arguments, dict) else {"arguments": given}
