"""What secrets look like, and how they are found in texts, also in rows of a terminal that were wrapped."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MASK = "***"
SHORTEST = 8
"""Characters; a shorter value would garble ordinary words."""

SECRET_NAME = re.compile(r"(?:key|token|secret|password|passwd|passphrase|credentials?)$", re.IGNORECASE)
"""How the names of environment variables end that hold secrets."""

PATTERNS = {
    "sk-": r"\bsk-[\w-]{16,}",  # OpenAI, Anthropic, OpenRouter and others
    **{f"{start}_": rf"\b{start}_[\w-]{{16,}}" for start in ("gsk", "r8", "hf", "npm", "shpat", "dop_v1")},
    **{f"{start}-": rf"\b{start}-[\w-]{{16,}}" for start in ("xai", "nvapi", "pplx", "csk", "glpat", "pypi")},
    "k_live_": r"\b[srp]k_live_\w{16,}",  # Stripe
    "k_test_": r"\b[srp]k_test_\w{16,}",
    "gh": r"\bgh[pousr]_\w{20,}",
    "github_pat_": r"\bgithub_pat_\w{20,}",
    "AKIA": r"\bAKIA[0-9A-Z]{16}\b",
    "ASIA": r"\bASIA[0-9A-Z]{16}\b",
    "AIza": r"\bAIza[\w-]{30,}",
    "ya29.": r"\bya29\.[\w-]{20,}",
    "xox": r"\bxox[abeprs]-[\w-]{10,}",
    "SG.": r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
    "eyJ": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",  # JSON web tokens
    "PRIVATE KEY": r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    "earer ": r"(?<=[Bb]earer )[\w.~+/-]{8,}=*",
    "Basic ": r"(?<=Basic )[A-Za-z0-9+/]{8,}=*",
    "://": r"(?<=://)[^\s/:@\"']*:[^\s/@\"']+(?=@)",
}
"""The forms of well-known providers' keys and of passwords in URLs; each with a piece that such a text holds, so that
most texts need no search for it."""


class Masker:
    """Replaces secrets in texts.

    Args:
        values: known secrets; those that are too short are left out.
        patterns: regular expressions of further ones.
    """

    def __init__(self, values: Iterable[str], patterns: Iterable[str] = ()) -> None:
        known = {form for value in values for form in _forms(value) if len(form) >= SHORTEST}
        self._forms = [(value, re.compile(re.escape(value))) for value in known]
        self._forms += [(hint, re.compile(pattern)) for hint, pattern in PATTERNS.items()]
        self._forms += [("", re.compile(pattern)) for pattern in patterns]

    def mask(self, text: str, width: int | None = None) -> str:
        """``text`` with every secret as ``***``.

        Args:
            text: any text.
            width: columns, if the text is rows of a terminal: a row of that width goes on in the next one.
        """
        breaks = [*_wraps(text, width)] if width else []
        pieces = zip([0, *(place + 1 for place in breaks)], [*breaks, len(text)], strict=True)
        joined = "".join(text[start:end] for start, end in pieces) if breaks else text
        spans = sorted(span for hint, form in self._forms if hint in joined for span in _spans(form, joined))
        if not spans:
            return text
        places = [place - number for number, place in enumerate(breaks)]  # of the breaks, in the joined text
        masked, done = [], 0
        for start, end in spans:
            begin = start + bisect_right(places, start)
            if begin >= done:
                masked += [text[done:begin], MASK]
            done = max(done, end + bisect_right(places, end - 1))
        return "".join([*masked, text[done:]])


def _spans(form: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    return (found.span() for found in form.finditer(text))


def secrets_in(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    """Values of variables that are named, or whose name looks like a secret's; a path is none."""
    wanted = set(names)
    for name, value in environ.items():
        if name in wanted or (SECRET_NAME.search(name) and not value.startswith(("/", "~", "./"))):
            yield value


def masked_in(given: Any, masked: Any) -> Iterator[str]:
    """The texts in ``given`` that are masked in ``masked``, a copy of it."""
    if masked == MASK and given != MASK:
        yield from _texts(given)
    elif isinstance(given, dict) and isinstance(masked, dict):
        for key, value in given.items():
            yield from masked_in(value, masked.get(key, value))
    elif isinstance(given, list) and isinstance(masked, list):
        for value, other in zip(given, masked, strict=True):
            yield from masked_in(value, other)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _forms(value: str) -> Iterator[str]:
    """A secret as it may stand somewhere: without the scheme of a header, inside JSON, and line by line."""
    bare = re.sub(r"^(?:bearer|basic)\s+", "", value.strip(), flags=re.IGNORECASE)
    yield bare
    yield json.dumps(bare)[1:-1]
    yield json.dumps(bare, ensure_ascii=False)[1:-1]
    if "\n" in bare:
        yield from (line.strip() for line in bare.splitlines())


def _wraps(text: str, width: int) -> Iterator[int]:
    """Where a row of the full width ends."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        if end - start == width:
            yield end
        start = end + 1
