"""Context strategy ``none``: the chat grows until the model's window is full; then the run ends."""

from __future__ import annotations

from typing import ClassVar

from terminus_core import ContextStrategy, Run, RunLimitReached, hookimpl


class NoStrategy(ContextStrategy):
    """Never touches the chat."""

    name: ClassVar[str] = "none"

    async def before_request(self, run: Run, prompt: str) -> str:  # noqa: ARG002 - the protocol's argument
        """The prompt as it is."""
        return prompt

    async def on_context_length_exceeded(self, run: Run, prompt: str) -> str:  # noqa: ARG002 - the protocol's arguments
        """End the run.

        Raises:
            RunLimitReached: always, with the reason ``context``.
        """
        raise RunLimitReached("context", "the model's window is full and the context strategy is 'none'")


@hookimpl
def terminus_register_context_strategies() -> list[type[ContextStrategy]]:
    """Bring ``none``."""
    return [NoStrategy]
