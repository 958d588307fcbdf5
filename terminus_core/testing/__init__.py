"""Test doubles, conformance suites and an opt-in pytest plugin for people who write plugins.

Nothing in here is imported by the core or by the default plugins. The suites need pytest and are loaded when used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from terminus_core.testing.doubles import EventRecorder, FakeBackend, FakeEnvironment, FakeLLM, FakeSession

if TYPE_CHECKING:
    from terminus_core.testing.environments import EnvironmentTests
    from terminus_core.testing.suite import ConformanceSuite, needs

__all__ = [
    "ConformanceSuite",
    "EnvironmentTests",
    "EventRecorder",
    "FakeBackend",
    "FakeEnvironment",
    "FakeLLM",
    "FakeSession",
    "needs",
]

_SUITES = {"ConformanceSuite": "suite", "EnvironmentTests": "environments", "needs": "suite"}


def __getattr__(name: str) -> Any:
    if name in _SUITES:
        return getattr(import_module(f"{__name__}.{_SUITES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
