"""What a record says: tool calls, metrics, copied messages, rollouts. Pure functions."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from terminus_core.chat import Usage
from terminus_core.texts import cleaned
from terminus_core.trajectory import Metrics, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from terminus_core.chat import LLMResponse, Message
    from terminus_core.values import ParseResult

Record = TypeVar("Record", bound=BaseModel)


def build(model: type[Record], **fields: Any) -> Record:
    """A record; one that breaks a rule of the format too: the sinks say what is wrong with it."""
    try:
        return model(**fields)
    except ValidationError:
        return model.model_construct(**fields)


def tool_calls(episode: int, reply: ParseResult, native: Sequence[ToolCall] = ()) -> list[ToolCall]:
    """What the reply asked for, as records.

    Args:
        episode: counted from 0.
        reply: as the gates left it.
        native: the model's own calls, as its parser records them; they stand for all that they asked for.
    """
    known = {call.tool_call_id for call in native}
    asked = [
        build(
            ToolCall,
            tool_call_id=f"call_{episode}_{number}",
            function_name="bash_command",
            arguments={"keystrokes": command.keystrokes, "duration": command.duration_sec},
        )
        for number, command in enumerate(reply.commands, start=1)
        if command.call_id not in known
    ]
    if native:
        return [*native, *asked]
    asked += [
        build(
            ToolCall,
            tool_call_id=f"call_{episode}_action_{number}",
            function_name=action.name,
            arguments=cleaned(action.arguments),
        )
        for number, action in enumerate(reply.actions, start=1)
    ]
    if reply.is_task_complete:
        asked.append(
            build(
                ToolCall,
                tool_call_id=f"call_{episode}_task_complete",
                function_name="mark_task_complete",
                arguments={},
            )
        )
    return asked


def metrics(response: LLMResponse) -> Metrics | None:
    """The numbers of one answer; what the provider did not give stays absent."""
    usage = response.usage or Usage()
    given: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cache_tokens or None,
        "cost_usd": usage.cost_usd if usage.cost_usd and 0 < usage.cost_usd < math.inf else None,
        "prompt_token_ids": response.prompt_token_ids,
        "completion_token_ids": response.completion_token_ids,
        "logprobs": response.logprobs,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return build(Metrics, **given) if given else None


def rollout(response: LLMResponse, kind: str, episode: int) -> dict[str, Any]:
    """Token ids and log-probabilities of one answer, as far as the provider gave them, and where they belong."""
    names = ("prompt_token_ids", "completion_token_ids", "logprobs")
    given = {name: value for name in names if (value := getattr(response, name)) is not None}
    return {"episode": episode, "kind": kind, **given}


def copied(message: Message, model_name: str | None) -> dict[str, Any]:
    """A chat message as the arguments of a step that repeats it at the head of a continuation."""
    content, role = message["content"], message["role"]
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    step: dict[str, Any] = {"source": "user", "message": text, "is_copied_context": True}
    if role == "assistant":
        calls = [_native_call(call) for call in message.get("tool_calls", [])]
        step |= {"source": "agent", "model_name": model_name, "tool_calls": calls}
    elif role == "tool":
        step["extra"] = {"tool_call_id": message.get("tool_call_id")}
    elif role == "system":
        step["source"] = "system"
    return step


def _native_call(call: dict[str, Any]) -> ToolCall:
    """A model's own tool call; arguments that are no JSON object stand under ``arguments``."""
    given = call["function"].get("arguments")
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        arguments = given
    if not isinstance(arguments, dict):
        arguments = {"arguments": given}
    return build(ToolCall, tool_call_id=call["id"], function_name=call["function"]["name"], arguments=arguments)
