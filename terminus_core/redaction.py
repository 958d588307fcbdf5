"""Texts inside values: how what a run publishes is masked in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any

from pydantic import BaseModel


def redacted(value: Any, mask: Callable[[str], str]) -> Any:
    """``value`` with every text in it passed through ``mask``, however deep.

    Nothing given is changed: a value in which ``mask`` changes nothing comes back itself, another as a copy. Numbers,
    images and objects of other kinds than plain data, dataclasses and pydantic models stay as they are.
    """
    match value:
        case str():
            value = mask(value)
        # No text, and some of it long: images, token ids, log-probabilities.
        case None | int() | float() | {"image_url": _} | [int() | float(), *_]:
            pass
        case Mapping():
            names = [redacted(name, mask) for name in value]
            changed = _changed(value.items(), mask)
            if changed or not all(map(is_, names, value)):
                value = dict(zip(names, {**value, **changed}.values(), strict=True))
        case list():
            items = [redacted(item, mask) for item in value]
            value = value if all(map(is_, items, value)) else items
        case BaseModel():
            if changed := _changed(value, mask):
                value = value.model_copy(update=changed)
        case _ if is_dataclass(value) and not isinstance(value, type):
            given = ((each.name, getattr(value, each.name)) for each in fields(value) if each.init)
            if changed := _changed(given, mask):
                value = replace(value, **changed)
    return value


def _changed(values: Iterable[tuple[Any, Any]], mask: Callable[[str], str]) -> dict[Any, Any]:
    """Those of named values that ``mask`` changes, changed."""
    return {name: new for name, old in values if (new := redacted(old, mask)) is not old}
