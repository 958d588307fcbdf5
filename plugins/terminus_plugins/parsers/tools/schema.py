"""The tools of the parser ``tools``, as providers want them defined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

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
    "view_image": (
        "Look at an image file of the machine that the terminal runs on.",
        {"path": {"type": "string", "description": "Absolute path of a PNG, JPEG, GIF or WebP file."}},
    ),
    "restart_shell": ("End whatever runs in the terminal and start a fresh shell.", {}),
}

ARGUMENTS = {name: frozenset(properties) for name, (_, properties) in _TOOLS.items()}
"""Every tool that there is, and the names of its arguments."""


def definitions(offers: Collection[str]) -> list[dict[str, Any]]:
    """What a request offers: the two that are always there, and those among ``offers``."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {"type": "object", "properties": properties, "required": list(properties)},
            },
        }
        for name, (description, properties) in _TOOLS.items()
        if name in {"execute_commands", "task_complete", *offers}
    ]
