"""The state of one run, and the few acts on it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from terminus_core import model_calls, step_building, texts, trajectory
from terminus_core.chat import Chat, Usage
from terminus_core.errors import TerminusError
from terminus_core.images import keep_images
from terminus_core.journal import Journal
from terminus_core.part_rules import returned
from terminus_core.result import RunResult, end_of
from terminus_core.secrets import redacted
from terminus_core.trajectory import Observation, ObservationResult, Step, SubagentTrajectoryRef, ToolCall
from terminus_core.values import Handoff, Marker, RunStatus, Subagent, TerminalText

if TYPE_CHECKING:
    from terminus_core.chat import ContentPart, LLMResponse, Message
    from terminus_core.hooks import Hooks
    from terminus_core.roles import (
        LLM,
        Action,
        CompletionPolicy,
        ContextStrategy,
        Environment,
        Gate,
        ResponseParser,
        Session,
        SessionBackend,
    )
    from terminus_core.settings import Settings

T = TypeVar("T")


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
        actions: what replies may ask for beside keystrokes, by name; those that can work here, once the run has begun.
        gates: asked before anything is typed, in this order.
        observers: told what happens, in this order.
        backend: opens the session.
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
        journal: keeps what must not be lost, before anything else is done with it.
        waiting_images: go to the model with the next prompt.
        rollout_details: one entry for each answer, calls beside the chat included, with ``collect_rollout_details``:
            ``episode``, ``kind`` (``turn``, or what an aside was for) and the token ids and log-probabilities given.
        files: files made so far; an observer appends each of its own, once.
        incomplete: files that could not be written to their end, with the reason of each.
        failed_observers: names of the observers that could not be entered or left.
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
        actions: Mapping[str, Action],
        gates: Sequence[Gate],
        observers: Sequence[Any],
        hooks: Hooks,
        plugins: Mapping[str, str],
        names: Mapping[int, str],
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
        self.actions = actions
        self.gates = gates
        self.observers = observers
        self.hooks = hooks
        self.plugins = plugins
        self._names = names
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
        self.incomplete: dict[str, str] = {}
        self.failed_observers: list[str] = []
        self.waiting_images: list[ContentPart] = []
        self.result: RunResult | None = None
        self.stopped: tuple[RunStatus, str] | None = None
        self.journal: Journal = Journal(logs_dir, self.redact, self.mark_incomplete)
        self._said: list[str] = []
        self._asides: dict[str, int] = {}

    @property
    def totals(self) -> Usage:
        """Tokens and cost so far: the chat's and those of calls beside it. Cost is ``None`` unless above zero."""
        totals = Usage(0, 0, 0)
        totals.add(self.chat.usage)
        totals.add(self.asides)
        totals.cost_usd = totals.cost_usd if totals.cost_usd and totals.cost_usd > 0 else None
        return totals

    def who(self, part: Any) -> str:
        """A part as messages name it, with its plugin and distribution."""
        return self._names.get(id(part)) or repr(getattr(part, "name", type(part).__name__))

    # -- acts for plugins ----------------------------------------------------------------------------------------------

    def mark(self, label: str, kind: str = "note") -> None:
        """Tell marker recorders about a point in the run; with nobody listening nothing happens."""
        self.hooks.record_marker(self, Marker(label, kind, self.n_episodes, time.time()))

    def say(self, text: str) -> None:
        """Put ``text`` in front of the next prompt; it is recorded as a step of its own."""
        self._said.append(text)

    def attach(self, parts: Sequence[ContentPart]) -> str:
        """Send the images among ``parts`` with the next prompt, and record them; gives the text among them."""
        self.waiting_images += [part for part in parts if part["type"] != "text"]
        return "\n".join(part.get("text", "") for part in parts if part["type"] == "text")

    def redact(self, value: T) -> T:
        """What an observer writes into a file, and has not from an event: a text, or data with texts in it, masked."""
        masked: T = redacted(value, partial(self.hooks.redact, self)) if self.hooks.redacts else value
        return masked

    def mark_incomplete(self, path: Path, reason: str) -> None:
        """Note that a file of this run could not be written to its end; the result and the exit code say so."""
        self.incomplete[str(path)] = reason

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
            "message": texts.clean(message),
            "model_name": model_name,
            "reasoning_content": response.reasoning_content if response else None,
            "tool_calls": tool_calls or None,
            "observation": step_building.build(Observation, results=results) if results else None,
            "metrics": step_building.metrics(response) if response else None,
            "extra": extra,
            "is_copied_context": is_copied_context,
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        step: Step = step_building.build(Step, **fields)
        self.hooks.step_recorded(self, step, self.segment)
        return step

    async def ask_aside(
        self,
        kind: str,
        messages: list[Message],
        *,
        attempt: int | None = None,
        group: str = "",
        max_output_tokens: int | None = None,
    ) -> Subagent:
        """Ask the model something beside the chat; counted once, in :attr:`totals`.

        Args:
            kind: what it is for, such as ``judge``.
            messages: the whole request.
            attempt: its number among the calls of this kind, for the name of its file; by default the next one.
            group: several kinds that belong together, such as ``summarization``: a part of the file's name.
            max_output_tokens: the most that the answer may have.

        Raises:
            RunLimitReached, LLMError: as for any call; :class:`ContextLengthExceededError` also, and nothing is sent,
                if ``max_output_tokens`` is not above zero.
        """
        return await model_calls.ask_aside(
            self, kind, messages, attempt=attempt, group=group, max_output_tokens=max_output_tokens
        )

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

    @property
    def segment(self) -> int:
        """The document that the next step belongs to, counted from 0: one for each replaced history, if linear."""
        return self.summarization_count if self.settings.trajectory.linear_history else 0

    def next_aside(self, kind: str) -> int:
        """The number of the next call beside the chat of this kind, counted from 1."""
        self._asides[kind] = self._asides.get(kind, 0) + 1
        return self._asides[kind]

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
        if not self.waiting_images:
            return observed
        kept, files = await keep_images(self.logs_dir, self.waiting_images)
        self.files += files
        return [trajectory.ContentPart(type="text", text=observed), *kept]

    def withdraw_images(self) -> bool:
        """Do not send the images that wait for the next prompt; whether there were any."""
        withdrawn, self.waiting_images = self.waiting_images, []
        return bool(withdrawn)

    def finish(self, fault: BaseException | None, *, by_plugin: bool = False) -> RunResult:
        """Set and give the result that belongs to what ended the run.

        Args:
            fault: what was raised, if anything.
            by_plugin: a bug lies in a plugin, not in the core.
        """
        end = end_of(fault, self.stopped, by_plugin=by_plugin)
        self.result = RunResult(
            status=end.status,
            reason=self.redact(end.reason),
            error_kind=end.error_kind,
            n_episodes=self.n_episodes,
            totals=self.totals,
            files=self.files,
            rollout_details=self.rollout_details,
            metadata=self.metadata,
            error=end.error,
            session_id=self.session_id,
            logs_dir=self.logs_dir,
            incomplete=self.incomplete,
            failed_observers=self.failed_observers,
        )
        return self.result

    @property
    def open_session(self) -> Session:
        """The terminal, which the loop has found open."""
        if self.session is None:
            raise RuntimeError("Session is not set. This should never happen.")
        return self.session

    async def screen(self) -> str:
        """The visible screen, filtered and limited; a text that says so if there is none to be had."""
        try:
            rows = await self.open_session.capture_pane()
        except (TimeoutError, TerminusError):
            return "(not available)"
        rows = texts.clean(
            self.hooks.filter_observation(self, returned(self.who(self.backend), "capture_pane", rows, str))
        )
        return texts.limited(rows, self.settings.agent.output_limit_bytes, notice=self.parser.limit_notice)

    async def look(self) -> str:
        """The terminal's new text, filtered, limited and with its heading.

        Raises:
            TimeoutError, SessionClosedError, EnvironmentFailedError: as of :meth:`Session.get_incremental_output`.
        """
        seen = await self.open_session.get_incremental_output()
        seen = returned(self.who(self.backend), "get_incremental_output", seen, TerminalText)
        rows = texts.clean(self.hooks.filter_observation(self, seen))
        limit = self.settings.agent.output_limit_bytes
        shown = texts.limited(rows, limit, seen.rows_left_out, self.parser.limit_notice)
        return f"{self.parser.heading(seen.kind)}\n{shown}"
