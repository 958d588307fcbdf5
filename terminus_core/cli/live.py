"""The live view: one plain line for each event of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from terminus_core.cli.printing import Lines, literal, shorten
from terminus_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse, RequestFailure, Usage
    from terminus_core.result import RunResult
    from terminus_core.run import Run
    from terminus_core.trajectory import Step
    from terminus_core.values import Command, Handoff, ParseResult

LINE = 160
"""Characters of one event's own text that are shown."""


class LiveView:
    """An observer that prints what happens as it happens, and keeps the run and its result for the summary.

    Args:
        lines: where it prints; ``None`` prints nothing.
    """

    name: ClassVar[str] = "live"

    def __init__(self, lines: Lines | None) -> None:
        self._lines = lines
        self.run: Run | None = None
        self.result: RunResult | None = None
        self.last_words = ""
        """The plan of the newest response, or what stood in its place."""
        self._asked: list[Command] = []
        self._sent = 0
        self._failed_attempt = 0

    async def follow(self) -> None:
        """Runs beside the run, for views that draw; lines need nothing."""

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Say which parts are at work and how to watch them."""
        self.run = run
        agent = run.settings.agent
        parts = f"llm {agent.llm}, parser {agent.parser}, session {agent.session}, environment {agent.environment}"
        self._say("", f"{run.llm.model_name} ({parts})", bold=True)
        if run.session is not None and run.session.attach_command:
            watch = run.environment.command_to_reach(run.session.attach_command)
            self._write(f"to watch: {literal(watch)}")  # whole, however long: it is there to be copied
        self._say("", f"task: {run.redact(run.instruction).strip()}")

    @hookimpl(trylast=True)
    def terminus_filter_observation(self, run: Run, text: str) -> None:
        """Show how much the terminal said, and its last whole row: the very last one is mostly a prompt."""
        if run.n_episodes == 0:
            return
        rows = [row for row in text.splitlines() if row.strip()]
        last = f": {rows[-2:][0].strip()}" if rows else ""
        self._say(_place(run), f"< {_count(len(rows), 'row')}, {_count(len(text.encode()), 'byte')}{last}", dim=True)

    @hookimpl
    def terminus_request_failed(self, run: Run, failure: RequestFailure) -> None:
        """Tell why a request will be sent again, and when."""
        self._failed_attempt = failure.attempt
        self._say(_place(run), failed_request(failure), fg="yellow")

    @hookimpl
    def terminus_request_started(self, run: Run, attempt: int) -> None:
        """Tell about requests that are sent again, if the LLM did not say why."""
        if attempt > 1 and self._failed_attempt != attempt - 1:
            self._say(_place(run), f"asking again (attempt {attempt})", fg="yellow")

    @hookimpl
    def terminus_response_received(self, run: Run, response: LLMResponse, reply: ParseResult) -> None:
        """Say what the model is about, what it asks to type, and what it has cost so far."""
        self._asked, self._sent = list(reply.commands), 0
        about = " \u2014 ".join(shorten(text.strip(), LINE) for text in (reply.analysis, reply.plan) if text.strip())
        if not about and not reply.error:
            about = shorten(response.content.strip(), LINE) or "an empty answer"
        if about:
            self._say(_place(run), about, bold=True)
        self.last_words = (reply.plan or reply.analysis or response.content).strip() or self.last_words
        self._say(_place(run), spent(run.totals), dim=True)
        if reply.error:
            self._say(_place(run), f"the answer could not be used: {reply.error}", fg="yellow")
        if reply.warning:
            self._say(_place(run), f"warnings: {reply.warning}", fg="yellow")
        if reply.is_task_complete:
            self._say(_place(run), "says that the task is complete")
        for command in reply.commands:
            self._say(_place(run), _typed(command), fg="cyan")

    @hookimpl
    def terminus_command_sent(self, run: Run, command: Command, index: int) -> None:  # noqa: ARG002 - for views below
        """Show what was typed if it is not what the model asked for: gates may change it."""
        self._sent += 1
        if command not in self._asked:
            self._say(_place(run), f"instead {_typed(command)}", fg="cyan")

    @hookimpl
    def terminus_step_recorded(self, run: Run, step: Step) -> None:
        """Tell if commands were not typed, and why: the observation says it."""
        if step.source == "agent" and self._sent < len(self._asked) and step.observation:
            why = step.observation.results[0].content
            self._say(_place(run), f"{self._sent} of {_count(len(self._asked), 'command')} typed: {why}", fg="yellow")

    @hookimpl
    def terminus_history_replaced(self, run: Run, handoff: Handoff) -> None:
        """Tell that the chat was made shorter."""
        self._say(_place(run), f"the chat's history was replaced (number {handoff.index})")

    @hookimpl
    def terminus_run_finished(self, result: RunResult) -> None:
        """Keep the result: after a cancel nobody else has it."""
        self.result = result

    def _say(self, place: str, text: str, **style: object) -> None:
        self._write(place + shorten(text, 2 * LINE + 20), **style)

    def _write(self, line: str, **style: object) -> None:
        if self._lines is not None:
            self._lines.write(line, **style)


def failed_request(failure: RequestFailure) -> str:
    """Why, how long, and which attempt is next."""
    attempt = f"attempt {failure.attempt + 1} of {failure.max_attempts}"
    return f"retrying in {failure.pause_sec:.1f} s ({attempt}): {failure.reason}"


def spent(totals: Usage) -> str:
    """Tokens and cost in words."""
    cached = f" ({totals.cache_tokens:,} cached)" if totals.cache_tokens else ""
    cost = f", ${totals.cost_usd:.4f}" if totals.cost_usd else ""
    return f"tokens: {totals.prompt_tokens or 0:,} in{cached}, {totals.completion_tokens or 0:,} out{cost}"


def _typed(command: Command) -> str:
    return f"> {command.keystrokes}" if command.keystrokes else f"> (waits {command.duration_sec:g} seconds)"


def _place(run: Run) -> str:
    return f"[{run.n_episodes}] "


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")
