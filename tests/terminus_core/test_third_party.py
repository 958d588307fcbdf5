"""Other people's plugins: a folder that pip installs, the same file without packaging, a terminal of their own."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.uv import find_uv

PROJECT = """[project]
name = "terminus-shout"
version = "0.3"
[project.entry-points.terminus_core]
shout = "shout"
"""

MODULE = '''"""Answers are lines that begin with !, and SHOUTED is a claim."""
from terminus_core import Command, ParseResult, ResponseParser, hookimpl


class Shout(ResponseParser):
    name = "shout"
    error_response_type = "shouted line"

    def build_prompt(self, instruction, terminal_state):
        return f"SHOUT!\\n{instruction}\\n{terminal_state}"

    def parse_response(self, response):
        text = response.content
        if text == "SHOUTED":
            return ParseResult(is_task_complete=True)
        if not text.startswith("!"):
            return ParseResult(error="it was not shouted")
        return ParseResult([Command(text[1:] + "\\n", 0.2)])

    def completion_confirmation(self, terminal_output):
        return f"REALLY SHOUTED?\\n{terminal_output}"


@hookimpl
def terminus_register_response_parsers():
    return [Shout]
'''

TERMINAL = '''"""A terminal without tmux: each line is a command of its own."""
import time
from contextlib import asynccontextmanager
from terminus_core import Session, SessionBackend, TerminalText, hookimpl


class Lines(Session):
    def __init__(self, environment):
        self.environment, self.new = environment, "ready"

    async def send_keys(self, keystrokes, *, block=False, min_timeout_sec=0.0, max_timeout_sec=180.0):
        self.new = (await self.environment.exec(keystrokes)).stdout

    async def get_incremental_output(self):
        text, self.new = self.new, ""
        return TerminalText(text, kind="new" if text else "none")

    async def capture_pane(self, *, entire=False):
        return self.new

    async def is_session_alive(self):
        return True

    def listen(self, listener):
        return lambda: None


class Backend(SessionBackend):
    name = "lines"

    @asynccontextmanager
    async def open(self, environment, options):
        yield Lines(environment)


@hookimpl
def terminus_register_session_backends():
    return [Backend]
'''

REPLIES = ["just echo", "!echo made by hand > made.txt; cat made.txt", "SHOUTED", "SHOUTED"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "dist" / "shout.py").write_text(MODULE)
    (tmp_path / "lines.py").write_text(TERMINAL)
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps({"content": text}) + "\n" for text in REPLIES))
    (tmp_path / "work").mkdir()
    return tmp_path


def terminus(folder, *words, path=""):
    """Run the task; gives what the model was told: the first prompt, then each observation."""
    command = [sys.executable, "-m", "terminus_core", "run", "Make a file.", "--llm", "scripted", "--parser", "shout"]
    command += ["--set", f"llm.scripted.replies={folder}/replies.jsonl", "--logs-dir", str(folder / "run"), "--json"]
    env = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(path)}
    done = subprocess.run(
        [*command, *words], cwd=folder / "work", env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["status"] == "completed"
    assert (folder / "work" / "made.txt").read_text() == "made by hand\n"
    first, *steps = json.loads((folder / "run" / "trajectory.json").read_text())["steps"]
    return [first["message"], *(step["observation"]["results"][0]["content"] for step in steps)]


def check(told):
    assert told[0].startswith("SHOUT!\nMake a file.\n")
    assert told[1].startswith("Previous response had parsing errors:\nERROR: it was not shouted\n\n")
    assert told[1].endswith("provide a proper shouted line.")
    assert "made by hand" in told[2]
    assert told[3].startswith("REALLY SHOUTED?\n")


def test_an_installed_distribution_adds_a_parser(folder):
    site = folder / "site"
    install = [find_uv(), "pip", "install", "-q", "--no-deps", "--target", str(site), str(folder / "dist")]
    subprocess.run(install, check=True)
    check(terminus(folder, path=site))


def test_the_same_file_works_without_packaging(folder):
    check(terminus(folder, "-p", str(folder / "dist" / "shout.py")))


def test_a_terminal_of_somebody_elses_with_tmux_blocked(folder):
    words = ["-p", str(folder / "dist" / "shout.py"), "-p", str(folder / "lines.py"), "-p", "no:tmux"]
    check(terminus(folder, *words, "--session", "lines"))
