"""What is secret by its name or its form: the one list that settings, error lines and redaction go by."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MASK = "***"

_ANYWHERE = re.compile(r"apikey|secret|password|passphrase|authorization")
_AT_END = re.compile(r"(?:(?<!mon)(?<!hot)(?<!tur)(?<!don)key|token|passwd|passcode|creds?|credentials?|cookies?)$")
_WORD_AT_END = re.compile(r"(?:^|-)(?:auth|pass|(?<=-)(?:pwd|pat)|sig|signature|jwt|webhook(?:-ur[il])?)$")
"""Whole words only: ``bypass``, ``PWD``. ``pwd`` and ``pat`` need a word before them."""
_HARMLESS = re.compile(r"(?:public|pub|host)-?key$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_LETTER = re.compile(r"[^a-z]+")

_FORM = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|https://(?:hooks\.slack\.com|discord(?:app)?\.com/api/webhooks|[\w.-]+\.webhook\.office\.com)/[^\s\"'<>]+"
    r"|AIza[0-9A-Za-z_-]{30,}|hf_[A-Za-z0-9]{20,}|(?i:bearer )[A-Za-z0-9._~+/-]{8,}=*"
)
_CREDENTIALS = re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?basic\s+)([A-Za-z0-9+/_-]{4,}=*)")
_URL_PASSWORD = re.compile(r"((?<=://)[^/\s:@]*:)([^/\s@]+)(?=@)")
_QUERY = re.compile(r"([?&]([\w.-]+)=)([^&#\s\"'<>]+)")
_ASSIGNMENT = re.compile(r"((?:--?[\w-]+[ =])?-{0,2}([A-Za-z][\w.-]*)(?:=|:\s+))(\S.*)", re.DOTALL)
"""A whole text such as ``DB_PASSWORD=…``, ``--env=DB_PASSWORD=…``, ``X-Api-Key: …``."""

_VARIABLE = re.compile(r"\b([A-Z][A-Z0-9_]*)=([^\s\"']+)")
"""Where a text holds a command line."""

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


def mask_text(text: str) -> str:
    """``text`` with what looks like a key, and passwords and keys in URLs, as ``***``."""
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


def _is_path(value: str) -> bool:
    """A random key may begin like a path: one that is none has signs of its own, or leads nowhere."""
    if not value.startswith(("/", "~", "./")):
        return False
    return os.path.exists(os.path.expanduser(value)) or (value.count("/") > 1 and not {"+", "="} & {*value})  # noqa: PTH110, PTH111 - a text that need not be a path


def _mask(_: str) -> str:
    return MASK


def _in_text(text: str, hide: Hide) -> str:
    text = _FORM.sub(lambda found: hide(found[0]), text)
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
        return _in_text(_VARIABLE.sub(lambda found: _assigned(found, hide), data), hide)
    return data


def _assigned(found: re.Match[str], hide: Hide) -> str:
    return f"{found[1]}={hide(found[2])}" if is_secret_name(found[1]) else found[0]


def _named(name: str, value: Any, hide: Hide) -> Any:
    if value is None or isinstance(value, bool) or not is_secret_name(name):
        return _walk(value, hide)
    for text in _texts(value):
        hide(text)
    return MASK


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
