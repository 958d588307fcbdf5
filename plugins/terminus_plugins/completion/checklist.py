"""Completion policy ``checklist``: a claim counts when the model repeats it after going through a list."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from terminus_core import Completion, CompletionPolicy, Run, Turn, hookimpl

ITEMS = (
    "Every requirement of the task is met, also those named only once, and nothing was done that it forbids.",
    "Names, paths, formats and numbers are exactly those that the task asks for.",
    "The result was run or looked at after its last change, and that showed what was expected.",
    "It still works in a fresh shell, without what only this terminal knows.",
    "Files, processes and settings that were made only on the way are gone.",
)


class Checklist(CompletionPolicy):
    """Asks once, with the task as it was given and a list to go through, before it believes a claim."""

    name: ClassVar[str] = "checklist"

    class Config(BaseModel):
        """``[completion.checklist]``."""

        model_config = ConfigDict(extra="forbid")

        items: list[str] = Field(list(ITEMS), min_length=1, description="what the model is to check before it confirms")

    def __init__(self, config: Config) -> None:
        self._items = config.items

    async def decide(self, run: Run, turn: Turn) -> Completion:
        """Done on a second claim in direct sequence whose commands could be read."""
        claimed = turn.reply.is_task_complete
        confirmed = run.pending_completion and claimed and not turn.reply.commands_unusable
        run.pending_completion = claimed
        if confirmed or not claimed:
            return Completion(turn.observation, done=confirmed)
        items = "\n".join(f"{number}. {item}" for number, item in enumerate(self._items, start=1))
        question = run.parser.completion_confirmation(turn.observation)
        return Completion(
            f"{question}\n\nThe task was:\n{run.instruction}\n\n"
            f"Before you confirm, check each of these, with commands where a look can tell:\n{items}"
        )


@hookimpl
def terminus_register_completion_policies() -> list[type[CompletionPolicy]]:
    """Bring ``checklist``."""
    return [Checklist]
