"""The action ``restart_shell``: a fresh shell in place of one that is stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from terminus_core import Action, hookimpl

if TYPE_CHECKING:
    from terminus_core import Run


class RestartShell(Action):
    """Ends whatever runs in the terminal and starts a fresh shell."""

    name: ClassVar[str] = "restart_shell"
    description: ClassVar[str] = (
        "Ends whatever runs in the terminal, after the commands of this answer, and starts a fresh shell. "
        "For a terminal that reacts to nothing else."
    )
    parameters: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}}
    max_per_reply: ClassVar[int | None] = 1

    def is_available(self, run: Run) -> bool:
        """Only where the session can do it."""
        return "restart" in run.open_session.capabilities

    async def perform(self, run: Run, arguments: dict[str, Any]) -> str:  # noqa: ARG002 - it takes none
        """What the new shell shows."""
        try:
            await run.open_session.restart()
            return f"The shell was restarted; what ran in it was ended.\n{await run.look()}"
        except TimeoutError:
            return "The terminal did not come back after the restart of its shell."


@hookimpl
def terminus_register_actions() -> list[type[Action]]:
    """Bring ``restart_shell``."""
    return [RestartShell]
