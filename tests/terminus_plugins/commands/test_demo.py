"""``terminus demo``: no key, no network, the same every time."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import last_json

PARTS = ("session_id", "trajectory_id")


@pytest.fixture
def demo(terminus):
    """One demo with a user's own settings, which play no part in it."""
    home = Path(terminus.env["HOME"])
    (home / ".config" / "terminus" / "terminus.toml").write_text("[agent]\nllm = 'litellm'\nparser = 'xml'\n")
    (home / ".bashrc").write_text("echo a start-up file; PS1='mine> '\n")
    return lambda *words: terminus("demo", *words, TERMINUS_AGENT__MODEL="my/own", PS1="$RANDOM ")


def bare(path):
    """A trajectory without times, ids and the agent's extra."""
    document = json.loads(path.read_text())
    for name in PARTS:
        document.pop(name, None)
    document["agent"].pop("extra", None)
    for step in document["steps"]:
        del step["timestamp"]
    return document


def test_the_demo_gives_the_same_trajectory_twice(demo, terminus):
    shown = demo()
    assert (shown.returncode, shown.stderr) == (0, "")
    again = demo("--json", "--set", "session.tmux.pane_width=160")
    assert again.returncode == 0
    first, second = (bare(folder / "trajectory.json") for folder in terminus.runs)
    assert first == second
    check_story(first, shown.stdout)
    totals = last_json(again)["totals"]
    assert (totals["prompt_tokens"], totals["completion_tokens"]) == (18803, 619)
    assert {path.name for path in terminus.folder.iterdir()} == set()


def check_story(document, shown):
    """A batch, a mistake that is repaired, a long output, completion in two steps."""
    steps = document["steps"][1:]
    seen = [step["observation"]["results"][0]["content"] for step in steps]
    assert [len(step.get("tool_calls", [])) for step in steps] == [3, 0, 2, 1, 1, 2, 1]
    assert "tea 3\ncoffee 4\ncake 5\n" in seen[0]
    assert seen[1].startswith("Previous response had parsing errors:\n")
    assert "\n12\n" in seen[2]
    assert "kettle: 3" in seen[3]
    assert "bytes left out here" in seen[4]
    assert 10_000 < len(seen[4].encode()) < 10_200
    assert "total.txt:1" in seen[5]
    assert document["final_metrics"]["extra"]["status"] == "completed"
    lines = shown.splitlines()
    for number in range(1, 8):
        assert [line for line in lines if line.startswith(f"[{number}] ")]
    assert "[2] the answer could not be used: " in shown
    assert [line for line in lines if line.startswith("7 episodes, tokens: 18,803 in, 619 out, ")]
    assert [line for line in lines if line.startswith("trajectory: /") and line.endswith("/trajectory.json")]


def test_options_change_the_demo(demo, terminus):
    logs = terminus.folder / "own"
    done = demo("--max-episodes", "1", "--logs-dir", "own", "--quiet", "-m", "some-name")
    assert done.returncode == 1
    assert done.stdout.startswith("max_episodes \u2014 stopped after the last episode allowed")
    assert bare(logs / "trajectory.json")["agent"]["model_name"] == "some-name"
