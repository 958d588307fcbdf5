"""What a turn's record says: tool calls and metrics, as ATIF models. Pure functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from terminus_core.chat import Usage
from terminus_core.trajectory import Metrics, ToolCall

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse
    from terminus_core.interfaces import ParseResult


def tool_calls(episode: int, reply: ParseResult) -> list[ToolCall]:
    """What the reply asked for, as records."""
    asked = [
        ToolCall.model_construct(
            tool_call_id=f"call_{episode}_{number}",
            function_name="bash_command",
            arguments={"keystrokes": command.keystrokes, "duration": command.duration_sec},
        )
        for number, command in enumerate(reply.commands, start=1)
    ]
    asked += [
        ToolCall.model_construct(
            tool_call_id=f"call_{episode}_action_{number}",
            function_name=action.name,
            arguments=action.arguments,
        )
        for number, action in enumerate(reply.actions, start=1)
    ]
    if reply.is_task_complete:
        asked.append(
            ToolCall.model_construct(
                tool_call_id=f"call_{episode}_task_complete", function_name="mark_task_complete", arguments={}
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
        "cost_usd": usage.cost_usd if usage.cost_usd and math.isfinite(usage.cost_usd) else None,
        "prompt_token_ids": response.prompt_token_ids,
        "completion_token_ids": response.completion_token_ids,
        "logprobs": response.logprobs,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return Metrics.model_construct(**given) if given else None
