"""Whether a provider's error says that the request is longer than the model's context window."""

from __future__ import annotations

import re
from http import HTTPStatus

# A limit that is not the context window's.
_OTHER_LIMIT = re.compile(
    r"per[ -](second|minute|hour|day|month)|rate.?limit|quota|deadline|\b(image|audio|video|file)s?\b", re.IGNORECASE
)
# The answer's own limit, where nothing is said of what was sent.
_OUTPUT_LIMIT = re.compile(r"\bmax(imum)?[ _]tokens\b", re.IGNORECASE)
_SENT = re.compile(r"context|input|prompt|message|tokens in (the )?request", re.IGNORECASE)
_MORE_THAN = r"(exceed\w*|above|over|(longer|greater|larger|more) than)"
_TOO_LONG = [
    re.compile(words, re.IGNORECASE)
    for words in (
        r"context_length_exceeded|exceed_context_size|context_window_exceeded|context\w* (the )?overflow",
        r"\b(max\w*|models?'?s?|available|configured)( \w+)? (context|prompt)[ _-](length|size|window|limit)",
        r"\b(prompt|input|context|messages?|conversation|request)\b.{0,60}\btoo (long|large)\b",
        r"\btoo many (input |prompt |total )?tokens\b",
        rf"\b(prompt|inputs?|context)\b.{{0,80}}\b{_MORE_THAN}\b.{{0,80}}\b(context|tokens?|length|limit|window|max\w*)\b",
        rf"\b(request\w*|messages?|conversation|total)\b.{{0,80}}\b{_MORE_THAN}\b.{{0,80}}\b(context|tokens?|window)\b",
        r"\bcontext\b.{0,40}\bexceed(s|ed)?\b",
        r"\breduce\b.{0,30}\b(messages?|prompt|input|context)\b",
        r"\bcurrent length is \d+ while limit is\b|\brange of input length\b",
        r"\binputs`? tokens \+ `?max_new_tokens\b|\binputs`? must have less than\b",
        r"\b(prompt|input)[ _](tokens?|length)\b.{0,40}\bmust (be|have)( \w+)? (less|fewer|smaller|shorter)\b",
    )
]
_MAY_BE_TOO_LONG = {None, 200, 400, 422, 500}


def is_too_long(status: int | None, words: str, *, said_so: bool = False) -> bool:
    """Whether a provider's error says that the request is longer than the model's context window.

    Args:
        status: the HTTP status, ``None`` without one.
        words: the provider's message.
        said_so: litellm recognised it.
    """
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    if status not in _MAY_BE_TOO_LONG or _OTHER_LIMIT.search(words):
        return False
    if _OUTPUT_LIMIT.search(words) and not _SENT.search(words):
        return False
    return said_so or any(form.search(words) for form in _TOO_LONG)
