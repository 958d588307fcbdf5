"""The plugin manager: finds plugins, refuses broken ones with a reason, builds parts, calls hooks.

Nothing else touches pluggy. Load order: entry points by name, then what ``plugins=`` and ``-p`` name, in that order.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pluggy
from pydantic import BaseModel, ValidationError, create_model

from terminus_core import hookspecs
from terminus_core.discovery import installed, module_called, refuse_foreign_distribution
from terminus_core.errors import ConfigError, PluginError
from terminus_core.hooks import (
    ANY_FAULT,
    OBSERVABLE,
    ROLES,
    SPECS,
    Dispatcher,
    HookCall,
    blame,
    one_line,
    read_hookimpls,
    traced,
)
from terminus_core.settings import AgentSettings, Settings, explain, nearest
from terminus_core.shapes import fault_of

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
        self._conflicts: list[str] = []
        self._pm = _Pluggy(hookspecs.PROJECT)
        self._pm.add_hookspecs(hookspecs)
        self._impls: list[tuple[PluginInfo, list[HookCall]]] = []
        self._parts: dict[str, dict[str, tuple[type[Any], PluginInfo]]] = {role: {} for role in ROLES}
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
        if info.reason not in self._conflicts or self._keep_going:  # of those, `check` makes an error
            logger.warning("%s", line)

    def _register(self, plugin: Any, info: PluginInfo) -> None:
        """Check a plugin, let pluggy have it, and collect its parts; on any error nothing of it stays."""
        impls = read_hookimpls(plugin, info.name, SPECS)
        if not impls and not isinstance(plugin, ModuleType):
            raise PluginError("it implements no hook; a module, a file or an object with hooks would be right")
        info.hooks = [impl.hook for impl in impls]
        try:
            self._pm.register(plugin, info.name)
        except ValueError:
            name = self._pm.get_name(plugin) or info.name
            other = next(each for each in self.infos if each.name == name and each.status == "loaded")
            same = "module" if self._pm.is_registered(plugin) else "name"
            raise PluginError(f"its {same} is that of {other}, which is loaded already") from None
        try:
            parts = {role: self._parts_of(info, role, hook) for role, hook in ROLES.items() if hook in info.hooks}
        except BaseException:
            self._pm.unregister(plugin)
            raise
        for role, classes in parts.items():
            for part in classes:
                if part.name in self._parts[role]:
                    other = self._parts[role][part.name][1]
                    self._pm.unregister(plugin)
                    self._conflicts.append(f"two plugins bring the {role} named {part.name!r}: {other} and {info}")
                    raise PluginError(self._conflicts[-1])
        for role, classes in parts.items():
            self._parts[role] |= {part.name: (part, info) for part in classes}
            info.parts[role] = [part.name for part in classes]
        self._impls.append((info, [impl for impl in impls if impl.hook in OBSERVABLE]))

    def _parts_of(self, info: PluginInfo, role: str, hook: str) -> list[type[Any]]:
        caller = getattr(self._pm.hook, hook)
        (impl,) = [each for each in caller.get_hookimpls() if each.plugin_name == info.name]
        try:
            classes = traced(hook, str(info), impl.function)
        except ANY_FAULT as error:
            blame(error, str(info), hook)
            raise
        if isinstance(classes, str | Mapping) or not isinstance(classes, Iterable):
            raise PluginError(f"{hook} returns {type(classes).__name__}; a list of classes would be right")
        found: list[Any] = list(classes)
        for part in found:
            name = getattr(part, "name", None)
            if not isinstance(part, type) or not isinstance(name, str) or not name:
                raise PluginError(f"{hook} returns {part!r}; each has to be a class with a text `name`")
            config = getattr(part, "Config", None)
            if config is not None and not (isinstance(config, type) and issubclass(config, BaseModel)):
                raise PluginError(f"{role} {name!r}: `Config` has to be a pydantic model")
            if role == "observer":
                read_hookimpls(part, name, OBSERVABLE)
        return found

    # -- parts ---------------------------------------------------------------------------------------------------------

    def parts(self, role: str) -> dict[str, type[Any]]:
        """The known parts of a role by name."""
        return {name: part for name, (part, _) in self._parts[role].items()}

    def find(self, role: str, name: str) -> type[Any]:
        """The class of a part.

        Raises:
            ConfigError: no plugin brings it; the line names the nearest known ones, and plugins that failed to load.
        """
        if name in self._parts[role]:
            return self._parts[role][name][0]
        missing = [
            f"{info} {info.status}" + (f": {info.reason}" if info.reason else "")
            for info in self.infos
            if info.status != "loaded"
        ]
        line = f"unknown {role} {name!r}; {nearest(name, self._parts[role])}"
        raise ConfigError("; ".join([line, *missing]))

    def config(self, role: str, name: str, settings: Settings) -> BaseModel | None:
        """The validated ``Config`` of a part, ``None`` if it has none.

        An ``[agent]`` key fills the field of the same name that its own table leaves unset.

        Raises:
            ConfigError: the part is not known, or a setting of its table is unknown or wrong.
            PluginError: its ``Config`` fails in any other way.
        """
        part = self.find(role, name)
        info = self._parts[role][name][1]
        model: type[BaseModel] | None = getattr(part, "Config", None)
        given = settings.section(role, name)
        if model is None:
            if given:
                raise ConfigError(f"{role} {name!r} has no settings, but {role}.{name}.{min(given)} is set")
            return None
        shared = {
            key: getattr(settings.agent, key)
            for key in AgentSettings.model_fields.keys() & model.model_fields.keys() & settings.agent.model_fields_set
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
        return next((info for known, info in self._parts[role].values() if known is type(part)), None)

    def check(self, settings: Settings) -> None:
        """Check that no two plugins bring the same part, and every ``[role.name]`` table, of unused parts too.

        Raises:
            PluginError: two plugins bring a part of one name; the line names both. Or as :meth:`config`.
            ConfigError: a part is not known or a setting is wrong. A table of a part that may belong to a blocked or
                failed plugin is let pass.
        """
        if self._conflicts:
            raise PluginError(self._conflicts[0])
        incomplete = any(info.status != "loaded" for info in self.infos)
        for role in ROLES:
            for name in getattr(settings, role):
                if name in self._parts[role] or not incomplete:
                    self.config(role, name, settings)

    def build(self, role: str, name: str, settings: Settings) -> Any:
        """A new part for one run.

        Raises:
            ConfigError: as :meth:`config`.
            PluginError: its constructor or its ``Config`` failed, or it lacks something that its role asks for.
        """
        config = self.config(role, name, settings)
        part, info = self._parts[role][name]
        try:
            built = part() if config is None else part(config)
        except ConfigError:
            raise
        except ANY_FAULT as error:
            blame(error, str(info), f"{role} {name!r}")
            raise PluginError(f"{role} {name!r} of {info} cannot be built: {one_line(error)}") from error
        if fault := fault_of(role, built):
            raise PluginError(f"{role} {name!r} of {info} cannot be used: {fault}")
        return built

    # -- calling -------------------------------------------------------------------------------------------------------

    def dispatcher(self, observers: Sequence[Any] = (), *, strict: bool = False) -> Dispatcher:
        """The hook calls of one run.

        Args:
            observers: the run's observers, in the order in which they are told.
            strict: an error of an implementation is raised at the end of the call.

        Raises:
            PluginError: an observer breaks the hook rules.
        """
        impls = [
            replace(impl, plugin=str(info))
            for info, own in sorted(self._impls, key=lambda each: each[0].name)
            for impl in own
        ]
        for observer in observers:
            name, owner = getattr(observer, "name", type(observer).__name__), self.owner("observer", observer)
            own = read_hookimpls(observer, f"observer {name!r}", OBSERVABLE)
            impls += [replace(impl, owner=str(owner or "")) for impl in own]
        return Dispatcher(impls, strict=strict)


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


class _Pluggy(pluggy.PluginManager):
    """Does not look twice at what a module imports, which takes a millisecond for each module."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if isinstance(plugin, ModuleType) and not hasattr(vars(plugin).get(name), f"{hookspecs.PROJECT}_impl"):
            return None
        return super().parse_hookimpl_opts(plugin, name)
