"""The hook calls of one run: pluggy makes them, with one typed method for each event and each filter.

pluggy stops a call at the first exception, so each implementation is guarded where it is registered: a failing one is
logged with its plugin's name and the others are still called.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import pluggy

from terminus_core import hookspecs, slow_calls
from terminus_core.errors import ConfigError, PluginError
from terminus_core.hook_rules import OBSERVABLE, OPTIONS, SPECS, HookImpl, read_hookimpls
from terminus_core.secrets import MASK, redacted

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse, Message, RequestFailure
    from terminus_core.result import RunResult
    from terminus_core.run import Run
    from terminus_core.trajectory import Step
    from terminus_core.values import Command, Handoff, Marker, ParseResult, Subagent

logger = logging.getLogger(__name__)
tracer = logging.getLogger("terminus.hooks")
"""Says when each call of an implementation begins and how long it took, at level INFO."""

ANY_FAULT = (Exception, SystemExit)
"""What a stranger's code may raise; ``sys.exit()`` in it must not end the program."""

_FILTERS: dict[str, tuple[str, type]] = {
    "terminus_prepare_instruction": ("instruction", str),
    "terminus_prepare_messages": ("messages", list),
    "terminus_filter_observation": ("text", str),
    "terminus_redact": ("text", str),
}
"""Of each filter the argument that passes from one implementation to the next, and its type."""


class Hooks:
    """Events and filters of one run.

    Args:
        modules: plugin modules, each with the name that messages give it, in the order of the calls; ``tryfirst`` and
            ``trylast`` are obeyed.
        parts: parts, likewise; they are called after the modules.
        strict: an error of an implementation is raised at the end of the call.

    Raises:
        PluginError: an implementation breaks the hook rules.
    """

    def __init__(
        self, modules: Iterable[tuple[Any, str]], parts: Iterable[tuple[Any, str]] = (), *, strict: bool = False
    ) -> None:
        self._strict = strict
        self._failures: list[BaseException] = []
        manager = pluggy.PluginManager(hookspecs.PROJECT)
        manager.add_hookspecs(hookspecs)
        found = [(read_hookimpls(each, who, SPECS), who) for each, who in modules]
        found += [(read_hookimpls(each, who, OBSERVABLE), who) for each, who in parts]
        for number, (impls, who) in reversed([*enumerate(found)]):  # pluggy calls the last one first
            observable = [impl for impl in impls if impl.hook in OBSERVABLE]
            self._register(manager, observable, who, f"{number} {who}")
        self._calls = manager.hook
        self.redacts: bool = bool(self._calls.terminus_redact.get_hookimpls())
        """Whether anybody implements ``terminus_redact``."""

    # -- events --------------------------------------------------------------------------------------------------------

    def run_started(self, run: Run) -> None:
        """Publish ``terminus_run_started``."""
        self._notify("terminus_run_started", run)

    def request_started(self, run: Run, attempt: int) -> None:
        """Publish ``terminus_request_started``."""
        self._notify("terminus_request_started", run, attempt=attempt)

    def request_failed(self, run: Run, failure: RequestFailure) -> None:
        """Publish ``terminus_request_failed``."""
        self._notify("terminus_request_failed", run, failure=failure)

    def response_received(self, run: Run, response: LLMResponse, reply: ParseResult) -> None:
        """Publish ``terminus_response_received``."""
        self._notify("terminus_response_received", run, response=response, reply=reply)

    def command_sent(self, run: Run, command: Command, index: int) -> None:
        """Publish ``terminus_command_sent``."""
        self._notify("terminus_command_sent", run, command=command, index=index)

    def record_marker(self, run: Run, marker: Marker) -> None:
        """Publish ``terminus_record_marker``."""
        self._notify("terminus_record_marker", run, marker=marker)

    def step_recorded(self, run: Run, step: Step, segment: int) -> None:
        """Publish ``terminus_step_recorded``."""
        self._notify("terminus_step_recorded", run, step=step, segment=segment)

    def subagent_finished(self, run: Run, subagent: Subagent) -> None:
        """Publish ``terminus_subagent_finished``."""
        self._notify("terminus_subagent_finished", run, subagent=subagent)

    def history_replaced(self, run: Run, handoff: Handoff) -> None:
        """Publish ``terminus_history_replaced``."""
        self._notify("terminus_history_replaced", run, handoff=handoff)

    def run_finished(self, run: Run, result: RunResult) -> None:
        """Publish ``terminus_run_finished``; the reason in ``result`` is redacted already."""
        self._call("terminus_run_finished", {"run": run, "result": result})

    # -- filters -------------------------------------------------------------------------------------------------------

    def prepare_instruction(self, run: Run, instruction: str) -> str:
        """Pass the instruction through ``terminus_prepare_instruction``."""
        return str(self._filter("terminus_prepare_instruction", run, instruction))

    def prepare_messages(self, run: Run, messages: list[Message]) -> list[Message]:
        """Pass what is sent through ``terminus_prepare_messages``."""
        filtered: list[Message] = self._filter("terminus_prepare_messages", run, messages)
        return filtered

    def filter_observation(self, run: Run, text: str) -> str:
        """Pass the terminal's rows through ``terminus_filter_observation``."""
        filtered: str = self._filter("terminus_filter_observation", run, text)
        return filtered

    def redact(self, run: Run, text: str) -> str:
        """Pass a text through ``terminus_redact``."""
        filtered: str = self._filter("terminus_redact", run, text)
        return filtered

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _notify(self, hook: str, run: Run, **arguments: Any) -> None:
        if self.redacts:
            arguments = redacted(arguments, partial(self.redact, run))
        self._call(hook, {"run": run, **arguments})

    def _filter(self, hook: str, run: Run, value: Any) -> Any:
        chained = _Chained(value)
        self._call(hook, {"run": run, _FILTERS[hook][0]: chained})
        return chained.value

    def _call(self, hook: str, arguments: dict[str, Any]) -> None:
        getattr(self._calls, hook)(**arguments)
        if self._failures:
            failures, self._failures = self._failures, []
            if self._strict:
                raise failures[0]

    # -- implementations -----------------------------------------------------------------------------------------------

    def _register(self, manager: pluggy.PluginManager, impls: list[HookImpl], who: str, name: str) -> None:
        """Register guarded stand-ins for the implementations of one module or part."""
        stand_in = _StandIn()
        for impl in impls:
            guard = self._guarded_wrapper(impl, who) if impl.options.get("wrapper") else self._guarded(impl, who)
            setattr(guard, OPTIONS, {**impl.options, "specname": impl.hook})
            setattr(stand_in, impl.attribute, guard)
        manager.register(stand_in, name)
        for impl in impls:
            caller = getattr(manager.hook, impl.hook)
            (registered,) = [
                each for each in caller.get_hookimpls() if each.function is getattr(stand_in, impl.attribute)
            ]
            registered.argnames = (*impl.argnames, *impl.keywords)

    def _guarded(self, impl: HookImpl, who: str) -> Callable[..., None]:
        """The implementation as pluggy calls it: nothing is raised, and a filter's result goes to the next one."""
        kind = _FILTERS[impl.hook][1] if impl.hook in _FILTERS else object
        what = f"{who} in {impl.hook}"
        function = traced(_by_position(impl), impl.hook, who)

        def call(*arguments: Any) -> None:
            chained = next((each for each in arguments if isinstance(each, _Chained)), None)
            values = [each.value if isinstance(each, _Chained) else each for each in arguments]
            key = slow_calls.begin(what)
            try:
                result = function(*values)
                if chained is not None and result is not None:
                    if not isinstance(result, kind):
                        raise PluginError(f"returned {type(result).__name__}, expected {kind.__name__} or None")
                    chained.value = result
            except ANY_FAULT as error:
                self._failed(impl.hook, who, error)
                if chained is not None and impl.hook == "terminus_redact":
                    chained.value = MASK  # what cannot be masked stays hidden
            finally:
                slow_calls.end(key)

        return call

    def _guarded_wrapper(self, impl: HookImpl, who: str) -> Callable[..., Any]:
        function = _by_position(impl)

        def call(*arguments: Any) -> Any:
            generator = function(*[each.value if isinstance(each, _Chained) else each for each in arguments])
            try:
                next(generator)
            except (StopIteration, *ANY_FAULT) as error:
                self._failed(impl.hook, who, error)
                return (yield)
            result = yield
            try:
                generator.send(result)
            except StopIteration as end:
                return end.value
            except ANY_FAULT as error:
                self._failed(impl.hook, who, error)
            return result

        return call

    def _failed(self, hook: str, who: str, error: BaseException) -> None:
        blame(error, who, hook)
        logger.error("%s failed in %s: %s", who, hook, one_line(error), exc_info=error)
        self._failures.append(error)


class _StandIn:
    """What pluggy registers in place of a module or part; its attributes are the guarded implementations."""


class _Chained:
    """A filter's value on its way from one implementation to the next."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def traced(function: Callable[..., Any], hook: str, who: str) -> Callable[..., Any]:
    """``function`` with the begin and the time of each call told, if anybody wants to know."""
    if not tracer.isEnabledFor(logging.INFO):
        return function

    def call(*arguments: Any) -> Any:
        tracer.info("%s, %s: begins", hook, who)
        started = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            tracer.info("%s, %s: %.3f ms", hook, who, 1000 * (time.perf_counter() - started))

    return call


def _by_position(impl: HookImpl) -> Callable[..., Any]:
    """The function with every argument by position, those that it takes by name only behind the others."""
    if not impl.keywords:
        return impl.function  # type: ignore[no-any-return]  # an implementation is whatever its plugin made it
    n = len(impl.argnames)
    return lambda *arguments: impl.function(*arguments[:n], **dict(zip(impl.keywords, arguments[n:], strict=True)))


def blame(error: BaseException, plugin: str, hook: str) -> None:
    """Note on an error which plugin and hook it came from."""
    error.add_note(f"in {plugin}, {hook}")


def one_line(error: BaseException) -> str:
    """An error in one line, with its type unless its text is made for users."""
    text = " ".join(str(error).split())
    return text if isinstance(error, PluginError | ConfigError) else f"{type(error).__name__}: {text}"
