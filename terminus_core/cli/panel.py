"""The live panel: where a run stands, on a terminal that a person looks at."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, TextIO

import anyio
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel as Frame
from rich.text import Text

from terminus_core.cli.live import LINE, LiveView, spent
from terminus_core.cli.printing import literal, shorten
from terminus_core.errors import TerminusError
from terminus_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable

    from terminus_core.chat import LLMResponse
    from terminus_core.run import Run
    from terminus_core.values import ParseResult, SessionEvent

REFRESH_SEC = 0.25
"""Between two pictures."""
EVENTS = 6
"""How many of the newest events are shown."""
ROWS = 12
"""How many of the terminal's last rows are shown, at most."""
OTHER_ROWS = 18
"""How many rows all else may take: frames, state, how to watch, plan, events."""


class PanelView(LiveView):
    """A live view that shows the newest events, the plan and the terminal in place, instead of line after line.

    Args:
        stream: the terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(None)
        self._console = Console(file=stream)
        self._events: deque[Text] = deque(maxlen=EVENTS)
        self._started = time.monotonic()
        self._plan = ""
        self._rows: list[str] = []
        self._changed = False
        self._stop_listening: Callable[[], None] = lambda: None

    async def follow(self) -> None:
        """Draw until cancelled; then the panel is gone and the terminal is as it was."""
        with Live(self._draw(), console=self._console, auto_refresh=False, transient=True) as live:
            try:
                while True:
                    await anyio.sleep(REFRESH_SEC)
                    await self._look()
                    live.update(self._draw(), refresh=True)
            finally:
                self._stop_listening()

    @hookimpl
    def terminus_run_started(self, run: Run) -> None:
        """Listen, so that the terminal is looked at only when it has changed."""
        super().terminus_run_started(run)
        if run.session is not None:
            self._stop_listening = run.session.listen(self._note)

    @hookimpl
    def terminus_response_received(self, run: Run, response: LLMResponse, reply: ParseResult) -> None:
        """Keep the plan."""
        super().terminus_response_received(run, response, reply)
        self._plan = reply.plan or self._plan

    def _note(self, event: SessionEvent) -> None:
        self._changed = self._changed or event.kind in {"output", "screen"}

    async def _look(self) -> None:
        if not self._changed or self.run is None or self.run.session is None:
            return
        self._changed = False
        try:
            screen = await self.run.session.capture_pane()
        except (TerminusError, TimeoutError):
            return  # the run itself will say what is wrong
        self._rows = [row for row in self.run.redact(screen).splitlines() if row.strip()][-ROWS:]

    def _say(self, place: str, text: str, **style: Any) -> None:
        words = [style["fg"]] if style.get("fg") else []
        words += [word for word in ("bold", "dim") if style.get(word)]
        self._events.append(
            Text(place + shorten(text, 2 * LINE), style=" ".join(words), overflow="ellipsis", no_wrap=True)
        )

    def _draw(self) -> Frame:
        seconds = int(time.monotonic() - self._started)
        state = f"{seconds // 60}:{seconds % 60:02d}"
        watch = None
        if self.run is not None:
            watch = getattr(self.run.session, "attach_command", None)
            state = f"episode {self.run.n_episodes} \u00b7 {state} \u00b7 {spent(self.run.totals)}"
        parts: list[Any] = [Text(state, style="bold")]
        if watch:
            parts.append(Text(f"to watch: {literal(watch)}", style="dim", overflow="fold"))
        if self._plan:
            parts.append(Text(f"plan: {shorten(self._plan, 2 * LINE)}", style="italic"))
        parts += [Text(""), *self._events]
        if self._rows:
            fitting = max(3, self._console.height - OTHER_ROWS)
            shown = [literal(row) for row in self._rows[-fitting:]]
            rows = Text("\n".join(shown), overflow="ellipsis", no_wrap=True)
            parts += [Text(""), Frame(rows, title="terminal", title_align="left", border_style="dim")]
        return Frame(Group(*parts), title="terminus", title_align="left")
