"""What a hook implementation may look like, and finding those of a plugin module, a part's class or a part."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from terminus_core import hookspecs
from terminus_core.errors import PluginError
from terminus_core.roles import ROLES
from terminus_core.settings import nearest

SPECS: dict[str, Any] = {
    name: spec for name, spec in vars(hookspecs).items() if name.startswith("terminus_") and callable(spec)
}
"""Every hook by name."""

OBSERVABLE = frozenset(SPECS) - {role.hook for role in ROLES.values()}
"""Events and filters: the hooks that any part may implement."""

OPTIONS = f"{hookspecs.PROJECT}_impl"
"""The attribute in which pluggy's marker keeps the options of an implementation."""


@dataclass(slots=True)
class HookImpl:
    """One implementation of one hook.

    Attributes:
        attribute: its name in the module or class.
        hook: the hook that it implements.
        function: bound, where it is a method of a part.
        options: as given to ``@hookimpl``.
        argnames: the arguments that it takes by position.
        keywords: those that it takes by name only.
    """

    attribute: str
    hook: str
    function: Any
    options: Mapping[str, Any]
    argnames: tuple[str, ...]
    keywords: tuple[str, ...]


def read_hookimpls(plugin: Any, name: str, offered: Iterable[str]) -> list[HookImpl]:
    """Every hook implementation of a module, class or object, checked against the rules.

    Raises:
        PluginError: an unknown hook, an unknown argument, ``**kw``, an ``async def``, or a hook's name without
            ``@hookimpl``.
    """
    found = []
    offered = frozenset(offered)
    for attribute in dir(plugin):
        static = inspect.getattr_static(plugin, attribute, None)
        options = _options(static)
        if options is None:
            if attribute in offered and inspect.isroutine(static) and static is not SPECS[attribute]:
                raise PluginError(f"{attribute} of {name} has no @hookimpl decorator")
            continue
        hook = options.get("specname") or attribute
        if hook not in SPECS:
            raise PluginError(f"unknown hook {hook!r}; {nearest(hook, offered)}")
        if hook not in offered:
            raise PluginError(f"{hook} registers parts: it belongs in the plugin's module, not in {name}")
        function = getattr(plugin, attribute)
        _refuse_unusual(hook, function, options)
        found.append(HookImpl(attribute, hook, function, options, *_arguments_taken(function, hook)))
    return found


def _options(static: Any) -> Mapping[str, Any] | None:
    """The marker's options, read without running a property or a descriptor."""
    if inspect.isclass(static) or isinstance(static, property):
        return None
    options = getattr(static, "__dict__", {}).get(OPTIONS)
    return options if isinstance(options, Mapping) else None


def _arguments_taken(function: Any, hook: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an implementation takes by position and by name only; those with a default are given too."""
    argnames: list[str] = []
    keywords: list[str] = []
    known = arguments_of(hook)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":  # a class is read before there is an instance
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise PluginError(f"{hook}: `{parameter}` receives nothing; name the arguments, of {', '.join(known)}")
        if parameter.name not in known:
            raise PluginError(f"{hook} takes no argument {parameter.name!r}; it offers: {', '.join(known) or 'none'}")
        (keywords if parameter.kind is parameter.KEYWORD_ONLY else argnames).append(parameter.name)
    return tuple(argnames), tuple(keywords)


@cache
def arguments_of(hook: str) -> tuple[str, ...]:
    """The names of the arguments that a hook offers."""
    return tuple(inspect.signature(SPECS[hook]).parameters)


def _refuse_unusual(hook: str, function: Any, options: Mapping[str, Any]) -> None:
    if options.get("hookwrapper"):
        raise PluginError(f"{hook}: old-style hook wrapper; use @hookimpl(wrapper=True)")
    target = inspect.unwrap(function)
    if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
        raise PluginError(f"{hook}: hooks are not awaited; expected a plain `def`, got `async def`")
    if inspect.isgeneratorfunction(target) and not options.get("wrapper") and hook in OBSERVABLE:
        raise PluginError(f"{hook}: a generator never runs; expected a plain function, or @hookimpl(wrapper=True)")
