"""The README's commands and code work as they stand."""

import tomllib
from pathlib import Path

import pytest

from tests.support.markdown_blocks import blocks, run_block, write_files

ROOT = Path(__file__).parents[1]
PAGE = blocks(ROOT / "README.md")
RUNNABLE = [block for block in PAGE if block.language in {"console", "python"} and block.word in {"", "file"}]


@pytest.mark.parametrize("block", RUNNABLE, ids=str)
def test_a_block_works(block, tmp_path):
    write_files(PAGE, tmp_path)
    run_block(block, tmp_path)


def test_what_is_not_run_here_is_known():
    assert [(block.word, block.what) for block in PAGE if block.word not in {"", "file"}] == [
        ("runs", "on a bare Debian 12"),
        ("runs", "on a bare Debian 12"),
        ("needs", "macOS"),
        ("needs", "a package index"),
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
