"""Completion policy ``two_step``: a claim of completion counts when the model repeats it in its next usable answer."""

from __future__ import annotations

from typing import ClassVar

from terminus_core import Completion, CompletionPolicy, Run, Turn, hookimpl


class TwoStep(CompletionPolicy):
    """Asks once, in the parser's words, before it believes a claim."""

    name: ClassVar[str] = "two_step"

    async def decide(self, run: Run, turn: Turn) -> Completion:
        """Done on a second claim in direct sequence whose commands could be read."""
        confirmed = run.pending_completion and turn.reply.is_task_complete and not turn.reply.commands_unusable
        run.pending_completion = turn.reply.is_task_complete
        if confirmed or not turn.reply.is_task_complete:
            return Completion(turn.observation, done=confirmed)
        return Completion(run.parser.completion_confirmation(turn.observation))


@hookimpl
def terminus_register_completion_policies() -> list[type[CompletionPolicy]]:
    """Bring ``two_step``."""
    return [TwoStep]
