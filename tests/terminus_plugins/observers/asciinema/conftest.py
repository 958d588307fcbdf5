"""Runs that are recorded, with doubles around the recorder or in a real terminal."""

import json
import sys
from pathlib import Path

import pytest

from terminus_core import Agent
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM, FakeSession
from terminus_plugins.observers.asciinema import AsciinemaConfig, AsciinemaObserver


def answer(*keystrokes, plan="", done=False, seconds=0.1):
    commands = [{"keystrokes": each, "duration": seconds} for each in keystrokes]
    return json.dumps({"analysis": "", "plan": plan, "commands": commands, "task_complete": done})


DONE = answer(done=True)


def read(path):
    """Header and events of a recording, every line of which must be whole; times are absolute and never go back."""
    header, *lines = path.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == "", "the file ends with a whole line"
    header = json.loads(header)
    at, events = 0.0, []
    for line in lines:
        stamp, code, data = json.loads(line)
        assert stamp >= (0 if header["version"] == 3 else at)
        at = at + stamp if header["version"] == 3 else stamp
        events.append((at, code, data))
    return header, events


def texts(events, code):
    return [data for _, each, data in events if each == code]


@pytest.fixture
def record(tmp_path):
    """Run with doubles: gives the recording's path. ``outputs``: what the terminal shows at each look."""

    async def run(replies, *, outputs=(), session=None, observers=(), folder="run", **config):
        session = session or FakeSession(outputs)
        agent = Agent(
            llm=FakeLLM(replies),
            parser="json",
            environment=FakeEnvironment(),
            session=FakeBackend(session),
            observers=["atif", AsciinemaObserver(AsciinemaConfig(**config)), *observers],
            logs_dir=tmp_path / folder,
        )
        run.result = await agent.run("Sweep the floor.\nThen rest.")
        return tmp_path / folder / "recording.cast"

    return run


@pytest.fixture
def python():
    """This interpreter, for processes of the tests' own."""
    return Path(sys.executable)
