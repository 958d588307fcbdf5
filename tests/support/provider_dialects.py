"""How one answer looks in each dialect that :mod:`provider_server` speaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Usage = dict[str, int] | None
Dialect = Callable[[dict[str, Any], "Answer", int], tuple[dict[str, Any], Usage]]


@dataclass
class Answer:
    """What the model says, whatever the dialect."""

    text: str | None = ""
    finish_reason: str = "stop"
    reasoning: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    """In OpenAI's chat form."""
    model: str | None = None
    """The name of the model that answers, ``None`` for the one that was asked."""
    cached_tokens: int = 0
    usage: dict[str, Any] | Literal["count"] | None = "count"
    """Sent as it is; ``count``: the server's own count in the dialect's form."""


def flat_text(value: Any) -> str:
    """All texts in a message, or in anything else of JSON, in order."""
    match value:
        case str():
            return value
        case list():
            return "".join(map(flat_text, value))
        case dict():
            return "".join(flat_text(value[key]) for key in ("system", "content", "text", "output") if value.get(key))
        case _:
            return ""


def tokens_of(text: str) -> int:
    """One token for each four characters begun: simple enough to check by hand."""
    return -(-len(text) // 4)


def count_tokens(body: dict[str, Any]) -> int:
    """A request's prompt tokens: its messages one by one."""
    messages = body.get("messages") or body.get("input") or []
    if not isinstance(messages, list):
        messages = [messages]
    system = body.get("system") or body.get("instructions")
    return sum(tokens_of(flat_text(message)) for message in ([system, *messages] if system else messages))


def _counted(answer: Answer, prompt_tokens: int) -> tuple[dict[str, int], Usage]:
    calls = json.dumps(answer.tool_calls) if answer.tool_calls else ""
    counted = {
        "prompt": prompt_tokens,
        "completion": tokens_of((answer.text or "") + (answer.reasoning or "") + calls),
        "cached": answer.cached_tokens,
    }
    return counted, counted if answer.usage == "count" else None


def chat_completions(body: dict[str, Any], answer: Answer, prompt_tokens: int) -> tuple[dict[str, Any], Usage]:
    """OpenAI's chat completions, with vLLM's ``return_token_ids``."""
    counted, told = _counted(answer, prompt_tokens)
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning is not None:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = answer.tool_calls
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": answer.finish_reason, "logprobs": None}
    document: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": answer.model or body["model"],
        "choices": [choice],
        "usage": answer.usage,
    }
    ids = list(range(100, 100 + counted["completion"]))
    if body.get("logprobs"):
        choice["logprobs"] = {
            "content": [
                {"token": f"t{i}", "logprob": -0.5 - n, "bytes": None, "top_logprobs": []} for n, i in enumerate(ids)
            ]
        }
    if body.get("return_token_ids"):
        document["prompt_token_ids"] = list(range(prompt_tokens))
        choice["token_ids"] = ids
    if told:
        document["usage"] = {
            "prompt_tokens": counted["prompt"],
            "completion_tokens": counted["completion"],
            "total_tokens": counted["prompt"] + counted["completion"],
            "prompt_tokens_details": {"cached_tokens": counted["cached"]},
        }
    return document, told


def messages(body: dict[str, Any], answer: Answer, prompt_tokens: int) -> tuple[dict[str, Any], Usage]:
    """Anthropic's messages."""
    counted, told = _counted(answer, prompt_tokens)
    content: list[dict[str, Any]] = []
    if answer.reasoning is not None:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": "c2lnbmVk"})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for call in answer.tool_calls or []:
        function = call["function"]
        arguments = json.loads(function["arguments"])
        content.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments})
    reasons = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
    document = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": answer.model or body["model"],
        "content": content,
        "stop_reason": reasons[answer.finish_reason],
        "stop_sequence": None,
        "usage": answer.usage,
    }
    if told:
        # Anthropic counts cached tokens beside the others, not among them.
        document["usage"] = {
            "input_tokens": counted["prompt"] - counted["cached"],
            "cache_read_input_tokens": counted["cached"],
            "cache_creation_input_tokens": 0,
            "output_tokens": counted["completion"],
        }
    return document, told


def responses(body: dict[str, Any], answer: Answer, prompt_tokens: int) -> tuple[dict[str, Any], Usage]:
    """OpenAI's Responses API."""
    counted, told = _counted(answer, prompt_tokens)
    whole = answer.finish_reason != "length"
    status = "completed" if whole else "incomplete"
    output: list[dict[str, Any]] = []
    if answer.reasoning is not None:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if answer.text is not None:
        text = {"type": "output_text", "text": answer.text, "annotations": []}
        output.append({"type": "message", "id": "m_1", "role": "assistant", "status": status, "content": [text]})
    for call in answer.tool_calls or []:
        function = call["function"]
        named = {"call_id": call["id"], "name": function["name"], "arguments": function["arguments"]}
        output.append({"type": "function_call", "id": f"fc_{call['id']}", "status": "completed", **named})
    document = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": answer.model or body["model"],
        "status": status,
        "error": None,
        "incomplete_details": None if whole else {"reason": "max_output_tokens"},
        "instructions": body.get("instructions"),
        "metadata": {},
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": answer.usage,
    }
    if told:
        document["usage"] = {
            "input_tokens": counted["prompt"],
            "input_tokens_details": {"cached_tokens": counted["cached"]},
            "output_tokens": counted["completion"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": counted["prompt"] + counted["completion"],
        }
    return document, told


DIALECTS: dict[str, Dialect] = {
    "/chat/completions": chat_completions,
    "/messages": messages,
    "/responses": responses,
}
