"""The README's commands and code work as they stand."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.markdown_blocks import blocks

ROOT = Path(__file__).parents[1]
PAGE = blocks(ROOT / "README.md")
RUNNABLE = [block for block in PAGE if block.language in {"console", "python"} and block.word in {"", "file"}]


@pytest.fixture
def folder(tmp_path):
    for block in PAGE:
        if block.word == "file":
            (tmp_path / block.what).write_text(block.text)
    return tmp_path


@pytest.mark.parametrize("block", RUNNABLE, ids=lambda block: block.text.strip().splitlines()[0][:60])
def test_a_block_works(block, folder):
    env = {**os.environ, "HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["bash", "-euc", block.text] if block.language == "console" else [sys.executable, "-c", block.text]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_not_run_here_is_known():
    assert [(block.word, block.what) for block in PAGE if block.word not in {"", "file"}] == [
        ("runs", "on a bare Debian 12"),
        ("runs", "on a bare Debian 12"),
        ("needs", "macOS"),
        ("needs", "a key"),
        ("needs", "a model server"),
    ]


def test_settings_examples_are_toml():
    for block in PAGE:
        if block.language == "toml":
            tomllib.loads(block.text)


def test_ci_calls_the_test_command_of_the_readme():
    (command,) = [block.text for block in PAGE if block.word == "runs" and "pytest" in block.text]
    assert command.strip().rpartition("&& /opt/terminus/bin/")[2] in (ROOT / ".ci" / "run").read_text()
