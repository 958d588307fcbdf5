"""Plugins that are there and not asked for change nothing; each has its page, and what the page says works."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from terminus_core import PluginManager, Settings
from tests.support.markdown_blocks import blocks, run_block
from tests.support.scripted_run import Done

DOCS = Path(__file__).parents[2] / "docs" / "plugins"
OPTIONAL = [
    *("tools", "checklist", "single", "verify", "confirm", "deny", "dry_run"),
    *("loop_guard", "stuck_shell", "compact_old_output", "instruction_extra", "redact"),
]


def recorded(done):
    """The trajectory without what differs from run to run."""
    document = done.trajectory
    del document["session_id"], document["trajectory_id"], document["agent"]["extra"]
    for step in document["steps"]:
        del step["timestamp"]
    return document


def test_the_demo_is_the_same_with_all_of_them_off(program):
    demos = []
    for name, off in (("there", []), ("blocked", OPTIONAL)):
        words = [
            "demo",
            "-q",
            "--logs-dir",
            str(program.folder / name),
            *[word for each in off for word in ("-p", f"no:{each}")],
        ]
        done = subprocess.run(
            [sys.executable, "-m", "terminus_core", *words],
            env=program.variables,
            cwd=program.folder,
            timeout=100,
            check=True,
        )
        demos.append(recorded(Done(done.returncode, "", "", program.folder / name)))
    there, blocked = demos
    assert there == blocked
    assert len(there["steps"]) == 8


@pytest.mark.parametrize("name", [*OPTIONAL, "view_image", "restart_shell"])
def test_each_has_a_page(name):
    page = (DOCS / f"{name}.md").read_text()
    assert page.startswith("# ")
    assert f"`{name}`" in page.partition("\n")[0]
    assert "## What the model sees" in page
    assert f"({name}.md)" in (DOCS / "index.md").read_text()
    for block in blocks(DOCS / f"{name}.md"):
        if block.language == "toml" and not block.word:
            PluginManager().check(Settings.check(tomllib.loads(block.text)))


@pytest.mark.parametrize("name", ["tools", "single", "dry_run"])
def test_commands_of_a_page_work(name, tmp_path):
    for block in blocks(DOCS / f"{name}.md"):
        if block.runs_as_it_stands:
            run_block(block, tmp_path)
