"""A task, a place of Harbor's, and a provider with a script, for tests in the interpreter that has Harbor."""

import json
import shutil
from contextlib import asynccontextmanager

import pytest
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from tests.support.provider_server import answer
from tests.terminus_plugins.harbor.inside.bubblewrap import Bubblewrap

TASK = "Write the word ready into the file /app/done.txt."
KEY = "sk-scripted-0123456789abcdef"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HARBOR_TELEMETRY", "0")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def place(tmp_path):
    """Opens a place of its own for a test."""
    if shutil.which("bwrap") is None:
        pytest.fail("bwrap is not installed: apt-get install bubblewrap")

    @asynccontextmanager
    async def opened():
        paths = TrialPaths(tmp_path / "trial")
        paths.mkdir()
        environment = Bubblewrap(tmp_path, "task", "task__1", paths, EnvironmentConfig())
        await environment.start(force_build=False)
        try:
            yield environment
        finally:
            await environment.stop(delete=True)

    return opened


def said(*commands, done=False, **more):
    """An answer of the model in JSON; a command is its keystrokes and seconds."""
    asked = [{"keystrokes": keys, "duration": seconds} for keys, seconds in commands]
    body = {"analysis": "So it stands.", "plan": "Go on.", "commands": asked, "task_complete": done}
    return answer(json.dumps(body), **more)
