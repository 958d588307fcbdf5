"""Texts inside values: how what a run publishes is masked in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pydantic import BaseModel


def redacted(value: Any, mask: Callable[[str], str]) -> Any:
    """``value`` with every text in it passed through ``mask``, however deep; nothing given is changed.

    Numbers, images and objects of other kinds than plain data, dataclasses and pydantic models stay as they are.
    """
    match value:
        case str():
            value = mask(value)
        case {"image_url": _} | [int() | float(), *_]:  # long, and no text: images, token ids, log-probabilities
            pass
        case Mapping():
            value = {redacted(key, mask): redacted(inner, mask) for key, inner in value.items()}
        case list():
            value = [redacted(inner, mask) for inner in value]
        case BaseModel():
            value = value.model_copy(update={name: redacted(inner, mask) for name, inner in value})
        case _ if is_dataclass(value) and not isinstance(value, type):
            names = [each.name for each in fields(value) if each.init]
            value = replace(value, **{name: redacted(getattr(value, name), mask) for name in names})
    return value
