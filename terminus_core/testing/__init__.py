"""Test doubles, conformance suites and an opt-in pytest plugin for people who write plugins.

Nothing in here is imported by the core or by the default plugins.
"""

from terminus_core.testing.doubles import EventRecorder, FakeBackend, FakeEnvironment, FakeLLM, FakeSession

__all__ = ["EventRecorder", "FakeBackend", "FakeEnvironment", "FakeLLM", "FakeSession"]
