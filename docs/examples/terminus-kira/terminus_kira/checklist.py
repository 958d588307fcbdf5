"""A claim of completion is asked back with the task and three pairs of eyes."""

from __future__ import annotations

from typing import ClassVar

from terminus_core import Completion, CompletionPolicy, Run, Turn

QUESTION = """\
{observation}

You have called task_complete. Before it counts, read the task once more:
<task>
{task}
</task>

Go through your work as each of these people would:
1. A test engineer: does every requirement hold, at the edges too, with other inputs of the same kind?
2. A reviewer: is nothing hard-coded, left over or changed that the task does not ask for?
3. The person who asked: is it where they look for it, in the form that they asked for?

If one of them would object, go on with execute_commands. If none would, call task_complete again."""


class KiraChecklist(CompletionPolicy):
    """Done on the second claim in a row."""

    name: ClassVar[str] = "kira"

    async def decide(self, run: Run, turn: Turn) -> Completion:
        """Ask back once."""
        claimed = turn.reply.is_task_complete
        confirmed = claimed and run.pending_completion
        run.pending_completion = claimed
        if claimed and not confirmed:
            return Completion(QUESTION.format(observation=turn.observation, task=run.instruction))
        return Completion(turn.observation, done=confirmed)
