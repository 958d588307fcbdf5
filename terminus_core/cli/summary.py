"""How a run ended, for a person."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from terminus_core.agent import MAX_CUT_ANSWERS, MAX_UNUSABLE_ANSWERS
from terminus_core.cli.live import spent
from terminus_core.cli.printing import Lines, literal, shorten

if TYPE_CHECKING:
    from terminus_core.cli.live import LiveView
    from terminus_core.result import RunResult

_STATUS = {
    "max_episodes": "stopped after the last episode allowed (agent.max_episodes)",
    "session_ended": "the terminal's shell has ended",
    "limit_reached": "stopped at a limit",
    "cancelled": "interrupted",
}
_LIMITS = {
    "max_cost_usd": "stopped at the cost limit (agent.max_cost_usd)",
    "max_time_sec": "stopped at the time limit (agent.max_time_sec)",
    "unusable_answers": f"stopped after {MAX_UNUSABLE_ANSWERS} responses in a row that could not be used",
    "cut_answers": f"stopped after {MAX_CUT_ANSWERS} responses in a row that were cut at the output limit",
    "context": "stopped because the model's context window has no room left",
}
LONGEST = 2000
"""Characters of a reason or of the model's last words that are shown."""


def summarize(result: RunResult, lines: Lines, view: LiveView, seconds: float) -> None:
    """Print what was asked, how it ended in plain words, what it took, the last words, and where everything is."""
    style = {"fg": "green" if result.status == "completed" else "red", "bold": True}
    lines.write(_how(result), **style)
    if view.run is None:
        return
    run = view.run
    episodes = "1 episode" if result.n_episodes == 1 else f"{result.n_episodes:,} episodes"
    lines.write(f"asked: {shorten(run.redact(run.instruction).strip(), LONGEST)}")
    lines.write(f"{episodes}, {spent(result.totals)}, {_duration(seconds)}")
    if view.last_words:
        lines.write(f"last words: {shorten(run.redact(view.last_words), LONGEST)}")
    for path in result.files:
        lines.write(f"{path.name.split('.')[0]}: {literal(str(path))}")
    folder = run.logs_dir.absolute()
    lines.write(f"folder: {literal(str(folder))}")
    lines.write(f"next: terminus view {literal(shlex.quote(str(folder)))}")


def _how(result: RunResult) -> str:
    words = _LIMITS.get(result.reason) or _STATUS.get(result.status, "")
    if result.status == "error":
        return "error"  # its reason is a line of its own on stderr
    reason = shorten(result.reason, LONGEST)
    told = f"{result.status}: {reason}" if reason else result.status
    return f"{told} \u2014 {words}" if words else told


def _duration(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} seconds"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min {rest:02d} s" if hours else f"{minutes} min {rest:02d} s"


def absolute(path: Any) -> Path:
    """The path of a file of the run, which a plugin may have noted as a text, or as anything."""
    return Path(path if isinstance(path, os.PathLike) else str(path)).absolute()
