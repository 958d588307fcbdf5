"""Observers that belong to a trial: Harbor's context, filled as the run goes on, and what is added to the task."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from terminus_core import hookimpl

if TYPE_CHECKING:
    from harbor.models.agent.context import AgentContext

    from terminus_core import Message, Run, Subagent

_ROLLOUT = ("prompt_token_ids", "completion_token_ids", "logprobs")


class ContextFiller:
    """Keeps a context of Harbor's complete at every step: a time limit may end the run at any instant.

    Args:
        context: what Harbor reads.
        store_all_messages: keep the chat in its metadata too.
    """

    name = "harbor_context"

    def __init__(self, context: AgentContext, *, store_all_messages: bool) -> None:
        self._context = context
        self._stores_messages = store_all_messages
        self._stored: list[Message] = []
        self._originals: list[Message] = []  # what those were in the chat
        self._asked: float | None = None
        self._times: list[float] = []
        self._main: dict[str, list[Any]] = {}
        self._rollouts: list[dict[str, Any]] = []
        self._n_rollouts = 0

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Nothing has been used yet."""
        self._fill(run)

    @hookimpl
    def terminus_request_started(self, attempt: int) -> None:
        """The time that an answer takes begins with its first request."""
        if attempt == 1:
            self._asked = time.monotonic()

    @hookimpl(tryfirst=True)
    def terminus_response_received(self, run: Run) -> None:
        """An answer has come."""
        self._answered()
        self._fill(run)

    @hookimpl(tryfirst=True)
    def terminus_subagent_finished(self, run: Run, subagent: Subagent) -> None:  # noqa: ARG002 - the event's own
        """An answer beside the chat has come."""
        self._answered()
        self._fill(run)

    @hookimpl
    def terminus_step_recorded(self, run: Run) -> None:
        """Whatever has changed."""
        self._fill(run)

    @hookimpl
    def terminus_history_replaced(self) -> None:
        """The chat is another one."""
        self._stored.clear()
        self._originals.clear()

    @hookimpl
    def terminus_run_finished(self, run: Run) -> None:
        """The totals are final."""
        self._fill(run)

    def _answered(self) -> None:
        if self._asked is not None:
            self._times.append((time.monotonic() - self._asked) * 1000)
            self._asked = None

    def _fill(self, run: Run) -> None:
        totals, context = run.totals, self._context
        context.n_input_tokens = totals.prompt_tokens
        context.n_output_tokens = totals.completion_tokens
        context.n_cache_tokens = totals.cache_tokens
        context.cost_usd = totals.cost_usd
        self._take_rollouts(run)
        context.rollout_details = self._rollouts
        metadata: dict[str, Any] = {
            "n_episodes": run.n_episodes,
            "api_request_times_msec": self._times,
            "summarization_count": run.summarization_count,
        }
        if self._stores_messages:
            self._take_messages(run)
            metadata["all_messages"] = self._stored
        context.metadata = metadata

    def _take_messages(self, run: Run) -> None:
        """Redact what is new in the chat: messages are added at its end, and taken away there."""
        messages, known = run.chat.messages, self._originals
        while known and (len(known) > len(messages) or known[-1] is not messages[len(known) - 1]):
            known.pop()
            self._stored.pop()
        for message in messages[len(known) :]:
            known.append(message)
            self._stored.append(run.redact(message))

    def _take_rollouts(self, run: Run) -> None:
        """Harbor's form: one entry for the whole chat, which comes first, then one for each call beside it."""
        for detail in run.rollout_details[self._n_rollouts :]:
            given = {name: [detail[name]] for name in _ROLLOUT if name in detail}
            if detail["kind"] != "turn":
                self._rollouts.append(given)
                continue
            if not self._main:
                self._rollouts.insert(0, self._main)
            for name, values in given.items():
                self._main.setdefault(name, []).extend(values)
        self._n_rollouts = len(run.rollout_details)


class InstructionExtra:
    """Puts what the trial offers behind the task.

    Args:
        text: what to add.
    """

    name = "harbor_instruction"

    def __init__(self, text: str) -> None:
        self._text = text

    @hookimpl
    def terminus_prepare_instruction(self, instruction: str) -> str:
        """The task, then the rest."""
        return f"{instruction}\n\n{self._text}"
