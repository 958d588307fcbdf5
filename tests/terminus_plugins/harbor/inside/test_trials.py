"""Whole trials, as people run them: the oracle, this agent, and beside it Harbor's Terminus 2 on the same script."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from harbor.utils.trajectory_validator import TrajectoryValidator

from tests.support.markdown_blocks import blocks
from tests.support.provider_server import ProviderServer, silent
from tests.terminus_plugins.harbor.inside.conftest import KEY, TASK, said

OURS = "terminus_plugins.harbor:TerminusAgent"
SCRIPT = [
    said(("echo ready > done.txt\n", 1.0), ("cat done.txt\n", 0.5)),
    said(("cat > 'a b.txt' <<'END'\none;\n  two \\ #{x} $HOME\nEND\n", 1.0)),
    said(("python3 -q\n", 1.0), ("open('six', 'w').write(str(6*7))\n", 0.5), ("C-d", 1.0)),
    said(("", 0.2)),
    said(done=True),
    said(done=True),
]
FILES = {"done.txt": "ready\n", "a b.txt": "one;\n  two \\ #{x} $HOME\n", "six": "42"}


@dataclass
class Trial:
    """What a trial left."""

    folder: Path
    output: str

    @property
    def result(self):
        return json.loads((self.folder / "result.json").read_text())

    @property
    def trajectory(self):
        return json.loads((self.folder / "agent" / "trajectory.json").read_text())

    @property
    def reward(self):
        return self.result["verifier_result"]["rewards"]["reward"]

    @property
    def files(self):
        return {path.name: path.read_text() for path in (self.folder / "place" / "app").iterdir()}

    @property
    def typed(self):
        steps = self.trajectory["steps"]
        return [
            (call["arguments"]["keystrokes"], call["arguments"]["duration"])
            for step in steps
            for call in step.get("tool_calls") or []
            if call["function_name"] == "bash_command"
        ]


@pytest.fixture
def task(tmp_path):
    """The folder of a task."""
    texts = {
        "task.toml": 'version = "1.0"\n[verifier]\ntimeout_sec = 60\n[agent]\ntimeout_sec = 300\n',
        "instruction.md": TASK,
        "environment/Dockerfile": "FROM debian:bookworm\n",
        "tests/test.sh": (
            "#!/bin/sh\nmkdir -p /logs/verifier\n"
            '[ "$(cat /app/done.txt)" = ready ] && echo 1 > /logs/verifier/reward.txt'
            " || echo 0 > /logs/verifier/reward.txt\n"
        ),
        "solution/solve.sh": "#!/bin/sh\necho ready > /app/done.txt\n",
    }
    for name, text in texts.items():
        path = tmp_path / "task" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "task"


@pytest.fixture
def run_trial(tmp_path, task):
    """``harbor run``, in a process of its own."""

    def run(agent, *words):
        jobs = tmp_path / agent.replace(":", "-")
        command = [sys.executable, "-m", "harbor.cli.main", "run", "-p", task, "--agent", agent]
        environment = ["--env", "bubblewrap:Bubblewrap"]
        done = subprocess.run(
            [*command, *environment, "-o", jobs, "-y", "-q", *words],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        (folder,) = jobs.glob("*/task__*")
        return Trial(folder, done.stdout)

    return run


def test_the_oracle_has_the_reward(run_trial):
    assert run_trial("oracle").reward == 1.0


def test_side_by_side_with_terminus_2(run_trial):
    trials = {}
    for agent, more in ((OURS, []), ("terminus-2", ["--ak", "record_terminal_session=false"])):
        with ProviderServer(SCRIPT) as server:
            trials[agent] = run_trial(agent, "-m", "openai/scripted", "--base-url", server.url, *more)
            assert len(server.requests) == len(SCRIPT)
            assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    ours, theirs = trials.values()
    assert ours.reward == theirs.reward == 1.0
    assert ours.result["exception_info"] is None
    assert ours.typed == theirs.typed
    assert ours.files == theirs.files == FILES
    told, known = ours.result["agent_result"], theirs.result["agent_result"]
    assert told.keys() == known.keys()
    assert told["metadata"].keys() == known["metadata"].keys()
    assert told["metadata"]["n_episodes"] == known["metadata"]["n_episodes"] == len(SCRIPT)
    assert [step["source"] for step in ours.trajectory["steps"]] == [
        step["source"] for step in theirs.trajectory["steps"]
    ]
    validator = TrajectoryValidator()
    assert validator.validate(ours.folder / "agent" / "trajectory.json"), validator.errors
    assert not [path for path in ours.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_time_limit_of_harbor(run_trial, task):
    (task / "task.toml").write_text('version = "1.0"\n[agent]\ntimeout_sec = 25\n')
    with ProviderServer([SCRIPT[0], silent()]) as server:
        trial = run_trial(OURS, "-m", "openai/scripted", "--base-url", server.url)
    assert trial.result["exception_info"]["exception_type"] == "AgentTimeoutError"
    assert trial.reward == 1.0
    assert trial.result["agent_result"]["metadata"]["n_episodes"] == 2
    assert trial.result["agent_result"]["n_input_tokens"] > 0
    assert trial.trajectory["final_metrics"]["extra"]["status"] == "cancelled"
    validator = TrajectoryValidator()
    assert validator.validate(trial.folder / "agent" / "trajectory.json"), validator.errors


PAGE = Path(__file__).parents[4] / "docs" / "places" / "harbor.md"
COMMANDS = [block.text for block in blocks(PAGE) if block.what == "tests in Harbor"]


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_the_commands_of_the_page(tmp_path, task, command):
    (tmp_path / "path" / "to").mkdir(parents=True)
    task.rename(tmp_path / "path" / "to" / "task")
    variables = {
        "PYTHONPATH": str(Path(__file__).parent),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    with ProviderServer([SCRIPT[0], SCRIPT[-1], SCRIPT[-1]]) as server:
        # What a person has set beside it: a key and a URL; and a place that needs no container engine.
        variables |= {"OPENAI_BASE_URL": server.url}
        done = subprocess.run(
            f"{command.strip()} --env bubblewrap:Bubblewrap -y -q",
            shell=True,
            cwd=tmp_path,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    (folder,) = tmp_path.glob("jobs/*/task__*")
    assert Trial(folder, done.stdout).reward == 1.0
