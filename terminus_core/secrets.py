"""What is secret by its name or its form, and how it is masked: in texts, in settings and in what a run publishes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any

from pydantic import BaseModel

MASK = "***"

_ANYWHERE = re.compile(r"apikey|secret|password|passphrase|authorization")
_AT_END = re.compile(r"(?:(?<!mon)(?<!hot)(?<!tur)(?<!don)key|token|passwd|passcode|creds?|credentials?|cookies?)$")
_WORD_AT_END = re.compile(r"(?:^|-)(?:auth|pass|(?<=-)(?:pwd|pat)|sig|signature|jwt|webhook(?:-ur[il])?)$")
"""Whole words only: ``bypass``, ``PWD``. ``pwd`` and ``pat`` need a word before them."""
_HARMLESS = re.compile(r"(?:public|pub|host)-?key$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_LETTER = re.compile(r"[^a-z]+")

SECRET_FORMS = {
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
    "hooks.slack.com": r"https://hooks\.slack\.com/[^\s\"'<>]+",
    "/api/webhooks": r"https://discord(?:app)?\.com/api/webhooks/[^\s\"'<>]+",
    ".webhook.office.com": r"https://[\w.-]+\.webhook\.office\.com/[^\s\"'<>]+",
    "earer ": r"(?<=[Bb]earer )[\w.~+/-]{8,}=*",
    "Basic ": r"(?<=Basic )[A-Za-z0-9+/]{8,}=*",
    "://": r"(?<=://)[^\s/:@\"']*:[^\s/@\"']+(?=@)",
}
"""Regular expressions for providers' keys, webhook addresses and passwords in URLs. Each stands under a piece
that such a text holds, so that most texts need no search."""

_FORMS = [(hint, re.compile(form)) for hint, form in SECRET_FORMS.items() if hint not in ("Basic ", "://")]
_SHORTEST_KNOWN = 6  # a shorter value is no secret, and masking it would garble words
_QUOTED = (
    re.compile(r"()\b(?:sk|pk|rk|gsk|xai|hf|ghp|nvapi|pplx|r8|fw|tgp|csk)[-_][\w-]{8,}"),
    re.compile(r"()\b(?:AIza[\w-]{20,}|AKIA[0-9A-Z]{12,})"),
    re.compile(r"(\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE),
    re.compile(r"(api[ _-]?key(?: provided)?[\"']?\s*[:=]\s*[\"']?)[^\s,\"'&]{6,}", re.IGNORECASE),
    re.compile(r"(//)[^/\s@:]{8,}(?=@)"),
)
"""Looser: keys as providers quote them in their errors, shortened or behind words."""

_CREDENTIALS = re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?basic\s+)([A-Za-z0-9+/_-]{4,}=*)")
_URL_PASSWORD = re.compile(r"((?<=://)[^/\s:@]*:)([^/\s@]+)(?=@)")
_QUERY = re.compile(r"([?&]([\w.-]+)=)([^&#\s\"'<>]+)")
_ASSIGNMENT = re.compile(r"((?:--?[\w-]+[ =])?-{0,2}([A-Za-z][\w.-]*)(?:=|:\s+))(\S.*)", re.DOTALL)
"""A whole text such as ``DB_PASSWORD=…``, ``--env=DB_PASSWORD=…``, ``X-Api-Key: …``."""

_VARIABLE = re.compile(r"\b([A-Z][A-Z0-9_]*)=([^\s\"']+)")
"""Where a text holds a command line."""
_ARGUMENT = re.compile(
    r"((?<![^\s\"'])(?:--?(?P<option>[A-Za-z][\w-]*)[= ]|(?P<header>[A-Za-z][\w-]*):\s+(?:(?i:bearer|basic)\s+)?))"
    r"(?P<value>[^\s\"'-][^\s\"']*)"
)
"""Likewise: ``--api-key KEY``, ``-H "X-Api-Key: KEY"``."""
_HEADERS = re.compile(r"(?i)(?:^|[_.-])headers$")
_PLAIN_HEADERS = frozenset(
    [
        "accept",
        "accept-encoding",
        "accept-language",
        "anthropic-beta",
        "anthropic-version",
        "content-type",
        "http-referer",
        "origin",
        "referer",
        "user-agent",
        "x-title",
    ]
)
"""Of the headers that a setting adds, those that are no secret; which of the others are, only its author knows."""

Hide = Callable[[str], str]


def is_secret_name(name: str) -> bool:
    """Whether what bears this name is a secret.

    Args:
        name: of a setting, an environment variable, a header or a parameter in a URL; in any case and with any
            separators: ``api_key``, ``X-Auth``, ``accessToken``, ``DB_PASS``.
    """
    plain = _NO_LETTER.sub("-", _HUMP.sub("-", name).lower()).strip("-")
    if _HARMLESS.search(plain):
        return False
    return bool(_ANYWHERE.search(plain.replace("-", "")) or _AT_END.search(plain) or _WORD_AT_END.search(plain))


def mask_text(text: str, known: Iterable[str] = ()) -> str:
    """``text``, such as a line about an error, with every secret as ``***``.

    Args:
        text: any text.
        known: secrets as they stand, beside what looks like a key, and passwords and keys in URLs; those of fewer
            than 6 characters are left out.
    """
    for value in sorted({value for value in known if len(value) >= _SHORTEST_KNOWN}, key=len, reverse=True):
        text = text.replace(value, MASK)
    for form in _QUOTED:
        text = form.sub(rf"\1{MASK}", text)
    return _in_text(text, _mask)


def mask_secrets(data: Any) -> Any:
    """Nested data with the values of secret-looking names, and secret-looking texts, as ``***``; names stay."""
    return _walk(data, _mask)


def secret_texts(data: Any) -> Iterator[str]:
    """Every text in nested data that :func:`mask_secrets` masks there, without a header's ``Bearer`` or ``Basic``."""
    found: list[str] = []

    def note(text: str) -> str:
        found.append(re.sub(r"(?i)^\s*(?:bearer|basic)\s+", "", text))
        return MASK

    _walk(data, note)
    return iter(found)


def secret_names(environ: Mapping[str, str]) -> Iterator[str]:
    """The names of environment variables that hold secrets, by their names; a path is none."""
    return (name for name, value in environ.items() if is_secret_name(name) and not _is_path(value))


def secret_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """The values of environment variables whose names are secrets' names; a path is none."""
    return (environ[name] for name in secret_names(environ))


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


def _is_path(value: str) -> bool:
    """A random key may begin like a path: one that is none has signs of its own, or leads nowhere."""
    if not value.startswith(("/", "~", "./")):
        return False
    return os.path.exists(os.path.expanduser(value)) or (value.count("/") > 1 and not {"+", "="} & {*value})  # noqa: PTH110, PTH111 - a text that need not be a path


def _mask(_: str) -> str:
    return MASK


def _in_text(text: str, hide: Hide) -> str:
    for hint, form in _FORMS:
        if hint in text:
            text = form.sub(lambda found: hide(found[0]), text)
    for form in (_CREDENTIALS, _URL_PASSWORD):
        text = form.sub(lambda found: found[1] + hide(found[2]), text)
    return _QUERY.sub(lambda found: found[1] + hide(found[3]) if is_secret_name(found[2]) else found[0], text)


def _walk(data: Any, hide: Hide) -> Any:
    if isinstance(data, Mapping):
        return {key: _named(str(key), value, hide) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_item(value, hide) for value in data]
    if isinstance(data, str):
        whole = _ASSIGNMENT.fullmatch(data)
        if whole and is_secret_name(whole[2]):
            return whole[1] + hide(whole[3])
        text = _VARIABLE.sub(lambda found: _assigned(found, hide), data)
        return _in_text(_ARGUMENT.sub(lambda found: _given(found, hide), text), hide)
    return data


def _given(found: re.Match[str], hide: Hide) -> str:
    is_secret = is_secret_name(found["option"] or found["header"]) and found["value"] != MASK
    return found[1] + hide(found["value"]) if is_secret else found[0]


def _assigned(found: re.Match[str], hide: Hide) -> str:
    return f"{found[1]}={hide(found[2])}" if is_secret_name(found[1]) else found[0]


def _named(name: str, value: Any, hide: Hide) -> Any:
    if _HEADERS.search(name) and isinstance(value, Mapping):
        return {key: _header(str(key), inner, hide) for key, inner in value.items()}
    if value is None or isinstance(value, bool) or not is_secret_name(name):
        return _walk(value, hide)
    for text in _texts(value):
        hide(text)
    return MASK


def _header(name: str, value: Any, hide: Hide) -> Any:
    if name.lower() in _PLAIN_HEADERS or not isinstance(value, str):
        return _named(name, value, hide)
    return hide(value)


def _item(value: Any, hide: Hide) -> Any:
    match value:
        case [str(name), inner]:  # a header
            return [name, _named(name, inner, hide)]
    return _walk(value, hide)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def _changed(values: Iterable[tuple[Any, Any]], mask: Callable[[str], str]) -> dict[Any, Any]:
    """Those of named values that ``mask`` changes, changed."""
    return {name: new for name, old in values if (new := redacted(old, mask)) is not old}
