"""Changes single settings in the user's file and leaves the rest of it, comments too, as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from terminus_core.cli.private_file import write_private_file
from terminus_core.errors import ConfigError
from terminus_core.manager import PluginManager
from terminus_core.secrets import is_secret_name
from terminus_core.settings import default_config_file, load_settings, read_value

_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?")
_ANY_HEADER = re.compile(r"\s*\[")


def set_setting(key: str, text: str) -> Path:
    """Write one setting, after checking it; gives the file.

    Args:
        key: dotted, such as ``agent.model``.
        text: the value as written on the command line.

    Raises:
        ConfigError: the setting is unknown, its value is wrong, it is a secret, or the file cannot be changed.
    """
    *table, leaf = _words(key)
    if is_secret_name(leaf):
        raise ConfigError(f"{key} is a secret, and arguments can be seen by others: use terminus keys set PROVIDER")
    value = read_value(text, [*table, leaf])
    settings = load_settings(overrides=[(key, value)]).settings
    PluginManager(settings.agent.plugins, keep_going=True).check(settings)
    line = f"{_key(leaf)} = {_toml(value, key)}"

    def change(data: dict[str, Any]) -> None:
        for word in table:
            data = data.setdefault(word, {})
        data[leaf] = value

    return _change(key, change, lambda lines: _with_line(lines, table, leaf, line))


def unset_setting(key: str) -> Path:
    """Take one setting out; gives the file.

    Raises:
        ConfigError: the file does not set it, or cannot be changed.
    """
    *table, leaf = _words(key)

    def change(data: dict[str, Any]) -> None:
        for word in table:
            data = data.get(word, {})
        if leaf not in data:
            raise ConfigError(f"{default_config_file()} does not set {key}")
        del data[leaf]

    def without_line(lines: list[str]) -> list[str]:
        first, last = _span(lines, table)
        found = _find(lines[first:last], leaf)
        return lines if found is None else lines[: first + found] + lines[first + found + 1 :]

    return _change(key, change, without_line)


def _words(key: str) -> list[str]:
    words = key.split(".")
    if len(words) < 2 or not all(words):  # noqa: PLR2004 - a table and a key
        raise ConfigError(f"{key!r} is not a setting; expected one such as agent.model")
    return words


def _change(key: str, change: Callable[[dict[str, Any]], None], edit: Callable[[list[str]], list[str]]) -> Path:
    """Change the file by ``edit`` if that does to its data what ``change`` does, and nothing else."""
    path = default_config_file()
    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        wanted = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    wanted = deepcopy(wanted)
    change(wanted)
    changed = "\n".join(edit(text.splitlines())) + "\n"
    try:
        is_right = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise ConfigError(f"cannot change {key} in {path} without rewriting other lines; edit the file")
    write_private_file(path, changed)
    return path


def _with_line(lines: list[str], table: Sequence[str], leaf: str, line: str) -> list[str]:
    first, last = _span(lines, table)
    if first < 0:
        gap = [""] if lines else []
        return [*lines, *gap, f"[{'.'.join(map(_key, table))}]", line]
    found = _find(lines[first:last], leaf)
    if found is not None:
        return [*lines[: first + found], line, *lines[first + found + 1 :]]
    while last > first and not lines[last - 1].strip():
        last -= 1
    return [*lines[:last], line, *lines[last:]]


def _span(lines: list[str], table: Sequence[str]) -> tuple[int, int]:
    """First and last row, exclusive, of a table's keys; -1 if the file has no such table."""
    for number, line in enumerate(lines):
        header = _HEADER.fullmatch(line)
        if header and [word.strip(" \t\"'") for word in header[1].split(".")] == list(table):
            rest = range(number + 1, len(lines))
            return number + 1, next((each for each in rest if _ANY_HEADER.match(lines[each])), len(lines))
    return -1, -1


def _find(lines: list[str], leaf: str) -> int | None:
    pattern = re.compile(rf"\s*[\"']?{re.escape(leaf)}[\"']?\s*=")
    return next((number for number, line in enumerate(lines) if pattern.match(line)), None)


def _key(word: str) -> str:
    return word if re.fullmatch(r"[A-Za-z0-9_-]+", word) else json.dumps(word, ensure_ascii=False)


def _toml(value: Any, key: str) -> str:
    """A value as TOML writes it in one line."""
    if value is None:
        raise ConfigError(f"TOML has no null: terminus config unset {key}")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_toml(inner, key)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(inner, key) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)  # texts, numbers and truth values are the same in both
