"""An opt-in pytest plugin with doubles: ``pytest_plugins = ["terminus_core.testing.pytest_plugin"]`` in a conftest."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from terminus_core.testing.doubles import EventRecorder, FakeBackend, FakeEnvironment, FakeLLM, FakeSession
from terminus_core.testing.trial import Trial

if TYPE_CHECKING:
    from terminus_core import LLMResponse

_NO_TRIO = pytest.mark.skipif(find_spec("trio") is None, reason="trio is not installed: pip install trio")


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=_NO_TRIO)])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Both event loops: a test marked ``anyio`` runs once on each."""
    backend: str = request.param
    return backend


@pytest.fixture
def fake_llm() -> Callable[..., FakeLLM]:
    """Makes a model that says what it is told: ``fake_llm("one answer", "another")``."""

    def make(*replies: str | LLMResponse | BaseException) -> FakeLLM:
        return FakeLLM(replies)

    return make


@pytest.fixture
def fake_session() -> FakeSession:
    """A terminal that notes the keystrokes and shows nothing."""
    return FakeSession()


@pytest.fixture
def fake_backend(fake_session: FakeSession) -> FakeBackend:
    """What opens :func:`fake_session`."""
    return FakeBackend(fake_session)


@pytest.fixture
def fake_environment() -> FakeEnvironment:
    """A place with a dictionary for a file system."""
    return FakeEnvironment()


@pytest.fixture
def event_recorder() -> EventRecorder:
    """An observer that keeps every event."""
    return EventRecorder()


@pytest.fixture
def trial(tmp_path: Path) -> Callable[..., Trial]:
    """Makes a run in which everything is a double that is not given: ``trial(results, gates=[gate])``."""
    return partial(Trial, logs_dir=tmp_path / "run")
