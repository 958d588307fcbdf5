"""Secrets out of texts: providers quote keys in their errors, and URLs carry them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from terminus_core import mask_text, secret_texts, secret_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

MASK = "***"

_SHORTEST = 6  # a shorter value is no secret, and masking it would garble words

_FORMS = (
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|nvapi|pplx|r8|fw|tgp|csk)[-_][\w-]{8,}"), MASK),
    (re.compile(r"\b(?:AIza[\w-]{20,}|AKIA[0-9A-Z]{12,})"), MASK),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"(api[ _-]?key(?: provided)?[\"']?\s*[:=]\s*[\"']?)[^\s,\"'&]{6,}", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"(//)[^/\s@]+@"), rf"\1{MASK}@"),
)


def mask_secrets(text: str, settings: Mapping[str, Any]) -> str:
    """``text`` with every known secret and everything of a key's form replaced by ``***``.

    Known are the values in ``settings``, at any depth, that are masked wherever settings are shown, and those of
    environment variables with such names.
    """
    known = {value for value in (*secret_texts(settings), *secret_variables(os.environ)) if len(value) >= _SHORTEST}
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, MASK)
    for form, replacement in _FORMS:
        text = form.sub(replacement, text)
    return mask_text(text)
