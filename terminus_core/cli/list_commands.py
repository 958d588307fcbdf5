"""``terminus plugins``, ``hooks`` and ``config``: what there is."""

from __future__ import annotations

import inspect
import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from terminus_core.cli.cost_limit import DEFAULT_USD
from terminus_core.cli.logs import configure_logging
from terminus_core.cli.option_settings import read_settings
from terminus_core.cli.printing import Lines, literal, print_json
from terminus_core.errors import ConfigError, PluginError
from terminus_core.hook_rules import OBSERVABLE, SPECS, read_hookimpls
from terminus_core.manager import PluginManager
from terminus_core.roles import ROLES
from terminus_core.secrets import mask_secrets
from terminus_core.settings import AgentSettings, nearest

if TYPE_CHECKING:
    from pydantic import BaseModel

    from terminus_core.manager import PluginInfo
    from terminus_core.settings import LoadedSettings, Settings


def _open(options: Mapping[str, Any]) -> tuple[LoadedSettings, PluginManager]:
    """Settings and plugins; plugins that cannot be used are listed with the reason, unless that is to be fatal."""
    configure_logging(verbose=options["verbose"])
    loaded = read_settings(options)
    agent = loaded.settings.agent
    with redirect_stdout(sys.stderr) if options["as_json"] else nullcontext():  # a module may print
        return loaded, PluginManager(agent.plugins, strict=agent.strict_plugins, keep_going=True)


def list_plugins(options: Mapping[str, Any]) -> None:
    """Print every plugin: name, what it brings, distribution, version, status, reason."""
    _, manager = _open(options)
    if options["as_json"]:
        print_json([asdict(info) for info in manager.infos])
        return
    headings = ("plugin", "brings", "distribution", "version", "status")
    Lines(sys.stdout).table(headings, [_plugin_row(info) for info in manager.infos])


def _plugin_row(info: PluginInfo) -> tuple[str, ...]:
    parts = [f"{role} {name}" for role, names in info.parts.items() for name in names]
    parts += sorted(hook for hook in info.hooks if hook in OBSERVABLE)
    status = f"{info.status}: {info.reason}" if info.reason else info.status
    return info.name, ", ".join(parts) or "-", info.distribution or info.source, info.version or "-", status


@dataclass(slots=True)
class _Hook:
    name: str
    signature: str
    doc: str
    implemented_by: list[str]


def list_hooks(options: Mapping[str, Any]) -> None:
    """Print every hook: signature, what it is for, who implements it."""
    _, manager = _open(options)
    by_hook = _implementers(manager)
    hooks = [
        _Hook(
            name,
            str(inspect.signature(spec)).replace("'", ""),
            (inspect.getdoc(spec) or "").partition("\n")[0].replace("``", ""),
            by_hook[name],
        )
        for name, spec in SPECS.items()
    ]
    if options["as_json"]:
        print_json([asdict(hook) for hook in hooks])
        return
    lines = Lines(sys.stdout)
    for hook in hooks:
        lines.write(f"{hook.name}{hook.signature}", bold=True)
        lines.write(f"    {literal(hook.doc)}")
        lines.write(f"    implemented by: {literal(', '.join(hook.implemented_by)) or 'nobody'}")


def _implementers(manager: PluginManager) -> dict[str, list[str]]:
    by_hook: dict[str, list[str]] = {name: [] for name in SPECS}
    for info in manager.infos:
        for hook in info.hooks if info.status == "loaded" else ():
            by_hook[hook].append(info.name)
    for name, observer in manager.parts("observer").items():
        for impl in read_hookimpls(observer, name, OBSERVABLE):
            by_hook[impl.hook].append(f"observer {name}")
    return by_hook


@dataclass(slots=True)
class _Setting:
    key: str
    value: Any
    origin: str
    description: str


def list_settings(options: Mapping[str, Any], prefix: str = "") -> None:
    """Print settings: value with secrets masked, where it comes from, what it means.

    Args:
        options: the command's options.
        prefix: only settings whose keys begin with it.

    Raises:
        ConfigError: a setting is unknown or wrong.
        PluginError: two plugins bring the same part.
    """
    loaded, manager = _open(options)
    manager.check(loaded.settings)
    everything = list(_settings(loaded, manager))
    settings = [each for each in everything if f"{each.key}.".startswith(prefix)]
    if not settings:
        tables = sorted({each.key.rpartition(".")[0] for each in everything})
        raise ConfigError(f"no setting begins with {prefix!r}; {nearest(prefix, tables)}")
    if options["as_json"]:
        print_json([asdict(setting) for setting in settings])
        return
    lines = Lines(sys.stdout)
    width = min(100, shutil.get_terminal_size().columns) if lines.is_terminal else None
    for each in settings:
        line = literal(f"{each.key} = {_shown(each.value)} ({each.origin})")
        meaning = literal(each.description)
        if width is None:
            lines.write(f"{line}  # {meaning}" if meaning else line)
            continue
        for row in textwrap.wrap(line, width, subsequent_indent="    "):
            lines.write(row, bold=each.origin != "default")
        for row in textwrap.wrap(meaning, width, initial_indent="    ", subsequent_indent="    "):
            lines.write(row, dim=True)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _settings(loaded: LoadedSettings, manager: PluginManager) -> Iterable[_Setting]:
    for table in ("agent", "trajectory"):
        model: BaseModel = getattr(loaded.settings, table)
        for field, value in model.model_dump(mode="json").items():
            yield _setting(loaded, table, field, value, type(model))
    for role in ROLES:
        for name, part in sorted(manager.parts(role).items()):
            config: type[BaseModel] | None = getattr(part, "Config", None)
            if config is not None:
                for field, value in _part_values(manager, role, name, config, loaded.settings).items():
                    yield _setting(loaded, f"{role}.{name}", field, value, config)


def _part_values(
    manager: PluginManager, role: str, name: str, config: type[BaseModel], settings: Settings
) -> dict[str, Any]:
    """The settings of a part; of one that is not in use, required ones may be missing."""
    try:
        checked = manager.config(role, name, settings)
    except (ConfigError, PluginError):
        given = settings.section(role, name)
        return {
            name: given.get(name, None if field.is_required() else field.get_default(call_default_factory=True))
            for name, field in config.model_fields.items()
        }
    return checked.model_dump(mode="json") if checked else {}


def _setting(loaded: LoadedSettings, table: str, field: str, value: Any, model: type[BaseModel]) -> _Setting:
    key = f"{table}.{field}"
    origin = loaded.origin(key)
    if origin == "default" and table != "agent" and field in AgentSettings.model_fields:
        shared = loaded.origin(f"agent.{field}")
        origin = shared if shared == "default" else f"agent.{field}, {shared}"
    if origin == "default" and key == "agent.max_cost_usd":
        value, origin = DEFAULT_USD, "default of the command line"
    if origin == "default" and value is None and model.model_fields[field].is_required():
        origin = "required"
    return _Setting(key, mask_secrets({key: value})[key], origin, model.model_fields[field].description or "")
