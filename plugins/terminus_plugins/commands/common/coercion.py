"""Recordings and trajectories hold any values: each is read as what it should be, or as none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

_TOO_LARGE = 2**53
"""From here on a browser's numbers are not exact."""


def dict_of(value: Any) -> dict[str, Any]:
    """``value``, or an empty object if it is none."""
    return value if isinstance(value, dict) else {}


def dicts_of(value: Any) -> list[dict[str, Any]]:
    """The objects in ``value``, if it is a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Any value as text: of a list of parts their texts, and the places of those that are no text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "\n".join(_part(part) for part in value)
    return pretty(value)


def _part(part: dict[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        text: str = part["text"]
        return text
    source = dict_of(part.get("source"))
    if path := source.get("path"):
        shown = str(path) if not str(path).startswith("data:") else "embedded"
        return f"[{part.get('type', 'file')}: {shown}]"
    return pretty(part)


def pretty(value: Any) -> str:
    """``value`` as indented JSON, for people."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except RecursionError:
        return "[too deep to show]"


def number_or_none(value: Any) -> float | None:
    """A finite number, or ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _TOO_LARGE else None  # false for NaN too


def seconds_since_1970(value: Any) -> float | None:
    """A time as number or ISO 8601 text; without a zone it is taken as UTC. ``None`` if it is none."""
    if isinstance(value, int | float):
        return number_or_none(value)
    try:
        when = datetime.fromisoformat(value)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
