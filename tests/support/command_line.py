"""The real program, in a process of its own or in this one, with a home and a folder of its own."""

import json
import logging
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from terminus_core.cli import main

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def reply(*commands, done=False, analysis="the state", plan="the plan", usage=(100, 10)):
    """One line of a script: commands are keystrokes or (keystrokes, seconds)."""
    typed = [each if isinstance(each, tuple) else (each, 5.0) for each in commands]
    content = {
        "analysis": analysis,
        "plan": plan,
        "commands": [{"keystrokes": keys, "duration": seconds} for keys, seconds in typed],
        "task_complete": done,
    }
    return {
        "content": json.dumps(content),
        "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1], "cost_usd": 0.01},
    }


DONE = (reply(done=True), reply(done=True))


@dataclass
class Terminus:
    """Starts ``terminus`` in ``folder``."""

    folder: Path
    env: dict[str, str]

    def __call__(self, *arguments, stdin="", **env):
        return subprocess.run(
            [sys.executable, "-m", "terminus_core", *arguments],
            cwd=self.folder,
            env=self.env | env,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    def start(self, *arguments, ignore=(), **env):
        """A process to talk to; ``ignore`` are signals that its parent has switched off."""

        def set_signals():
            for each in SIGNALS:
                signal.signal(each, signal.SIG_IGN if each in ignore else signal.SIG_DFL)

        return subprocess.Popen(
            [sys.executable, "-m", "terminus_core", *arguments],
            cwd=self.folder,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            preexec_fn=set_signals,  # noqa: PLW1509 - the tests' process starts no threads that hold locks here
        )

    def script(self, *replies):
        """Options that let a scripted model give these replies."""
        path = self.folder / "replies.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in replies))
        return ("--llm", "scripted", "--set", f"llm.scripted.replies={path}")

    def plugin(self, source, name="mine"):
        """A plugin file; gives the option that loads it."""
        path = self.folder / f"{name}.py"
        path.write_text(source)
        return ("-p", str(path))

    def distribution(self, name, entries, version="1.2.3", group="terminus_core", target=""):
        """An installed distribution whose entry points are these modules: ``{entry: source}``."""
        site = self.folder / "site"
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"[{group}]"]
        for entry, source in entries.items():
            module = f"{name.replace('-', '_')}_{entry}"
            (site / f"{module}.py").write_text(source)
            lines.append(f"{entry} = {module}{target}")
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        self.env["PYTHONPATH"] = str(site)

    @property
    def runs(self):
        """The folders of the runs so far, oldest first."""
        folder = Path(self.env["HOME"], ".local", "state", "terminus", "runs")
        return sorted(folder.glob("*/"), key=lambda path: path.stat().st_ctime_ns)

    def trajectory(self):
        return json.loads((self.runs[-1] / "trajectory.json").read_text())


@pytest.fixture
def in_process(terminus, monkeypatch, capsys):
    """``terminus`` in this process, for what ends before a run: many of them take no time."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    monkeypatch.chdir(terminus.folder)
    monkeypatch.setenv("HOME", terminus.env["HOME"])
    monkeypatch.delenv("XDG_STATE_HOME")

    def call(*words):
        capsys.readouterr()
        code = main(words)
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    yield call
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


@pytest.fixture
def terminus(tmp_path):
    home, folder = tmp_path / "home", tmp_path / "work"
    (home / ".config" / "terminus").mkdir(parents=True)
    folder.mkdir()
    own = {key: value for key, value in os.environ.items() if not key.startswith(("TERMINUS_", "PYTHON", "XDG_"))}
    return Terminus(folder, own | {"HOME": str(home)})


def last_json(done):
    """The result: the last line of stdout."""
    return json.loads(done.stdout.splitlines()[-1])


def read_until(stream, text):
    """Lines up to the one that holds ``text``."""
    lines = []
    for line in stream:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"{text!r} never came, but {lines}")
