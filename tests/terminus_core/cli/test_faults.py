"""Bugs of parts and plugins, wherever in a run: one line, exit 1, a traceback in the run's folder, a whole result."""

import json

import pytest

from tests.support.command_line import last_json

PARTS = """
from terminus_core import LLM, LLMResponse, hookimpl
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM


async def fail(*_):
    raise ValueError("oh [/] no")


class Place(FakeEnvironment):
    name = "place"


class Terminal(FakeBackend):
    name = "terminal"


class Model(FakeLLM):
    name = "model"

    def __init__(self):
        super().__init__(['{"analysis": "", "plan": "", "commands": [], "task_complete": true}'] * 2)


class Watch:
    name = "watch"

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    @hookimpl
    def terminus_run_finished(self, run):
        if hasattr(self, "finished"):
            self.finished(run)


@hookimpl
def terminus_register_environments():
    return [Place]


@hookimpl
def terminus_register_session_backends():
    return [Terminal]


@hookimpl
def terminus_register_llms():
    return [Model]


@hookimpl
def terminus_register_observers():
    return [Watch]

"""
WORDS = ("--environment", "place", "--session", "terminal", "--llm", "model", "--observer", "watch")
STRICT = ("--set", "agent.observers_strict=true")


@pytest.fixture
def broken(terminus, in_process):
    """Run with doubles, where a line of Python has broken one of them."""

    def run(line, *words):
        return in_process("run", "task", *terminus.plugin(PARTS + line + "\n"), *WORDS, *words, "--json")

    return run


def test_a_fault_after_the_result_is_the_result(broken, terminus):
    finished = "def finished(self, run):\n    raise ValueError('oh [/] no')\nWatch.finished = finished"
    for line, words in ((finished, STRICT), ("Place.__aexit__ = fail", ())):
        done = broken(line, *words)
        result = last_json(done)
        assert done.returncode == 1
        assert result["status"] == "error"
        assert result["reason"].startswith("ValueError: oh [/] no")
        assert result["totals"]["prompt_tokens"] == 200
        assert str(terminus.runs[-1] / "trajectory.json") in result["files"]
        assert result["n_episodes"] == 2
        assert f"terminus: {result['reason']}" in done.stderr.splitlines()
        record = json.loads((terminus.runs[-1] / "run.json").read_text())
        assert (record["status"], record["n_episodes"]) == ("error", 2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Place.__aenter__ = fail", ()),
        ("Terminal.open = lambda self, place, options: 1 / 0", ()),
        ("Model.prepare = fail", ()),
        ("Watch.__aenter__ = fail", STRICT),
    ],
    ids=["environment", "session", "llm", "observer"],
)
def test_a_bug_before_the_start_is_one_line_too(broken, terminus, line, words):
    done = broken(line, *words)
    (folder,) = terminus.runs
    result = last_json(done)
    assert done.returncode == 1
    assert result["status"] == "error"
    assert f"(traceback: {folder / 'traceback.txt'})" in result["reason"]
    assert "mine.py" in (folder / "traceback.txt").read_text()
    assert f", in plugin 'mine' ({terminus.folder / 'mine.py'})" in result["reason"]
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[0] == f"terminus: {result['reason']}"
    assert json.loads((folder / "run.json").read_text())["status"] == "error"


def test_an_observer_that_cannot_be_entered_or_left_says_why(broken):
    done = broken("Watch.__aenter__ = fail")
    assert done.returncode == 0
    assert "terminus: observer 'watch' of plugin 'mine'" in done.stderr
    assert "could not be entered: ValueError: oh [/] no" in done.stderr
    done = broken("Watch.__aexit__ = fail")
    assert done.returncode == 0
    assert "could not be left: ValueError: oh [/] no" in done.stderr


def test_whatever_a_plugin_leaves_in_the_result_is_told(broken, terminus):
    line = """
def finished(self, run):
    run.files += ["notes.txt", run.logs_dir / "more.txt", 5]
    run.metadata |= {("a", 1): float("nan"), "itself": run.metadata, "set": {1}, "deep": [{"object": object}, 0.5]}
Watch.finished = finished
"""
    done = broken(line)
    result = last_json(done)
    assert (done.returncode, result["status"]) == (0, "completed")
    assert [str(terminus.folder / "notes.txt"), str(terminus.runs[0] / "more.txt")] == result["files"][-3:-1]
    assert result["metadata"] == {
        "('a', 1)": "nan",
        "itself": "(itself)",
        "set": [1],
        "deep": [{"object": "<class 'object'>"}, 0.5],
    }
    assert "Traceback" not in done.stderr
