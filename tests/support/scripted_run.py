"""Whole runs through the command line: the real program in a process of its own, a real terminal, a scripted model."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from terminus_core.cli import main

SHELL = "env PS1='$ ' HISTFILE= bash --norc --noprofile"


def typing(*keystrokes: str, done: bool = False, duration: float = 5.0, **more: Any) -> dict[str, Any]:
    """A reply of the format ``json``; ``more`` are further keys of it."""
    commands = [{"keystrokes": each, "duration": duration} for each in keystrokes]
    return {"content": json.dumps({"analysis": "a", "plan": "p", "commands": commands, "task_complete": done, **more})}


DONE = typing(done=True)


def call(name: str, number: int = 1, /, **arguments: Any) -> dict[str, Any]:
    """A native tool call in OpenAI's form."""
    return {
        "id": f"id-{name}-{number}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


@dataclass
class Done:
    """What a run left."""

    code: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def trajectory(self) -> dict[str, Any]:
        return json.loads((self.folder / "trajectory.json").read_text())

    @property
    def steps(self) -> list[dict[str, Any]]:
        return self.trajectory["steps"]

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The steps of the model."""
        return [step for step in self.steps if step["source"] == "agent"]

    @property
    def observations(self) -> list[Any]:
        return [step["observation"]["results"][0]["content"] for step in self.turns]

    @property
    def end(self) -> tuple[str, str]:
        extra = self.trajectory["final_metrics"]["extra"]
        return extra["status"], extra["reason"]


@dataclass
class Program:
    """Starts ``terminus run`` in ``folder``.

    Args:
        folder: a new one; the run's own folder is ``logs`` in it.
        env: further environment variables.
    """

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def arguments(self, *options: str, replies: Any = (), task: str = "the task") -> list[str]:
        """The whole command line, with a scripted model if there are replies."""
        if replies:
            path = self.folder / "replies.jsonl"
            path.write_text("".join(json.dumps(each) + "\n" for each in replies))
            options = ("--llm", "scripted", "--set", f"llm.scripted.replies={path}", *options)
        own = ("--logs-dir", str(self.logs), "--set", f"session.tmux.shell={SHELL}")
        return [sys.executable, "-m", "terminus_core", "run", task, *own, *options]

    @property
    def variables(self) -> dict[str, str]:
        """A home of its own, and nobody's keys and settings."""
        outer = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TERMINUS_", "XDG_")) and not name.endswith(("_API_KEY", "_API_TOKEN"))
        }
        return outer | {"HOME": str(self.folder)} | self.env

    def __call__(self, *options: str, replies: Any = (), task: str = "the task") -> Done:
        done = subprocess.run(
            self.arguments(*options, replies=replies, task=task),
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=100,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr, self.logs)


@contextmanager
def running_here(monkeypatch: Any, capsys: Any) -> Iterator[Callable[..., Done]]:
    """A function that runs a :class:`Program` in this process: litellm's import takes seconds, once."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level

    def run(program: Program, *options: str, **more: Any) -> Done:
        for name in os.environ.keys() - program.variables.keys():
            monkeypatch.delenv(name)
        for name, value in program.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(program.folder)
        capsys.readouterr()
        code = main(program.arguments(*options, **more)[3:])
        return Done(code, *capsys.readouterr(), program.logs)

    yield run
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
