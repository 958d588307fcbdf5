"""Settings: what can be set, where it comes from, and what may be shown of it.

Layers, each stronger than the one before: defaults, the file, environment variables, the command line.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from terminus_core.errors import ConfigError
from terminus_core.secrets import mask_secrets

ENV_PREFIX = "TERMINUS_"


_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")


def _seconds_in_words(value: Any) -> Any:
    """``10m``, ``1h30m``, ``90s`` as seconds; all else as it is."""
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) and value.strip() else None
    if found is None:
        return value
    return sum(float(number or 0) * unit for number, unit in zip(found.groups(), (3600, 60, 1), strict=True))


def _none_in_words(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


class AgentSettings(BaseModel):
    """The ``[agent]`` table: which parts, and the limits of a run."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", coerce_numbers_to_str=True, protected_namespaces=())

    llm: str = Field("litellm", description="name of the LLM plugin")
    model: str | None = Field(None, description="the model, as its provider names it")
    parser: str = Field("json", description="name of the response parser")
    session: str = Field("tmux", description="name of the session backend")
    environment: str = Field("local", description="name of the environment")
    completion: str = Field("two_step", description="name of the completion policy")
    context: str = Field("summarize", description="name of the context strategy")
    actions: list[str] = Field(
        default_factory=list, description="names of the actions that replies may ask for beside keystrokes"
    )
    gates: list[str] = Field(default_factory=list, description="names of the gates, asked in this order")
    observers: list[str] = Field(
        default_factory=lambda: ["atif", "prompt_caching"], description="names of the observers, told in this order"
    )
    plugins: list[str] = Field(
        default_factory=list, description="files or modules to load; `no:NAME` blocks an entry point"
    )
    strict_plugins: bool = Field(default=False, description="a plugin that does not load ends the program")
    observers_strict: bool = Field(default=False, description="an error of an observer ends the run")
    max_episodes: int = Field(1_000_000, ge=1, description="episodes until the run ends")
    max_cost_usd: Annotated[float | None, BeforeValidator(_none_in_words)] = Field(
        None, gt=0, allow_inf_nan=False, description="US dollars until the run ends; `none`: no limit"
    )
    max_time_sec: Annotated[float | None, BeforeValidator(_seconds_in_words)] = Field(
        None, gt=0, allow_inf_nan=False, description="time until the run ends: seconds, or such as `10m`, `1h30m`"
    )
    runs_dir: str | None = Field(
        None, description="folder of all runs; unset: `$XDG_STATE_HOME/terminus/runs`, `~/.local/state/terminus/runs`"
    )
    logs_dir: str | None = Field(None, description="folder of the run; unset: `<time>-<id>` in the folder of all runs")
    session_id: str | None = Field(None, min_length=1, description="id of the run; unset: a new one")
    interleaved_thinking: bool = Field(default=False, description="send the model's reasoning back to it")
    collect_rollout_details: bool = Field(default=False, description="keep token ids and log-probabilities")
    on_output_limit: Literal["repair", "abort"] = Field(
        "repair", description="after an answer that was cut at the output limit: tell the model, or end the run"
    )
    output_limit_bytes: int = Field(10_000, ge=100, description="bytes of terminal text in one observation")
    max_command_duration_sec: Annotated[float, BeforeValidator(_seconds_in_words)] = Field(
        60.0, gt=0, allow_inf_nan=False, description="seconds that one command may ask to wait"
    )

    @field_validator("logs_dir", "runs_dir", "session_id")
    @classmethod
    def _may_be_in_a_path(cls, value: str | None) -> str | None:
        if value is not None and "\0" in value:
            raise ValueError("it holds a NUL character, which no file's name can hold")
        try:
            os.fsencode(value or "")
        except UnicodeEncodeError:
            raise ValueError("it holds half a surrogate pair, which no file's name can hold") from None
        return value

    @field_validator("logs_dir", "runs_dir")
    @classmethod
    def _expanded(cls, value: str | None) -> str | None:
        try:
            return None if value is None else str(Path(value).expanduser())
        except RuntimeError:
            raise ValueError(f"{value}: no such home folder is known") from None


class TrajectorySettings(BaseModel):
    """The ``[trajectory]`` table: what is recorded, and how."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    raw_content: bool = Field(default=False, description="record the model's answers byte for byte")
    linear_history: bool = Field(default=False, description="a new file at each replaced history")


Sections = dict[str, dict[str, Any]]


class Settings(BaseModel):
    """All settings. A table ``[role.name]`` holds the settings of that part, checked by its own ``Config``."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    agent: AgentSettings = Field(default_factory=AgentSettings)
    trajectory: TrajectorySettings = Field(default_factory=TrajectorySettings)
    environment: Sections = Field(default_factory=dict)
    session: Sections = Field(default_factory=dict)
    parser: Sections = Field(default_factory=dict)
    llm: Sections = Field(default_factory=dict)
    completion: Sections = Field(default_factory=dict)
    context: Sections = Field(default_factory=dict)
    action: Sections = Field(default_factory=dict)
    gate: Sections = Field(default_factory=dict)
    observer: Sections = Field(default_factory=dict)

    def section(self, role: str, name: str) -> dict[str, Any]:
        """The table ``[role.name]`` as it was given; empty if it was not."""
        sections: Sections = getattr(self, role)
        return sections.get(name, {})

    def masked(self) -> dict[str, Any]:
        """Everything that is set, as plain JSON data with secrets as ``***``."""
        masked: dict[str, Any] = mask_secrets(self.model_dump(mode="json", exclude_defaults=False))
        return {role: value for role, value in masked.items() if value}

    @classmethod
    def check(cls, data: Mapping[str, Any], origins: Mapping[str, str] | None = None) -> Settings:
        """Validate nested data.

        Raises:
            ConfigError: one line for the first wrong setting, with its origin where ``origins`` knows it.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ConfigError(explain(error, cls, origins=origins)) from None


# -- layers ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LoadedSettings:
    """Settings, and where each value that is not a default comes from."""

    settings: Settings
    origins: dict[str, str]

    def origin(self, key: str) -> str:
        """Where a setting's value comes from: ``default``, a file, an environment variable, ``command line``."""
        return origin_of(key, self.origins) or "default"


def default_config_file() -> Path:
    """``$XDG_CONFIG_HOME/terminus/terminus.toml``, by default ``~/.config/terminus/terminus.toml``."""
    return _user_folder("XDG_CONFIG_HOME", ".config") / "terminus.toml"


def default_runs_dir() -> Path:
    """``$XDG_STATE_HOME/terminus/runs``, by default ``~/.local/state/terminus/runs``."""
    return _user_folder("XDG_STATE_HOME", ".local/state") / "runs"


def _user_folder(variable: str, default: str) -> Path:
    """The folder ``terminus`` of the user's; one who has no home folder is taken to have ``/``."""
    try:
        return Path(os.environ.get(variable) or f"~/{default}").expanduser() / "terminus"
    except RuntimeError:
        return Path("/", default, "terminus")


def load_settings(
    config_file: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Iterable[tuple[str, Any]] = (),
    defaults: Iterable[tuple[str, Any]] = (),
) -> LoadedSettings:
    """Read all layers.

    Args:
        config_file: a TOML file that must exist; ``None`` reads the default one if it is there.
        environ: environment variables, by default the process's own; ``TERMINUS_AGENT__MODEL`` sets ``agent.model``.
        overrides: dotted keys with values, the strongest layer (the command line).
        defaults: dotted keys with values that take the place of the built-in defaults.

    Raises:
        ConfigError: a file cannot be read, or a setting is unknown or wrong.
    """
    layers = _Layers()
    for key, value in defaults:
        layers.put(tuple(key.split(".")), value, "default")
    path = config_file or default_config_file()
    if config_file is not None or _is_there(path):
        for table, value in _read_toml(path).items():
            layers.put((table,), value, str(path))
    for name, text in sorted((os.environ if environ is None else environ).items()):
        if name.startswith(ENV_PREFIX) and "__" in name:
            keys = tuple(name.removeprefix(ENV_PREFIX).lower().split("__"))
            layers.put(keys, read_value(text, keys), f"environment variable {name}")
    for key, value in overrides:
        layers.put(tuple(key.split(".")), value, "command line")
    return LoadedSettings(Settings.check(layers.data, layers.origins), layers.origins)


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a home folder that this user may not enter
        return False


def read_value(text: str, keys: Sequence[str] = ()) -> Any:
    """A value as written on the command line: JSON, else TOML, else the text itself.

    Args:
        text: what was written.
        keys: the setting that it is for: an ``[agent]`` key that wants a text keeps ``12e4`` as it is.
    """
    value: Any = text
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        if "\n" not in text:
            with suppress(ValueError, RecursionError):
                value = tomllib.loads(f"value = {text}")["value"]
    field = AgentSettings.model_fields.get(keys[1]) if len(keys) == _AGENT_DEPTH and keys[0] == "agent" else None
    is_text = field is not None and field.annotation in (str, str | None)
    if isinstance(value, date | time) or (is_text and not isinstance(value, str | None)):
        return text
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_AGENT_DEPTH, _PART_DEPTH = 2, 3
"""How many words a key has in ``[agent]`` or ``[trajectory]``, and in ``[role.name]``."""


class _Layers:
    """Nested data that grows layer by layer, down to whole values, with the origin of each."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self.origins: dict[str, str] = {}

    def put(self, keys: tuple[str, ...], value: Any, origin: str) -> None:
        """Set one value; a table is merged into what is there."""
        depth = _AGENT_DEPTH if keys[0] in ("agent", "trajectory") else _PART_DEPTH
        if isinstance(value, Mapping) and len(keys) < depth:
            if not value:
                self._table(keys, origin)
            for key, inner in value.items():
                self.put((*keys, key), inner, origin)
            return
        dotted = ".".join(keys)
        self._table(keys[:-1], origin)[keys[-1]] = deepcopy(value)  # a later layer may set something inside it
        for key in [key for key in self.origins if key.startswith(f"{dotted}.")]:
            del self.origins[key]
        self.origins[dotted] = origin

    def _table(self, keys: tuple[str, ...], origin: str) -> dict[str, Any]:
        table = self.data
        for depth, key in enumerate(keys, start=1):
            inner = table.setdefault(key, {})
            if not isinstance(inner, dict):
                there = ".".join(keys[:depth])
                place = origin_of(there, self.origins)
                raise ConfigError(f"setting {there} ({place}) is a value; {origin} sets something inside it")
            table = inner
        return table


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"cannot read settings file {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None


def origin_of(key: str, origins: Mapping[str, str]) -> str:
    """Where the value of a dotted key, or the newest value inside it, comes from; ``""`` if it was not set."""
    if key in origins:
        return origins[key]
    near = [each for each in origins if key.startswith(f"{each}.") or each.startswith(f"{key}.")]
    return origins[near[-1]] if near else ""


# -- clear lines -------------------------------------------------------------------------------------------------------


def nearest(name: str, known: Iterable[str]) -> str:
    """``did you mean 'x'? known: …`` for a name that is not known."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {', '.join(names) or 'none'}"


def explain(
    error: ValidationError,
    model: type[BaseModel],
    prefix: str = "",
    origins: Mapping[str, str] | None = None,
) -> str:
    """The first problem of a pydantic error as one line: which setting, what is wrong, what would be right."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = [str(part) for part in first["loc"]]
    dotted = ".".join([prefix, *path] if prefix else path)
    place = origin_of(dotted, origins or {})
    origin = f" ({place})" if place else ""
    if first["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return f"setting {dotted}{origin}: a table would be right, such as {dotted}.NAME"
    if first["type"] == "extra_forbidden":
        fields = _fields_at(model, path[:-1])
        return f"unknown setting {dotted}{origin}; {nearest(path[-1], fields)}"
    message = first["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"setting {dotted}{origin}: {message[:1].lower()}{message[1:]}" if dotted else message


def _fields_at(model: type[BaseModel], path: list[str]) -> list[str]:
    for name in path:
        annotation = model.model_fields[name].annotation if name in model.model_fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)
