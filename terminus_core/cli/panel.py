"""The live panel: where a run stands, below the lines of what has happened."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import click

from terminus_core.cli.activity import Activity
from terminus_core.cli.live import LiveView, failed_request, spent
from terminus_core.cli.panel_lines import PanelLines, rows_of
from terminus_core.cli.printing import literal
from terminus_core.errors import TerminusError
from terminus_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse, RequestFailure
    from terminus_core.run import Run
    from terminus_core.values import Command, ParseResult, SessionEvent

REFRESH_SEC = 0.25
"""Between two pictures."""
ROWS = 12
"""How many of the terminal's last rows are shown, at most."""
RULE = 24
"""Cells of the line above the panel."""
TEXT_ROWS = 2
"""How many rows task and plan may take each."""


class PanelView(LiveView):
    """The lines of a live view, and below them task, model, cost, what goes on, the plan, and the terminal.

    Args:
        lines: the terminal.
    """

    def __init__(self, lines: PanelLines) -> None:
        super().__init__(lines)
        self._terminal = lines
        self._activity = Activity()
        self._started = time.monotonic()
        self._plan = ""
        self._rows: list[str] = []
        self._changed = False
        self._stop_listening: Callable[[], None] = lambda: None

    async def follow(self) -> None:
        """Draw until cancelled; then the panel is gone."""
        try:
            while True:
                await self._look()
                self._terminal.draw(self._picture(*self._terminal.size))
                await anyio.sleep(REFRESH_SEC)
        finally:
            self._stop_listening()
            self._terminal.clear()

    # -- what happens --------------------------------------------------------------------------------------------------

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Listen, so that the terminal is looked at only when it has changed."""
        super().terminus_run_started(run)
        if run.session is not None:
            self._stop_listening = run.session.listen(self._note)

    @hookimpl
    def terminus_request_started(self, run: Run, attempt: int) -> None:
        """Count the seconds until the answer."""
        super().terminus_request_started(run, attempt)
        self._activity.ask(attempt)

    @hookimpl
    def terminus_request_failed(self, run: Run, failure: RequestFailure) -> None:
        """Say why it takes longer."""
        super().terminus_request_failed(run, failure)
        self._activity.retry(failed_request(failure))

    @hookimpl
    def terminus_response_received(self, run: Run, response: LLMResponse, reply: ParseResult) -> None:
        """Keep the plan."""
        super().terminus_response_received(run, response, reply)
        self._plan = reply.plan or self._plan
        self._activity.answered([] if reply.error else list(reply.commands))

    @hookimpl
    def terminus_command_sent(self, run: Run, command: Command, index: int) -> None:
        """Go on to the next command."""
        super().terminus_command_sent(run, command, index)
        self._activity.finished(index)

    def _note(self, event: SessionEvent) -> None:
        if event.kind == "input":
            self._activity.typed()
        self._changed = self._changed or event.kind in {"output", "screen"}

    async def _look(self) -> None:
        if not self._changed or self.run is None or self.run.session is None:
            return
        self._changed = False
        try:
            screen = await self.run.session.capture_pane()
        except (TerminusError, TimeoutError):
            return  # the run itself will say what is wrong
        self._rows = [literal(row) for row in self.run.redact(screen).splitlines() if row.strip()][-ROWS:]

    # -- the picture ---------------------------------------------------------------------------------------------------

    def _picture(self, columns: int, rows: int) -> list[str]:
        """Rows narrower than the terminal, so that none of them wraps, and fewer than it has."""
        width = columns - 1
        seconds = int(time.monotonic() - self._started)
        facts = [("now", str(self._activity), {"bold": True})]
        if self.run is not None:
            run = self.run
            place = f"episode {run.n_episodes}, {seconds // 60}:{seconds % 60:02d}"
            facts = [
                ("task", run.redact(run.instruction), {}),
                ("model", f"{run.llm.model_name}, {place}", {}),
                ("spent", spent(run.totals), {}),
                *facts,
                ("plan", self._plan, {"italic": True}),
            ]
        rule = click.style("\u2500" * min(width, RULE), dim=True)
        picture = [rule]
        for name, text, style in facts:
            picture += self._fact(name, literal(text.strip()), width, style)
        room = min(ROWS, rows * 3 // 4 - len(picture))  # a narrower terminal wraps rows: leave it some
        folded = [each for row in self._rows for each in rows_of(row, width - 2, ROWS)]
        if folded and room > 1:
            bar = click.style("\u2502 ", dim=True)
            picture += [rule, *[bar + row for row in folded[-(room - 1) :]]]
        return picture[: max(1, rows - 1)]

    @staticmethod
    def _fact(name: str, text: str, width: int, style: dict[str, bool]) -> list[str]:
        if not text:
            return []
        indent = 6
        most = TEXT_ROWS if name in {"task", "plan"} else ROWS
        first, *rest = rows_of(text, width - indent, most, **style)
        return [click.style(name.ljust(indent), dim=True) + first, *[" " * indent + row for row in rest]]
