"""The keys of model providers that a user keeps: a file of their own, for the command line only."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

from terminus_core.cli.private_file import write_private_file
from terminus_core.errors import ConfigError
from terminus_core.settings import default_config_file


def keys_file() -> Path:
    """``keys.toml`` beside the settings file."""
    return default_config_file().with_name("keys.toml")


def variable_of(provider: str) -> str:
    """The environment variable of a provider's key: ``openai`` gives ``OPENAI_API_KEY``; a variable's name is kept.

    Raises:
        ConfigError: it is neither a provider's name nor a variable's.
    """
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", provider):
        return provider
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", provider):
        raise ConfigError(f"{provider!r} is not a provider; expected one such as openai, or a variable: OPENAI_API_KEY")
    return provider.upper().replace("-", "_") + "_API_KEY"


def read_keys() -> dict[str, str]:
    """The kept keys by their variables.

    Raises:
        ConfigError: the file cannot be read, or others may read it too.
    """
    path = keys_file()
    try:
        if not path.exists():
            return {}
        if path.stat().st_mode & 0o077:
            raise ConfigError(f"others may read {path}: chmod 600 {path}")
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ConfigError(f"{path} is not valid TOML") from None  # its own words might quote a key
    return {name: value for name, value in data.items() if isinstance(value, str)}


def write_keys(keys: dict[str, str]) -> None:
    """Keep these keys, and no others."""
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in sorted(keys.items())]
    write_private_file(keys_file(), "".join(lines))


def apply_keys() -> None:
    """Let this process have the kept keys as environment variables; one that is set already wins."""
    for name, value in read_keys().items():
        os.environ.setdefault(name, value)
