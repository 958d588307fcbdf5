"""The tools of the parser ``tools``, as providers want them defined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from terminus_core import Action

_COMMAND = {
    "type": "object",
    "properties": {
        "keystrokes": {
            "type": "string",
            "description": "Typed exactly as it stands; a shell command ends with a line break. "
            "Or the name of one key, such as C-c. Empty to wait.",
        },
        "duration": {"type": "number", "description": "Seconds to wait, at most, before what comes next; 0 to 60."},
    },
    "required": ["keystrokes", "duration"],
}
_TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "execute_commands": (
        "Type into the terminal, then see what it shows.",
        {
            "analysis": {"type": "string", "description": "What the terminal shows, what is done, what is missing."},
            "plan": {"type": "string", "description": "What comes next, and what each command is for."},
            "commands": {"type": "array", "items": _COMMAND, "description": "Typed in this order; may be empty."},
        },
    ),
    "task_complete": ("Say that the whole task is done and checked.", {}),
}

ARGUMENTS = {name: frozenset(properties) for name, (_, properties) in _TOOLS.items()}
"""Every tool that there is, and the names of its arguments."""


def definitions(actions: Sequence[Action]) -> list[dict[str, Any]]:
    """What a request offers: the two that are always there, and the actions."""
    own = [
        (name, description, {"type": "object", "properties": properties, "required": list(properties)})
        for name, (description, properties) in _TOOLS.items()
    ]
    offered = [(each.name, each.description, each.parameters) for each in actions]
    return [
        {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
        for name, description, parameters in [*own, *offered]
    ]
