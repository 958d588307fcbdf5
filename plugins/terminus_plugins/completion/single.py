"""Completion policy ``single``: the first claim of completion counts."""

from __future__ import annotations

from typing import ClassVar

from terminus_core import Completion, CompletionPolicy, Run, Turn, hookimpl


class Single(CompletionPolicy):
    """Believes a claim at once, if the commands beside it could be read."""

    name: ClassVar[str] = "single"

    async def decide(self, run: Run, turn: Turn) -> Completion:
        """Done on a claim; one whose commands were unusable is asked about."""
        done = turn.reply.is_task_complete and not turn.reply.commands_unusable
        if turn.reply.is_task_complete and not done:
            return Completion(run.parser.completion_confirmation(turn.observation))
        return Completion(turn.observation, done=done)


@hookimpl
def terminus_register_completion_policies() -> list[type[CompletionPolicy]]:
    """Bring ``single``."""
    return [Single]
