"""The plugin manager: finds plugins, refuses broken ones with a reason, builds parts, hands a run its hooks.

Load order: entry points by name, then what ``plugins=`` and ``-p`` name, in that order.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError, create_model

from terminus_core.discovery import installed, module_called, refuse_foreign_distribution
from terminus_core.errors import ConfigError, PluginError
from terminus_core.hook_rules import OBSERVABLE, SPECS, read_hookimpls
from terminus_core.hooks import ANY_FAULT, Hooks, blame, one_line, traced
from terminus_core.part_rules import fault_of
from terminus_core.roles import ROLES, Part, Role
from terminus_core.settings import AgentSettings, Settings, explain, nearest

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class PluginInfo:
    """One plugin and what became of it."""

    name: str
    source: str
    """The entry point's value, a file, or a module's name."""
    distribution: str = ""
    version: str = ""
    status: Literal["loaded", "blocked", "failed"] = "loaded"
    reason: str = ""
    hooks: list[str] = field(default_factory=list)
    parts: dict[str, list[str]] = field(default_factory=dict)
    """Role → names of the parts that it brings."""

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of this distribution's own."""
        return self.distribution == "terminus-agent"

    def __str__(self) -> str:
        origin = f" ({self.distribution} {self.version})" if self.distribution else f" ({self.source})"
        return f"plugin {self.name!r}{origin}"


class PluginManager:
    """Plugins of one agent.

    Args:
        plugins: modules, objects or names beyond the entry points; a text is a module's name, a file that ends in
            ``.py``, or ``no:NAME``, which blocks an entry point before it is imported; a path is a file.
        strict: a plugin that cannot be used is an error, not a warning.
        keep_going: a plugin that was asked for by name and cannot be used is only listed.

    Raises:
        PluginError: a plugin that was asked for by name cannot be used, or any with ``strict``.
        ConfigError: somebody else's distribution ``terminus-core`` is installed over this package.
    """

    def __init__(self, plugins: Iterable[Any] = (), *, strict: bool = False, keep_going: bool = False) -> None:
        refuse_foreign_distribution()
        self.infos: list[PluginInfo] = []
        self._strict = strict
        self._keep_going = keep_going
        self._plugins: list[tuple[Any, PluginInfo]] = []
        self._parts: dict[str, list[tuple[type[Part], PluginInfo]]] = {role: [] for role in ROLES}
        wanted = [os.fspath(each) if isinstance(each, os.PathLike) else each for each in listed(plugins)]
        blocked = {text.removeprefix("no:") for text in wanted if isinstance(text, str) and text.startswith("no:")}
        self._load_entry_points(blocked)
        for plugin in wanted:
            if not (isinstance(plugin, str) and plugin.startswith("no:")):
                self._load_named(plugin)

    # -- loading -------------------------------------------------------------------------------------------------------

    def _load_entry_points(self, blocked: set[str]) -> None:
        found = installed()
        known = {point.name for point, _, _ in found}
        if unknown := blocked - known:
            name = min(unknown)
            raise ConfigError(f"no:{name}: no plugin {name!r} to block; {nearest(name, known)}")
        for point, distribution, version in found:
            info = PluginInfo(point.name, point.value, distribution, version)
            self.infos.append(info)
            if point.name in blocked:
                info.status = "blocked"
                continue
            try:
                self._register(point.load(), info)
            except ANY_FAULT as error:  # whatever a stranger's module raises at import
                self._refuse(info, error, asked_for=False)

    def _load_named(self, plugin: Any) -> None:
        if isinstance(plugin, str):
            info = PluginInfo(Path(plugin).stem if plugin.endswith(".py") else plugin, plugin)
        else:
            name = getattr(plugin, "__name__", None) or type(plugin).__name__
            info = PluginInfo(name, name)
        self.infos.append(info)
        try:
            self._register(module_called(plugin) if isinstance(plugin, str) else plugin, info)
        except ANY_FAULT as error:  # as above
            self._refuse(info, error, asked_for=True)

    def _refuse(self, info: PluginInfo, error: BaseException, *, asked_for: bool) -> None:
        info.status, info.reason = "failed", one_line(error)
        line = f"{info} cannot be used: {info.reason}"
        if self._strict or (asked_for and not self._keep_going):
            raise PluginError(line) from error
        logger.warning("%s", line)

    def _register(self, plugin: Any, info: PluginInfo) -> None:
        """Check a plugin and collect its parts; on any error nothing of it stays."""
        impls = read_hookimpls(plugin, info.name, SPECS)
        if not impls and not isinstance(plugin, ModuleType):
            raise PluginError("it implements no hook; expected a module, a file or an object with @hookimpl functions")
        if not impls and not info.distribution:
            logger.warning("%s implements no hook: it changes nothing", info)
        for known, other in self._plugins:
            if known is plugin:
                raise PluginError(f"its module is that of {other}, which is loaded already")
            if other.name == info.name and not info.distribution:
                raise PluginError(f"its name is that of {other}, which is loaded already")
        parts = {
            role.name: self._parts_of(info, role, impl.function)
            for role in ROLES.values()
            for impl in impls
            if impl.hook == role.hook
        }
        for role_name, classes in parts.items():
            self._parts[role_name] += [(part, info) for part in classes]
            info.parts[role_name] = [part.name for part in classes]
        info.hooks = [impl.hook for impl in impls]
        self._plugins.append((plugin, info))

    @staticmethod
    def _parts_of(info: PluginInfo, role: Role, function: Any) -> list[type[Part]]:
        try:
            classes = traced(function, role.hook, str(info))()
        except ANY_FAULT as error:
            blame(error, str(info), role.hook)
            raise
        if isinstance(classes, str | Mapping) or not isinstance(classes, Iterable):
            raise PluginError(f"{role.hook}: expected a list of classes, got {type(classes).__name__}")
        found: list[Any] = list(classes)
        for part in found:
            if fault := fault_of(role, part):
                raise PluginError(f"{role.hook}: {fault}")
            read_hookimpls(part, part.name, OBSERVABLE)
        names = [part.name for part in found]
        if twice := {name for name in names if names.count(name) > 1}:
            raise PluginError(f"{role.hook}: two parts are named {min(twice)!r}")
        return found

    # -- parts ---------------------------------------------------------------------------------------------------------

    def parts(self, role: str) -> dict[str, type[Any]]:
        """The known parts of a role by the name that chooses each: ``PLUGIN:NAME`` where ``NAME`` alone does not."""
        return {self._chosen_by(role, part, info): part for part, info in self._parts[role]}

    def _chosen_by(self, role: str, part: type[Part], info: PluginInfo) -> str:
        rivals = [other for each, other in self._parts[role] if each.name == part.name and other is not info]
        if not rivals or info.is_built_in:
            return part.name
        same_plugin_name = any(other.name == info.name for other in rivals)
        return f"{info.distribution if same_plugin_name else info.name}:{part.name}"

    def find(self, role: str, name: str) -> type[Any]:
        """The class of a part.

        Raises:
            ConfigError: no plugin brings it; the line names the nearest known ones, and plugins that failed to load.
            PluginError: several plugins bring it, none of them built in; the line says how to choose.
        """
        return self._find(role, name)[0]

    def _find(self, role: str, name: str) -> tuple[type[Part], PluginInfo]:
        plugin, _, plain = name.rpartition(":")
        found = [
            (part, info)
            for part, info in self._parts[role]
            if part.name == plain and (not plugin or plugin in (info.name, info.distribution))
        ]
        if len(found) > 1 and not plugin:
            found = [(part, info) for part, info in found if info.is_built_in] or found
        if len(found) == 1:
            return found[0]
        if found:
            (_, first), (_, second), *_ = found
            raise PluginError(
                f"two plugins bring the {role} named {plain!r}: {first} and {second}; choose one with "
                f"{role} = {self._chosen_by(role, *found[0])!r}, or block one with -p no:{second.name}"
            )
        missing = [
            f"{info} {info.status}" + (f": {info.reason}" if info.reason else "")
            for info in self.infos
            if info.status != "loaded"
        ]
        raise ConfigError("; ".join([f"unknown {role} {name!r}; {nearest(name, self.parts(role))}", *missing]))

    def who(self, role: str, part: Any) -> str:
        """A part as messages name it: ``parser 'json' of plugin 'json' (terminus-agent 0.1.0)``."""
        owner = self.owner(role, part)
        return f"{role} {name_of(part)!r}" + (f" of {owner}" if owner else "")

    def config(self, role: str, name: str, settings: Settings) -> BaseModel | None:
        """The validated ``Config`` of a part, ``None`` if it has none.

        An ``[agent]`` key fills the field of the same name that its own table leaves unset.

        Raises:
            ConfigError: the part is not known, or a setting of its table is unknown or wrong.
            PluginError: its ``Config`` fails in any other way, or the name is ambiguous.
        """
        part, info = self._find(role, name)
        given = settings.section(role, name)
        model: type[BaseModel] | None = getattr(part, "Config", None)  # an observer may be of any class
        if model is None:
            if given:
                raise ConfigError(f"{role} {name!r} has no settings, but {role}.{name}.{min(given)} is set")
            return None
        shared = {
            key: getattr(settings.agent, key)
            for key in AgentSettings.model_fields.keys() & model.model_fields.keys() & settings.agent.model_fields_set
            if _kinds(AgentSettings, key) == _kinds(model, key)
        }
        try:
            return _strict(model).model_validate({**shared, **given})
        except ValidationError as error:
            raise ConfigError(explain(error, model, prefix=f"{role}.{name}")) from None
        except ConfigError:
            raise
        except ANY_FAULT as error:
            blame(error, str(info), f"{role} {name!r}")
            raise PluginError(f"{role} {name!r} of {info} cannot check its settings: {one_line(error)}") from error

    def owner(self, role: str, part: Any) -> PluginInfo | None:
        """The plugin that brings the class of ``part``, ``None`` if none does."""
        return next((info for known, info in self._parts[role] if known is type(part)), None)

    def check(self, settings: Settings) -> None:
        """Check every ``[role.name]`` table, of unused parts too.

        Raises:
            ConfigError: a part is not known or a setting is wrong. A table of a part that may belong to a blocked or
                failed plugin is let pass.
            PluginError: as :meth:`config`.
        """
        incomplete = any(info.status != "loaded" for info in self.infos)
        for role in ROLES:
            for name in getattr(settings, role):
                known = any(part.name == name.rpartition(":")[2] for part, _ in self._parts[role])
                if known or not incomplete:
                    self.config(role, name, settings)

    def build(self, role: str, name: str, settings: Settings) -> Any:
        """A new part for one run.

        Raises:
            ConfigError: as :meth:`config`.
            PluginError: its constructor or its ``Config`` failed, or it lacks something that its role asks for.
        """
        config = self.config(role, name, settings)
        part, info = self._find(role, name)
        build: Any = part
        try:
            return build() if config is None else build(config)
        except ConfigError:
            raise
        except ANY_FAULT as error:
            blame(error, str(info), f"{role} {name!r}")
            raise PluginError(f"{role} {name!r} of {info} cannot be built: {one_line(error)}") from error

    def hooks(self, parts: Iterable[tuple[str, Any]] = (), *, strict: bool = False) -> Hooks:
        """The hook calls of one run: plugin modules by name, then parts.

        Args:
            parts: the parts of the run with their roles, in the order in which they are called.
            strict: an error of an implementation is raised at the end of the call.

        Raises:
            PluginError: a part breaks the hook rules.
        """
        modules = [(plugin, str(info)) for plugin, info in sorted(self._plugins, key=lambda each: each[1].name)]
        return Hooks(modules, [(part, self.who(role, part)) for role, part in parts], strict=strict)


def _kinds(model: type[BaseModel], key: str) -> set[Any]:
    """The types that a field takes, ``None`` aside: fields of one name may mean different things."""
    annotation = model.model_fields[key].annotation
    return {*(get_args(annotation) or (annotation,))} - {NoneType}


def name_of(part: Any) -> str:
    """A part's name, of an unnamed one its class's."""
    return str(getattr(part, "name", type(part).__name__))


def listed(given: Any) -> list[Any]:
    """What was given where many may be: a text, a path and whatever cannot be gone through are one thing."""
    is_one = isinstance(given, str | os.PathLike) or not isinstance(given, Iterable)
    return [given] if is_one else list(given)


@cache
def _strict(model: type[BaseModel]) -> type[BaseModel]:
    """``model`` with unknown settings refused, unless it says itself what becomes of them."""
    if "extra" in model.model_config:
        return model
    return create_model(model.__name__, __base__=model, __module__=model.__module__, __cls_kwargs__={"extra": "forbid"})
