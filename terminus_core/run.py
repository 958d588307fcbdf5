"""The state of one run, and the few acts on it."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import anyio

from terminus_core import step_building, trajectory
from terminus_core.chat import Chat, LLMRequest, Usage
from terminus_core.errors import ContextLengthExceededError, RunLimitReached, SessionClosedError, TerminusError
from terminus_core.images import keep_images
from terminus_core.redaction import redacted
from terminus_core.responses import regular
from terminus_core.roles import Handoff, Marker, RunStatus, Subagent
from terminus_core.texts import clean, cleaned, limited, terminal_text
from terminus_core.trajectory import (
    Observation,
    ObservationResult,
    Step,
    SubagentTrajectoryRef,
    ToolCall,
)

if TYPE_CHECKING:
    from terminus_core.chat import Content, ContentPart, LLMResponse, Message
    from terminus_core.hooks import Dispatcher
    from terminus_core.roles import (
        LLM,
        CompletionPolicy,
        ContextStrategy,
        Environment,
        Gate,
        ResponseParser,
        Session,
        SessionBackend,
    )
    from terminus_core.settings import Settings

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(slots=True)
class RunResult:
    """How a run ended and what it left.

    Attributes:
        status: ``completed``, ``max_episodes``, ``session_ended``, ``limit_reached``, ``error`` or ``cancelled``.
        reason: a short word or one line: which limit, which fault; ``""`` where the status says it all.
        n_episodes: episodes begun.
        totals: tokens and cost of the whole run, calls beside the chat included.
        files: the files that the run's observers made.
        rollout_details: token ids and log-probabilities of each answer, with ``collect_rollout_details``.
        metadata: what plugins have to add.
        error: the fault behind the status ``error``, if it was one of terminus_core's own.
    """

    status: RunStatus
    reason: str = ""
    n_episodes: int = 0
    totals: Usage = field(default_factory=Usage)
    files: list[Path] = field(default_factory=list)
    rollout_details: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    error: TerminusError | None = None

    def to_json(self) -> dict[str, Any]:
        """What ``--json`` prints, without rollout details, which can be large."""
        totals = {name: getattr(self.totals, name) for name in Usage.__slots__}
        return {
            "status": self.status,
            "reason": self.reason,
            "n_episodes": self.n_episodes,
            "totals": totals,
            "files": [str(path) for path in self.files],
            "metadata": self.metadata,
        }


class Run:
    """One run of an agent: what it works with, where it stands, and the acts that plugins may do.

    Attributes:
        instruction: the task as it was given.
        prepared_instruction: the task as the first prompt puts it, after the filters.
        session_id: unique id.
        logs_dir: the run's folder.
        settings: effective settings.
        environment: where commands run.
        parser: reads answers.
        llm: asks the model.
        completion: decides whether a claim counts.
        context: makes room in the model's window.
        gates: asked before anything is typed, in this order.
        observers: told what happens, in this order.
        session: the terminal, ``None`` until it is open.
        hooks: calls events and filters.
        plugins: name and version of each loaded plugin.
        chat: the conversation with the model.
        asides: tokens and cost of calls beside the chat.
        n_episodes: the episode that is under way, counted from 1.
        n_steps: steps recorded in the current trajectory segment.
        pending_completion: a claim of completion waits for its confirmation.
        summarization_count: how many times the history has been replaced.
        last_response_model_name: the newest model name that an answer gave, ``None`` before.
        rollout_details: one entry for each answer, calls beside the chat included, with ``collect_rollout_details``:
            ``episode``, ``kind`` (``turn``, or what an aside was for) and the token ids and log-probabilities given.
        files: files made so far; an observer appends each of its own, once.
        metadata: what plugins want to see in the result.
        result: set when the run has ended.
    """

    def __init__(  # noqa: PLR0913 - one value for each part
        self,
        *,
        instruction: str,
        session_id: str,
        logs_dir: Path,
        settings: Settings,
        environment: Environment,
        backend: SessionBackend,
        parser: ResponseParser,
        llm: LLM,
        completion: CompletionPolicy,
        context: ContextStrategy,
        gates: Sequence[Gate],
        observers: Sequence[Any],
        hooks: Dispatcher,
        plugins: Mapping[str, str],
    ) -> None:
        self.instruction = instruction
        self.prepared_instruction = instruction
        self.session_id = session_id
        self.logs_dir = logs_dir
        self.settings = settings
        self.environment = environment
        self.backend = backend
        self.parser = parser
        self.llm = llm
        self.completion = completion
        self.context = context
        self.gates = gates
        self.observers = observers
        self.hooks = hooks
        self.plugins = plugins
        self.session: Session | None = None
        self.chat: Chat = Chat(keep_reasoning=settings.agent.interleaved_thinking)
        self.asides: Usage = Usage()
        self.n_episodes: int = 0
        self.n_steps: int = 0
        self.pending_completion: bool = False
        self.summarization_count: int = 0
        self.last_response_model_name: str | None = None
        self.rollout_details: list[dict[str, Any]] = []
        self.files: list[Path] = []
        self.metadata: dict[str, Any] = {}
        self.result: RunResult | None = None
        self.stopped: tuple[RunStatus, str] | None = None
        self._said: list[str] = []
        self._images: list[ContentPart] = []

    @property
    def totals(self) -> Usage:
        """Tokens and cost so far: the chat's and those of calls beside it. Cost is ``None`` unless above zero."""
        totals = Usage(0, 0, 0)
        totals.add(self.chat.usage)
        totals.add(self.asides)
        totals.cost_usd = totals.cost_usd if totals.cost_usd and totals.cost_usd > 0 else None
        return totals

    # -- acts for plugins ----------------------------------------------------------------------------------------------

    def mark(self, label: str, kind: str = "note") -> None:
        """Tell marker recorders about a point in the run; with nobody listening nothing happens."""
        self.hooks.record_marker(self, Marker(label, kind, self.n_episodes))

    def say(self, text: str) -> None:
        """Put ``text`` in front of the next prompt; it is recorded as a step of its own."""
        self._said.append(text)

    def attach(self, parts: Sequence[ContentPart]) -> str:
        """Send the images among ``parts`` with the next prompt, and record them; gives the text among them."""
        self._images += [part for part in parts if part["type"] != "text"]
        return "\n".join(part.get("text", "") for part in parts if part["type"] == "text")

    def redact(self, value: T) -> T:
        """What an observer writes into a file, and has not from an event: a text, or data with texts in it, masked."""
        masked: T = redacted(value, partial(self.hooks.redact, self)) if self.hooks.redacts else value
        return masked

    def stop(self, status: RunStatus, reason: str = "") -> None:
        """End the run after this step. Completion in the same step wins; of several calls the first counts.

        Raises:
            ValueError: there is no such status.
        """
        if status not in get_args(RunStatus):
            raise ValueError(f"no status {status!r}; there are {', '.join(get_args(RunStatus))}")
        if self.stopped is None or status == "completed":
            self.stopped = (status, reason)

    def record_step(  # noqa: PLR0913 - the fields of a step
        self,
        source: Literal["system", "user", "agent"],
        message: str,
        *,
        response: LLMResponse | None = None,
        tool_calls: list[ToolCall] | None = None,
        results: list[ObservationResult] | None = None,
        extra: dict[str, Any] | None = None,
        model_name: str | None = None,
        is_copied_context: bool | None = None,
    ) -> Step:
        """Record a step and publish it; sinks save it before this returns.

        Args:
            source: who speaks.
            message: what the step says.
            response: the model's answer behind an agent step: reasoning and metrics come from it.
            tool_calls: what was asked for.
            results: what came back.
            extra: anything else.
            model_name: who answered, of an agent step.
            is_copied_context: the step repeats an earlier one at the head of a continuation.
        """
        self.n_steps += 1
        fields: dict[str, Any] = {
            "step_id": self.n_steps,
            "timestamp": datetime.now(UTC).isoformat(timespec="microseconds"),
            "source": source,
            "message": clean(message),
            "model_name": model_name,
            "reasoning_content": response.reasoning_content if response else None,
            "tool_calls": tool_calls or None,
            "observation": step_building.made(Observation, results=results) if results else None,
            "metrics": step_building.metrics(response) if response else None,
            "extra": extra,
            "is_copied_context": is_copied_context,
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        step = step_building.made(Step, **fields)
        self.hooks.step_recorded(self, step)
        return step

    async def ask_aside(
        self, kind: str, messages: list[Message], *, attempt: int = 1, max_output_tokens: int | None = None
    ) -> Subagent:
        """Ask the model something beside the chat; counted once, in :attr:`totals`.

        Args:
            kind: what it is for, such as ``summary``.
            messages: the whole request.
            attempt: which try of the same purpose in this run, for the name of its file.
            max_output_tokens: the most that the answer may have.

        Raises:
            RunLimitReached, LLMError: as for any call; :class:`ContextLengthExceededError` also, and nothing is sent,
                if ``max_output_tokens`` is not above zero.
        """
        if max_output_tokens is not None and max_output_tokens <= 0:
            raise ContextLengthExceededError(f"{kind}: no room for an answer")
        sent = self.hooks.prepare_messages(self, messages)
        # Providers want the definitions of the calls that stand in the history.
        has_calls = any(message["role"] == "tool" or message.get("tool_calls") for message in sent)
        tools = getattr(self.parser, "tools", None) if has_calls else None
        response = cleaned(await self.call_llm(sent, kind=kind, tools=tools, max_output_tokens=max_output_tokens))
        self.asides.add(response.usage)
        if images := [part for message in sent for part in _images_in(message["content"])]:
            self.files += (await keep_images(self.logs_dir, images))[1]
        subagent = Subagent(kind, list(sent), response, attempt)
        self.hooks.subagent_finished(self, subagent)
        return subagent

    def replace_history(self, messages: list[Message], prompt: str, subagents: Sequence[Subagent] = ()) -> None:
        """Swap the chat's history and hand over: the one home of continuations.

        Records a system step that refers to ``subagents``; with linear history a new segment begins with the new
        history as copied steps; then, in both modes, comes a user step with the hand-over.

        Args:
            messages: the new history; roles alternate and it ends with the assistant.
            prompt: the next prompt, which hands over.
            subagents: the calls that made it.
        """
        index = self.summarization_count + 1
        references = [
            SubagentTrajectoryRef(trajectory_path=each.trajectory_file, session_id=self.session_id)
            for each in subagents
        ]
        results = [ObservationResult(subagent_trajectory_ref=references)] if references else None
        self.record_step("system", f"The history was replaced (number {index}).", results=results)
        self.chat.replace(messages)
        self.summarization_count = index
        if self.settings.trajectory.linear_history:
            self.n_steps = 0
        self.hooks.history_replaced(self, Handoff(index, prompt, list(subagents)))
        if self.settings.trajectory.linear_history:
            for message in messages:
                self.record_step(**step_building.copied(message, self.last_response_model_name))
        self.record_step("user", prompt)
        self.mark(f"Summary {index}" if subagents else f"Replaced history {index}", "summary")

    # -- acts of the loop ----------------------------------------------------------------------------------------------

    def with_said(self, prompt: str) -> str:
        """``prompt`` with what was said since the last one in front; that is recorded as a step."""
        if not self._said:
            return prompt
        said = "\n\n".join(self._said)
        self._said.clear()
        self.record_step("user", said)
        return f"{said}\n\n{prompt}"

    async def with_images(self, observed: str) -> str | list[trajectory.ContentPart]:
        """An observation as its step records it: images that go with it are files beside the trajectory."""
        if not self._images:
            return observed
        kept, files = await keep_images(self.logs_dir, self._images)
        self.files += files
        return [trajectory.ContentPart(type="text", text=observed), *kept]

    def withdraw_images(self) -> bool:
        """Do not send the images that wait for the next prompt; whether there were any."""
        withdrawn, self._images = self._images, []
        return bool(withdrawn)

    async def ask(self, prompt: str) -> LLMResponse:
        """Put ``prompt`` to the model and keep the turn; a failed call leaves the chat as it was.

        The chat keeps the answer with half surrogate pairs replaced; what comes back has them still.

        Raises:
            RunLimitReached: the cost limit is reached.
            ContextLengthExceededError, LLMError: as of :meth:`LLM.call`.
        """
        asked = self.chat.prompt_messages(clean(prompt), self._images)
        messages = self.hooks.prepare_messages(self, [*self.chat.messages, *asked])
        response = await self.call_llm(messages, tools=getattr(self.parser, "tools", None))
        kept = cleaned(response)
        self.chat.add_turn(asked, kept)
        self._images = []
        if kept.model_name:
            self.last_response_model_name = kept.model_name
        return response

    async def call_llm(
        self,
        messages: list[Message],
        *,
        kind: str = "turn",
        tools: list[dict[str, Any]] | None = None,
        max_output_tokens: int | None = None,
    ) -> LLMResponse:
        """One model call, limits and rollouts included; counting is the caller's.

        Args:
            messages: the whole request.
            kind: what it is for, noted with the rollout: ``turn``, or an aside's kind.
            tools: native tool definitions.
            max_output_tokens: the most that the answer may have.

        Raises:
            RunLimitReached, ContextLengthExceededError, LLMError: as of :meth:`ask`.
        """
        limit = self.settings.agent.max_cost_usd
        if limit is not None and (self.totals.cost_usd or 0.0) >= limit:
            raise RunLimitReached("max_cost_usd", f"the run has cost {limit:g} US dollars")
        request = LLMRequest(messages, tools, max_output_tokens, lambda n: self.hooks.request_started(self, n))
        response = regular(await self.llm.call(request))
        cost = response.usage.cost_usd if response.usage else None
        if limit is not None and cost is None and not hasattr(self.llm, "knows_price"):
            raise RunLimitReached("max_cost_usd", f"{self.llm.model_name} does not tell what its answers cost")
        if self.settings.agent.collect_rollout_details:
            self.rollout_details.append(step_building.rollout(response, kind, self.n_episodes))
        return response

    def finish(self, fault: BaseException | None) -> RunResult:
        """Set and give the result that belongs to what ended the run."""
        error: TerminusError | None = None
        if fault is None:
            status, reason = self.stopped or ("max_episodes", "")
        elif isinstance(fault, RunLimitReached):
            status, reason = "limit_reached", fault.reason
        elif isinstance(fault, SessionClosedError):
            status, reason = "session_ended", str(fault)
        elif isinstance(fault, anyio.get_cancelled_exc_class()):
            status, reason = "cancelled", ""
        elif isinstance(fault, TerminusError):
            status, reason, error = "error", str(fault), fault
        else:
            status, reason = "error", f"{type(fault).__name__}: {fault}"
        reason = self.redact(reason)
        self.result = RunResult(
            status=status,
            reason=reason,
            n_episodes=self.n_episodes,
            totals=self.totals,
            files=self.files,
            rollout_details=self.rollout_details,
            metadata=self.metadata,
            error=error,
        )
        return self.result

    async def screen(self) -> str:
        """The visible screen, filtered and limited; a text that says so if there is none to be had."""
        assert self.session is not None  # noqa: S101 - the loop has checked
        try:
            rows = await self.session.capture_pane()
        except (TimeoutError, TerminusError):
            return "(not available)"
        return limited(clean(self.hooks.filter_observation(self, rows)), self.settings.agent.output_limit_bytes)

    async def look(self) -> str:
        """The terminal's new text, filtered, limited and with its heading.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as of :meth:`Session.get_incremental_output`.
        """
        assert self.session is not None  # noqa: S101 - the loop has checked
        seen = await self.session.get_incremental_output()
        rows = self.hooks.filter_observation(self, seen)
        return terminal_text(seen, clean(rows), self.settings.agent.output_limit_bytes)


def _images_in(content: Content) -> list[ContentPart]:
    return [] if isinstance(content, str) else [part for part in content if part["type"] == "image_url"]


def new_logs_dir(session_id: str) -> Path:
    """The default folder of a run: ``terminus-runs/<time>-<id>`` in the working folder, whatever the id holds."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", session_id[:8])
    return Path("terminus-runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
