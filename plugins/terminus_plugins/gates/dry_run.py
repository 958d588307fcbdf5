"""Gate ``dry_run``: nothing is ever typed; the model is told what would have been."""

from __future__ import annotations

from typing import ClassVar

from terminus_core import Gate, ParseResult, Run, hookimpl


class DryRun(Gate):
    """Refuses every command and action, kindly."""

    name: ClassVar[str] = "dry_run"

    async def before_commands(self, run: Run, reply: ParseResult) -> ParseResult | str:  # noqa: ARG002 - the protocol's argument
        """What would have been done."""
        planned = [f"type {command.keystrokes!r}" for command in reply.commands]
        planned += [f"{action.name} {action.arguments}" for action in reply.actions]
        listed = "\n".join(f"- {each}" for each in planned)
        return (
            f"This is a dry run: nothing was typed and nothing has changed. You would have done this:\n{listed}\n"
            "Go on as if it had worked. To end the run, claim completion without commands."
        )


@hookimpl
def terminus_register_gates() -> list[type[Gate]]:
    """Bring ``dry_run``."""
    return [DryRun]
