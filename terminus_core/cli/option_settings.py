"""From options to settings: the strongest layer."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from terminus_core.cli.options import SETTING_KEYS
from terminus_core.errors import ConfigError
from terminus_core.settings import (
    AgentSettings,
    LoadedSettings,
    default_config_file,
    default_runs_dir,
    load_settings,
    read_value,
)

logger = logging.getLogger(__name__)

_LISTS = ("actions", "gates", "observers", "plugins")
OBSERVERS = [*AgentSettings().observers, "redact"]
"""The command line masks secrets in files unless told otherwise; in Python, training wants what the model saw."""
_LOCAL_FILE = Path("terminus.toml")


def read_settings(options: Mapping[str, Any]) -> LoadedSettings:
    """All layers, with the options of a command on top.

    Raises:
        ConfigError: as of :func:`load_settings`; or ``--set`` without a key or value.
    """
    file = options["config"]
    if file is None and _LOCAL_FILE.is_file() and _LOCAL_FILE.resolve() != default_config_file().resolve():
        logger.warning("%s in this folder is not used; --config %s would use it", _LOCAL_FILE, _LOCAL_FILE)
    load = partial(load_settings, None if file is None else Path(file), defaults=(("agent.observers", OBSERVERS),))
    return _with_options(load, options)


def read_runs_dir() -> Path:
    """The folder of all runs, as the settings file and the environment have it.

    Raises:
        ConfigError: as of :func:`load_settings`.
    """
    return Path(load_settings().settings.agent.runs_dir or default_runs_dir())


def read_options(options: Mapping[str, Any], defaults: Iterable[tuple[str, Any]]) -> LoadedSettings:
    """The options of a command, and the settings file that they name, over ``defaults``; no other layer.

    Raises:
        ConfigError: as :func:`read_settings`, or the working folder does not exist.
    """
    try:
        file = Path(options["config"] or os.devnull).absolute()
        Path.cwd()
    except OSError as error:
        raise ConfigError(f"the working folder cannot be used: {error.strerror}") from None
    return _with_options(partial(load_settings, file, environ={}, defaults=tuple(defaults)), options)


def _with_options(load: partial[LoadedSettings], options: Mapping[str, Any]) -> LoadedSettings:
    """What ``load`` gives with the options as ``overrides``; lists are added to those of the other layers."""
    overrides = [(key, options[name]) for name, key in SETTING_KEYS.items() if options.get(name) is not None]
    overrides += [_setting(pair) for pair in options["settings"]]
    chosen = load(overrides=overrides).settings.agent
    overrides += [
        (f"agent.{name}", extended(getattr(chosen, name), options[name])) for name in _LISTS if options.get(name)
    ]
    if options.get("api_base"):
        overrides.append((f"llm.{chosen.llm}.api_base", options["api_base"]))
    return load(overrides=overrides)


def extended(names: Sequence[str], added: Sequence[str]) -> list[str]:
    """``names`` and then ``added``, where ``no:NAME`` takes back ``NAME``, and the other way round."""
    result = list(names)
    for name in added:
        opposite = name.removeprefix("no:") if name.startswith("no:") else f"no:{name}"
        result = [each for each in result if each not in (name, opposite)] + [name]
    return result


def _setting(pair: str) -> tuple[str, Any]:
    key, equals, text = pair.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise ConfigError(f"--set {pair}: expected KEY=VALUE, such as agent.max_episodes=20")
    return key.strip(), read_value(text, key.strip().split("."))
