"""The tools that are offered, as providers want them defined."""

from __future__ import annotations

from typing import Any


def definition(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """A tool in OpenAI's form."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _tool(name: str, description: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return definition(name, description, {"type": "object", "properties": properties, "required": list(properties)})


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


_COMMAND = {
    "type": "object",
    "properties": {
        "keystrokes": _text("Typed as it stands; end a shell command with a line break. Or one key, such as C-c."),
        "duration": {"type": "number", "description": "Seconds to wait at most; the prompt ends the wait earlier."},
    },
    "required": ["keystrokes", "duration"],
}

EXECUTE_COMMANDS = _tool(
    "execute_commands",
    "Type commands into the terminal and see what it shows.",
    analysis=_text("What the terminal shows and what is still to be done."),
    plan=_text("What these commands are for."),
    commands={"type": "array", "items": _COMMAND},
)
TASK_COMPLETE = _tool("task_complete", "Say that the task is done.")
