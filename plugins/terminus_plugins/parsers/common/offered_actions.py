"""Actions in formats of text: how a prompt lists them, and how a list of calls is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from terminus_core import Action, ActionCall

if TYPE_CHECKING:
    from collections.abc import Sequence


def listed(actions: Sequence[Action]) -> str:
    """One line for each action: name, description, arguments."""
    return "".join(f"\n  - {action.name}: {action.description} Arguments: {_arguments(action)}" for action in actions)


def _arguments(action: Action) -> str:
    properties: dict[str, Any] = action.parameters.get("properties", {})
    return json.dumps({name: each.get("description", each.get("type", "")) for name, each in properties.items()})


def read_calls(value: Any) -> tuple[list[ActionCall], list[str]]:
    """The calls in a list of ``{"name": …, "arguments": {…}}``, and a warning for what cannot be read."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return [], ['actions must be a list of objects with "name" and "arguments"; none was performed.']
    calls = [ActionCall(str(each.get("name", "")), each.get("arguments") or {}) for each in value]
    return calls, []
