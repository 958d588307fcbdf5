"""Hook rules and hook calls: reads the implementations of a plugin or an observer, and calls them for one run.

pluggy stops at the first exception of a call; here the others are still called.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from terminus_core import hookspecs
from terminus_core.errors import ConfigError, PluginError
from terminus_core.redaction import redacted
from terminus_core.settings import nearest

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse, Message
    from terminus_core.roles import Command, Handoff, Marker, ParseResult, Subagent
    from terminus_core.run import Run, RunResult
    from terminus_core.trajectory import Step

logger = logging.getLogger(__name__)
tracer = logging.getLogger("terminus.hooks")
"""Says each call of a hook and its time, at level INFO."""

ROLES: dict[str, str] = {
    "environment": "terminus_register_environments",
    "session": "terminus_register_session_backends",
    "parser": "terminus_register_response_parsers",
    "llm": "terminus_register_llms",
    "completion": "terminus_register_completion_policies",
    "context": "terminus_register_context_strategies",
    "gate": "terminus_register_gates",
    "observer": "terminus_register_observers",
}
"""Each role with the hook that registers its parts; a role is also the name of its settings table."""

SPECS: dict[str, Any] = {
    name: spec for name, spec in vars(hookspecs).items() if name.startswith("terminus_") and callable(spec)
}
"""Every hook by name."""

OBSERVABLE = frozenset(SPECS) - frozenset(ROLES.values())
"""Hooks that observers may implement: events and filters."""


ANY_FAULT = (Exception, SystemExit)
"""What a stranger's code may raise; ``sys.exit()`` in it must not end the program."""


@dataclass(slots=True)
class HookCall:
    """One implementation of one hook, ready to be called."""

    hook: str
    function: Any
    argnames: tuple[str, ...]
    plugin: str
    tryfirst: bool = False
    trylast: bool = False
    keywords: tuple[str, ...] = ()
    """Arguments that can only be given by name."""
    owner: str = ""
    """The plugin that brings an observer, where that is known."""

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        """Call it with those of ``arguments`` that it takes."""
        function = self.function
        if self.keywords:
            function = partial(function, **{name: arguments[name] for name in self.keywords})
        return traced(self.hook, self.plugin, function, *[arguments[name] for name in self.argnames])

    @property
    def rank(self) -> int:
        """0 for ``tryfirst``, 2 for ``trylast``, else 1."""
        return 0 if self.tryfirst else 2 if self.trylast else 1


def traced(hook: str, plugin: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call an implementation, and say how long it took if anybody wants to know."""
    if not tracer.isEnabledFor(logging.INFO):
        return function(*arguments)
    started = time.perf_counter()
    try:
        return function(*arguments)
    finally:
        tracer.info("%s, %s: %.3f ms", hook, plugin, 1000 * (time.perf_counter() - started))


class Dispatcher:
    """Calls events and filters, one typed method each: plugins by name, then observers in the order given.

    ``tryfirst`` and ``trylast`` are obeyed. A failing implementation is logged with its plugin's name, the others are
    still called.
    """

    def __init__(self, impls: Iterable[HookCall], *, strict: bool = False) -> None:
        self._strict = strict
        self._impls: dict[str, list[HookCall]] = {hook: [] for hook in OBSERVABLE}
        for impl in sorted(impls, key=lambda impl: impl.rank):
            self._impls[impl.hook].append(impl)

    def run_started(self, run: Run) -> None:
        """Publish ``terminus_run_started``."""
        self._event("terminus_run_started", run)

    def request_started(self, run: Run, attempt: int) -> None:
        """Publish ``terminus_request_started``."""
        self._event("terminus_request_started", run, attempt=attempt)

    def response_received(self, run: Run, response: LLMResponse, reply: ParseResult) -> None:
        """Publish ``terminus_response_received``."""
        self._event("terminus_response_received", run, response=response, reply=reply)

    def command_sent(self, run: Run, command: Command, index: int) -> None:
        """Publish ``terminus_command_sent``."""
        self._event("terminus_command_sent", run, command=command, index=index)

    def record_marker(self, run: Run, marker: Marker) -> None:
        """Publish ``terminus_record_marker``."""
        self._event("terminus_record_marker", run, marker=marker)

    def step_recorded(self, run: Run, step: Step) -> None:
        """Publish ``terminus_step_recorded``."""
        self._event("terminus_step_recorded", run, step=step)

    def subagent_finished(self, run: Run, subagent: Subagent) -> None:
        """Publish ``terminus_subagent_finished``."""
        self._event("terminus_subagent_finished", run, subagent=subagent)

    def history_replaced(self, run: Run, handoff: Handoff) -> None:
        """Publish ``terminus_history_replaced``."""
        self._event("terminus_history_replaced", run, handoff=handoff)

    def run_finished(self, run: Run, result: RunResult) -> None:
        """Publish ``terminus_run_finished``."""
        self._tell("terminus_run_finished", {"run": run, "result": result})  # its reason has been redacted

    def prepare_instruction(self, run: Run, instruction: str) -> str:
        """Pass the instruction through ``terminus_prepare_instruction``."""
        filtered: str = self._filter("terminus_prepare_instruction", "instruction", instruction, run, str)
        return filtered

    def prepare_messages(self, run: Run, messages: list[Message]) -> list[Message]:
        """Pass what is sent through ``terminus_prepare_messages``."""
        filtered: list[Message] = self._filter("terminus_prepare_messages", "messages", messages, run, list)
        return filtered

    def filter_observation(self, run: Run, text: str) -> str:
        """Pass the terminal's rows through ``terminus_filter_observation``."""
        filtered: str = self._filter("terminus_filter_observation", "text", text, run, str)
        return filtered

    @property
    def redacts(self) -> bool:
        """Whether anybody implements ``terminus_redact``."""
        return bool(self._impls["terminus_redact"])

    def redact(self, run: Run, text: str) -> str:
        """Pass a text through ``terminus_redact``."""
        filtered: str = self._filter("terminus_redact", "text", text, run, str)
        return filtered

    def _event(self, hook: str, run: Run, **arguments: Any) -> None:
        if self.redacts:
            arguments = redacted(arguments, partial(self.redact, run))
        self._tell(hook, {"run": run, **arguments})

    def _tell(self, hook: str, arguments: Mapping[str, Any]) -> None:
        failures: list[BaseException] = []
        for impl in self._impls[hook]:
            try:
                impl(arguments)
            except ANY_FAULT as error:  # an observer may fail in any way
                failures.append(self._failed(impl, error))
        if failures and self._strict:
            raise failures[0]

    def _filter(self, hook: str, argument: str, value: Any, run: Run, kind: type) -> Any:
        failures = []
        for impl in self._impls[hook]:
            try:
                changed = impl({"run": run, argument: value})
                if changed is not None and not isinstance(changed, kind):
                    raise PluginError(f"returned {type(changed).__name__}; {kind.__name__} or None would be right")
            except ANY_FAULT as error:  # as above
                failures.append(self._failed(impl, error))
            else:
                value = value if changed is None else changed
        if failures and self._strict:
            raise failures[0]
        return value

    @staticmethod
    def _failed(impl: HookCall, error: BaseException) -> BaseException:
        who = f"{impl.plugin} of {impl.owner}" if impl.owner else impl.plugin
        blame(error, who, impl.hook)
        logger.error("%s failed in %s: %s", who, impl.hook, one_line(error), exc_info=error)
        return error


def read_hookimpls(plugin: Any, name: str, offered: Iterable[str]) -> list[HookCall]:
    """Every hook implementation of a module, class or object, checked against the hook rules.

    Raises:
        PluginError: an unknown hook, an unknown argument, an ``async def``, a wrapper, or a hook's name without
            ``@hookimpl``.
    """
    found = []
    offered = frozenset(offered)
    for attribute in dir(plugin):
        if attribute.startswith("__"):
            continue
        function = inspect.getattr_static(plugin, attribute) if attribute.startswith("_") else _get(plugin, attribute)
        options = getattr(function, f"{hookspecs.PROJECT}_impl", None)
        if not isinstance(options, Mapping):
            if attribute in offered and inspect.isroutine(function) and function is not SPECS[attribute]:
                raise PluginError(f"{attribute} of {name} has no @hookimpl decorator")
            continue
        hook = options.get("specname") or attribute
        if hook not in SPECS:
            raise PluginError(f"unknown hook {hook!r}; {nearest(hook, offered)}")
        if hook not in offered:
            raise PluginError(f"{hook} registers parts: it belongs in the plugin's module, not in {name}")
        _refuse_unusual(hook, function, options)
        argnames, keywords = _arguments_taken(function, hook)
        first, last = bool(options.get("tryfirst")), bool(options.get("trylast"))
        found.append(HookCall(hook, function, argnames, name, first, last, keywords))
    return found


@cache
def _arguments_of(hook: str) -> tuple[str, ...]:
    return tuple(inspect.signature(SPECS[hook]).parameters)


def _arguments_taken(function: Any, hook: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an implementation takes, by place and by name only: a default is for whoever calls it otherwise."""
    argnames: list[str] = []
    keywords: list[str] = []
    known = _arguments_of(hook)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue  # observers are read as classes too
        if parameter.name not in known:
            raise PluginError(f"{hook} takes no argument {parameter.name!r}; it offers: {', '.join(known) or 'none'}")
        (keywords if parameter.kind is parameter.KEYWORD_ONLY else argnames).append(parameter.name)
    return tuple(argnames), tuple(keywords)


def _refuse_unusual(hook: str, function: Any, options: Mapping[str, Any]) -> None:
    """Only plain functions are called for hooks."""
    if options.get("wrapper") or options.get("hookwrapper"):
        raise PluginError(f"{hook}: a hook wrapper is not possible here; a plain function is called for each event")
    target = inspect.unwrap(function)
    if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
        raise PluginError(f"{hook}: `async def` would never be awaited; a plain `def` would be right")
    if inspect.isgeneratorfunction(target) and hook not in ROLES.values():
        raise PluginError(f"{hook}: a generator would never run; a plain function would be right")


def _get(plugin: Any, attribute: str) -> Any:
    try:
        return getattr(plugin, attribute)
    except ANY_FAULT:  # a property that fails is no hook
        return None


def blame(error: BaseException, plugin: str, hook: str) -> None:
    """Note on an error which plugin and hook it came from."""
    error.add_note(f"in {plugin}, {hook}")


def one_line(error: BaseException) -> str:
    """An error in one line, with its type unless its text is made for users."""
    text = " ".join(str(error).split())
    return text if isinstance(error, PluginError | ConfigError) else f"{type(error).__name__}: {text}"
