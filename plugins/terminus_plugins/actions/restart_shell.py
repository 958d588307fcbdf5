"""The action ``restart_shell``: a fresh shell in place of one that is stuck."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from terminus_core import Action

if TYPE_CHECKING:
    from terminus_core import Run


@dataclass(slots=True)
class RestartShell(Action):
    """Ends whatever runs in the terminal; where the session cannot do that, it says so."""

    arguments: dict[str, Any] = field(default_factory=dict)
    name: str = "restart_shell"

    async def perform(self, run: Run) -> str:
        """What the new shell shows."""
        restart = getattr(run.session, "restart", None)
        if restart is None:
            return "The shell cannot be restarted here."
        try:
            await restart()
            return f"The shell was restarted; what ran in it was ended.\n{await run.look()}"
        except TimeoutError:
            return "The terminal did not come back after the restart of its shell."
