"""A list of commands as JSON has it: ``[{"keystrokes": …, "duration": …}, …]``."""

from __future__ import annotations

import json
from typing import Any

from terminus_plugins.parsers.common.answer import MISSING, Answer, shown


def add_commands(answer: Answer, commands: Any) -> None:
    """Take in the value of ``commands``, whatever it is."""
    if not isinstance(commands, list):
        answer.drop_commands(["commands must be a list of objects."])
        return
    faults = []
    for number, command in enumerate(commands, start=1):
        if not isinstance(command, dict):
            faults.append(f'Command {number}: must be an object with "keystrokes" and "duration".')
        elif not isinstance(command.get("keystrokes"), str):
            what = "must be a text" if "keystrokes" in command else "is missing"
            faults.append(f'Command {number}: "keystrokes" {what}.')
        else:
            if unknown := [f'"{shown(key)}"' for key in command if key not in ("keystrokes", "duration")]:
                answer.warnings.append(f"Command {number}: unknown keys were ignored: {', '.join(unknown[:10])}")
            answer.add_command(number, command["keystrokes"], command.get("duration", MISSING))
    if faults:
        answer.drop_commands(faults)


def add_text(answer: Answer, part: str, value: Any) -> None:
    """Take in the value of ``analysis`` or ``plan``, whatever it is."""
    if not isinstance(value, str):
        answer.warnings.append(f"{part} should be a text.")
        value = "" if value is None else json.dumps(value, ensure_ascii=False)
    answer.add_text(part, value)
