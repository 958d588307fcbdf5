"""Observer ``loop_guard``: tells a model that goes round in circles, and ends the run if that does not help."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from terminus_core import hookimpl

if TYPE_CHECKING:
    from terminus_core import ParseResult, Run

Kind = Literal["same", "wait", "error", ""]

_NUDGES: dict[Kind, str] = {
    "same": (
        "You have sent the same commands {n} times in a row. Doing it again will not change the outcome: look at what "
        "the terminal shows, find out why it does not help, and try something else."
    ),
    "wait": (
        "You have only waited for {n} turns in a row. Find out whether what you wait for is still at work: look at its "
        "output or its process, or stop it with C-c and do it another way."
    ),
    "error": (
        "{n} answers in a row could not be used, and nothing of them was done. Read the format rules in the first "
        "message again and send the smallest answer that follows them."
    ),
}


class LoopGuard:
    """Counts answers in a row that are alike; says so when there are too many, and again, and then ends the run."""

    name: ClassVar[str] = "loop_guard"

    class Config(BaseModel):
        """``[observer.loop_guard]``."""

        model_config = ConfigDict(extra="forbid")

        same: int = Field(3, ge=2, description="answers in a row with the same commands, until the model is told")
        wait: int = Field(10, ge=2, description="answers in a row that only wait, likewise")
        error: int = Field(3, ge=2, description="answers in a row that cannot be used, likewise")
        nudges: int = Field(
            2, ge=0, description="how often the model is told; as many answers after that end the run (limit_reached)"
        )

    def __init__(self, config: Config) -> None:
        self._limits: dict[Kind, int] = {"same": config.same, "wait": config.wait, "error": config.error}
        self._nudges = config.nudges
        self._last: object = None
        self._count = 0

    @hookimpl
    def terminus_response_received(self, run: Run, reply: ParseResult) -> None:
        """Compare the answer with the one before it."""
        kind, content = _kind(reply)
        self._count = self._count + 1 if (kind, content) == self._last else 1
        self._last = (kind, content)
        if not kind or self._count % self._limits[kind]:
            return
        if self._count // self._limits[kind] > self._nudges:
            run.stop("limit_reached", "loop_guard")
        else:
            run.say(_NUDGES[kind].format(n=self._count))


def _kind(reply: ParseResult) -> tuple[Kind, object]:
    """In what way an answer can be one of a row, and what has to be alike for that."""
    if reply.error:
        return "error", None
    if reply.is_task_complete:
        return "", None
    if reply.actions or any(command.keystrokes for command in reply.commands):
        typed = [command.keystrokes for command in reply.commands]
        return "same", (typed, [(action.name, action.arguments) for action in reply.actions])
    return "wait", None


@hookimpl
def terminus_register_observers() -> list[type[LoopGuard]]:
    """Bring ``loop_guard``."""
    return [LoopGuard]
