"""Secrets out of texts: providers quote keys in their errors, and URLs carry them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MASK = "***"

_SECRET_NAME = re.compile(r"key|secret|password|passwd|authorization|credential|cookie|(^|[_-])token$", re.IGNORECASE)
_SHORTEST = 6  # a shorter value is no secret, and masking it would garble words

_FORMS = (
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|nvapi|pplx|r8|fw|tgp|csk)[-_][\w-]{8,}"), MASK),
    (re.compile(r"\b(?:AIza[\w-]{20,}|AKIA[0-9A-Z]{12,})"), MASK),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"(api[ _-]?key(?: provided)?[\"']?\s*[:=]\s*[\"']?)[^\s,\"'&]{6,}", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"([?&](?:key|token|access_token)=)[^&\s\"']+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"(//)[^/\s@]+@"), rf"\1{MASK}@"),
)


def is_secret_name(name: str) -> bool:
    """Whether a value under ``name`` is taken for a secret."""
    return bool(_SECRET_NAME.search(name))


def mask_secrets(text: str, settings: Mapping[str, Any]) -> str:
    """``text`` with every known secret and everything of a key's form replaced by ``***``.

    Known are the values in ``settings``, at any depth, under names such as ``api_key`` or ``Authorization``, and those
    of environment variables with such names.
    """
    known = {value for value in (*_secrets_in(settings), *_environment_secrets()) if len(value) >= _SHORTEST}
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, MASK)
    for form, replacement in _FORMS:
        text = form.sub(replacement, text)
    return text


def _environment_secrets() -> Iterator[str]:
    return (
        value for name, value in os.environ.items() if name.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD"))
    )


def _secrets_in(value: Any, *, named: bool = False) -> Iterable[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _secrets_in(inner, named=named or is_secret_name(str(name)))
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets_in(inner, named=named)
    elif named and isinstance(value, str):
        yield value.removeprefix("Bearer ")
