"""The calls of a run to its model: the next turn of the chat, and calls beside it. Limits and counts included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from terminus_core import step_building
from terminus_core.chat import LLMRequest, LLMResponse
from terminus_core.errors import ContextLengthExceededError, RunLimitReached
from terminus_core.images import keep_images
from terminus_core.part_rules import returned
from terminus_core.responses import normalize
from terminus_core.texts import clean, cleaned
from terminus_core.values import Subagent

if TYPE_CHECKING:
    from terminus_core.chat import Content, ContentPart, Message
    from terminus_core.run import Run


async def ask(run: Run, prompt: str) -> LLMResponse:
    """Put ``prompt`` to the model and keep the turn; a failed call leaves the chat as it was.

    Raises:
        RunLimitReached: the cost limit is reached.
        ContextLengthExceededError, LLMError: as of :meth:`LLM.call`.
    """
    asked = run.chat.prompt_messages(clean(prompt), run.waiting_images)
    messages = run.hooks.prepare_messages(run, [*run.chat.messages, *asked])
    response = await _call(run, messages, tools=run.parser.tools)
    kept = cleaned(response)
    run.chat.add_turn(asked, kept)
    run.waiting_images = []
    if kept.model_name:
        run.last_response_model_name = kept.model_name
    return response  # with half surrogate pairs as they came: the parser warns the model of them


async def ask_aside(  # noqa: PLR0913 - as of Run.ask_aside
    run: Run,
    kind: str,
    messages: list[Message],
    *,
    attempt: int | None,
    group: str,
    max_output_tokens: int | None,
) -> Subagent:
    """As :meth:`Run.ask_aside`."""
    if max_output_tokens is not None and max_output_tokens <= 0:
        raise ContextLengthExceededError(f"{kind}: no room for an answer")
    sent = run.hooks.prepare_messages(run, messages)
    # Providers want the definitions of the calls that stand in the history.
    has_calls = any(message["role"] == "tool" or message.get("tool_calls") for message in sent)
    tools = run.parser.tools if has_calls else None
    response = cleaned(await _call(run, sent, kind=kind, tools=tools, max_output_tokens=max_output_tokens))
    run.asides.add(response.usage)
    if images := [part for message in sent for part in _images_in(message["content"])]:
        run.files += (await keep_images(run.logs_dir, images))[1]
    number = run.next_aside(kind) if attempt is None else attempt
    subagent = Subagent(kind, list(sent), response, number, group)
    run.hooks.subagent_finished(run, subagent)
    return subagent


async def _call(
    run: Run,
    messages: list[Message],
    *,
    kind: str = "turn",
    tools: list[dict[str, Any]] | None = None,
    max_output_tokens: int | None = None,
) -> LLMResponse:
    """One model call with the cost limit around it; counting is the caller's."""
    limit = run.settings.agent.max_cost_usd
    if limit is not None and (run.totals.cost_usd or 0.0) >= limit:
        raise RunLimitReached("max_cost_usd", f"the run has cost {limit:g} US dollars")
    request = LLMRequest(
        messages,
        tools,
        max_output_tokens,
        on_attempt=lambda attempt: run.hooks.request_started(run, attempt),
        on_failure=lambda failure: run.hooks.request_failed(run, failure),
    )
    response = await run.llm.call(request)
    response = normalize(returned(run.who(run.llm), "call", response, LLMResponse))
    run.journal.response(response, episode=run.n_episodes, purpose=kind)
    cost = response.usage.cost_usd if response.usage else None
    if limit is not None and cost is None and run.llm.knows_price is None:
        raise RunLimitReached("max_cost_usd", f"{run.llm.model_name} does not tell what its answers cost")
    if run.settings.agent.collect_rollout_details:
        run.rollout_details.append(step_building.rollout(response, kind, run.n_episodes))
    return response


def _images_in(content: Content) -> list[ContentPart]:
    return [] if isinstance(content, str) else [part for part in content if part["type"] == "image_url"]
