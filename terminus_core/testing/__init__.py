"""Test doubles, conformance suites and an opt-in pytest plugin for people who write plugins.

Nothing in here is imported by the core or by the default plugins. The suites need pytest and are loaded when used.
"""

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from terminus_core.testing.doubles import EventRecorder, FakeBackend, FakeEnvironment, FakeLLM, FakeSession

if TYPE_CHECKING:
    from terminus_core.testing.actions import ActionTests
    from terminus_core.testing.completion import CompletionPolicyTests
    from terminus_core.testing.context import ContextStrategyTests
    from terminus_core.testing.environments import EnvironmentTests
    from terminus_core.testing.gates import GateTests
    from terminus_core.testing.llms import LLMTests
    from terminus_core.testing.observers import ObserverTests
    from terminus_core.testing.parsers import ResponseParserTests
    from terminus_core.testing.sessions import SessionBackendTests
    from terminus_core.testing.suite import ConformanceSuite, needs
    from terminus_core.testing.trial import FakeParser, Trial

__all__ = [
    "ActionTests",
    "CompletionPolicyTests",
    "ConformanceSuite",
    "ContextStrategyTests",
    "EnvironmentTests",
    "EventRecorder",
    "FakeBackend",
    "FakeEnvironment",
    "FakeLLM",
    "FakeParser",
    "FakeSession",
    "GateTests",
    "LLMTests",
    "ObserverTests",
    "ResponseParserTests",
    "SessionBackendTests",
    "Trial",
    "needs",
]

_HOMES = {
    "ActionTests": "actions",
    "CompletionPolicyTests": "completion",
    "ConformanceSuite": "suite",
    "ContextStrategyTests": "context",
    "EnvironmentTests": "environments",
    "FakeParser": "trial",
    "GateTests": "gates",
    "LLMTests": "llms",
    "ObserverTests": "observers",
    "ResponseParserTests": "parsers",
    "SessionBackendTests": "sessions",
    "Trial": "trial",
    "needs": "suite",
}


if "pytest" in sys.modules:  # a failed check shows its values, as in a test module of the author's own
    _modules = {f"{__name__}.{module.name}" for module in iter_modules(__path__)}
    sys.modules["pytest"].register_assert_rewrite(*_modules - sys.modules.keys())


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
