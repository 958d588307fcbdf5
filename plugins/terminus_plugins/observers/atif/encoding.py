"""JSON as the observer writes it: readable, strict, valid UTF-8, whatever the values hold."""

from __future__ import annotations

import math
import re
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from terminus_core import Step

# In indented JSON a string never spans lines, so these match structure only.
_NUMBERS = re.compile(rb"\[(?:\s+-?\d[\d.eE+-]*,?)+\s+\]")
_NULL = re.compile(rb"null,?$", re.MULTILINE)


def encode(value: Any, *, indent: int | None = 2) -> bytes:
    """Plain data as JSON, arrays of numbers on one line; what JSON cannot say is repaired, other objects are ``str()``.

    Args:
        value: the data.
        indent: spaces for each level, ``None`` for one line.
    """
    try:
        text = to_json(value, indent=indent, fallback=str)
        odd = b"NaN" in text or b"Infinity" in text
    except PydanticSerializationError:  # half a surrogate pair
        odd = True
    if odd:
        text = to_json(repair(value, set()), indent=indent, fallback=str)
    return _NUMBERS.sub(_on_one_line, text) if indent else text


def encode_step(step: Step) -> tuple[bytes, Step, set[str]]:
    """A step as JSON, the step as a reader gets it, and what had to be repaired for that, in words.

    Raises:
        ValueError: the step breaks a rule of the format.
        PydanticSerializationError: it holds a value that is no data.
    """
    repaired: set[str] = set()
    try:
        # No warnings about values of a wrong type: the validation below is strict about them.
        text = step.model_dump_json(indent=2, exclude_none=True, warnings=False).encode()
        odd = _NULL.search(text) is not None  # NaN and Infinity come out so, and None in free-form data
    except PydanticSerializationError:  # half a surrogate pair, or no data at all
        odd = True
    if odd:
        text = to_json(repair(step.model_dump(exclude_none=True, warnings=False), repaired), indent=2)
    return _NUMBERS.sub(_on_one_line, text), Step.model_validate_json(text), repaired


def repair(value: Any, notes: set[str]) -> Any:
    """``value`` without NaN and Infinity (left out of objects, null in lists) and halves of surrogate pairs (U+FFFD).

    ``logprobs`` may not hold null: such a list is left out whole. ``notes`` gets what was done, in words.
    """
    match value:
        case str():
            return _whole_characters(value, notes)
        case dict():
            return {
                repair(key, notes): repair(item, notes)
                for key, item in value.items()
                if not _is_odd(item, notes) and not (key == "logprobs" and _holds_odd(item, notes))
            }
        case list() | tuple():
            return [None if _is_odd(item, notes) else repair(item, notes) for item in value]
    return value


def _is_odd(value: Any, notes: set[str]) -> bool:
    odd = isinstance(value, float) and not math.isfinite(value)
    if odd:
        notes.add("NaN or Infinity left out")
    return odd


def _holds_odd(value: Any, notes: set[str]) -> bool:
    return isinstance(value, list) and any(_is_odd(item, notes) for item in value)


def _whole_characters(text: str, notes: set[str]) -> str:
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if whole != text:
        notes.add("halves of surrogate pairs replaced")
    return whole


def _on_one_line(array: re.Match[bytes]) -> bytes:
    return b"[" + b" ".join(array[0][1:-1].split()) + b"]"
