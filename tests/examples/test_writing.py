"""The pages on writing plugins: their commands work as they stand."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from terminus_core import testing
from terminus_core.roles import ROLES
from tests.support.markdown_blocks import blocks, run_block, write_files

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "writing").glob("*.md"))
START = blocks(ROOT / "docs" / "writing" / "index.md")
MOST_COMMANDS = 10
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""What is installed is here already, and what is built is built with what is here."""


@pytest.mark.timeout(240)
def test_ten_commands_lead_to_a_wheel_whose_tests_pass(tmp_path):
    (path,) = [block for block in START if block.what == "one by one"]
    (upload,) = [block for block in START if block.what == "an account"]
    (use,) = [block for block in START if block.what == "in the environment made above"]
    commands = path.text.splitlines()
    assert len(commands) + len(upload.text.splitlines()) <= MOST_COMMANDS
    _shell(commands[:1], tmp_path)
    _provide(tmp_path / ".venv")
    told = _shell(commands[1:], tmp_path)
    assert re.search(r"\d+ passed", told)
    assert re.search(r"^shout +parser shout +terminus-shout +0\.1\.0 +loaded$", told, re.MULTILINE)
    assert [each.name for each in (tmp_path / "terminus-shout" / "dist").iterdir()] == [
        "terminus_shout-0.1.0-py3-none-any.whl"
    ]
    write_files(START, tmp_path)
    assert "completed" in _shell([". .venv/bin/activate", use.text], tmp_path)


def _provide(venv):
    """What the index would give: this package, what it depends on, and pytest."""
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    for command, module in {"terminus": "terminus_core", "pytest": "pytest"}.items():
        (venv / "bin" / command).write_text(f'#!/bin/sh\nexec {venv}/bin/python -m {module} "$@"\n')
        (venv / "bin" / command).chmod(0o755)


def _shell(commands, folder):
    path = os.environ["PATH"].split(":")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "VIRTUAL_", "PYTHON"))}
    # The interpreter of the tests, without their environment.
    env |= {**OFFLINE, "HOME": str(folder), "PATH": ":".join([sys.base_prefix + "/bin", *path])}
    done = subprocess.run(
        ["bash", "-euc", "\n".join(commands)],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "index.md"], ids=lambda page: page.stem)
def test_blocks_run_in_their_order(page, tmp_path):
    write_files(blocks(page), tmp_path)
    for block in blocks(page):
        if block.runs_as_it_stands:
            run_block(block, tmp_path)


def test_each_block_says_what_it_is():
    known = {"an account", "one by one", "in the environment made above"}
    for page in PAGES:
        for block in blocks(page):
            assert block.runs_as_it_stands or block.word in {"file", "shows"} or block.what in known, block


def test_sources_that_are_shown_are_there():
    shown = [name for page in PAGES for name in re.findall(r'^--8<-- "(.+)"$', page.read_text(), re.MULTILINE)]
    assert len(shown) == 3
    for name in shown:
        assert (ROOT / name).is_file()


def test_the_page_on_tests_names_every_suite_fixture_and_double():
    text = (ROOT / "docs" / "writing" / "testing.md").read_text()
    suites = {name for name in testing.__all__ if name.endswith("Tests")}
    assert len(suites) == len(ROLES)
    for name in [*testing.__all__]:
        assert f"`{name}`" in text or name in {"ConformanceSuite", "needs"}, name
    plugin = (Path(testing.__file__).parent / "pytest_plugin.py").read_text()
    for fixture in re.findall(r"^@pytest\.fixture\ndef (\w+)", plugin, re.MULTILINE):
        assert f"`{fixture}`" in text, fixture


def test_the_page_on_sessions_names_every_capability():
    text = (ROOT / "docs" / "writing" / "sessions.md").read_text()
    for capability in testing.SessionBackendTests.known_capabilities:
        assert f"`{capability}`" in text, capability


def test_lines_of_the_table_of_mistakes_are_the_programs():
    code = "\n".join(
        (ROOT / "terminus_core" / name).read_text()
        for name in ("hooks.py", "hook_rules.py", "manager.py", "settings.py", "discovery.py")
    )
    text = (ROOT / "docs" / "writing" / "testing.md").read_text().partition("| mistake | line |")[2]
    lines = re.findall(r"^\| .+? \| `(.+?[^\\])`(?:,.*)? \|$", text.partition("\n\n")[0], re.MULTILINE)
    assert len(lines) == 7
    for line in lines:
        for piece in re.split(
            r"'[^']*'|…|shout|\(…\)|ImportError|ValueError|terminus_step_record\w*|steps|run, step, segment|parser",
            line,
        ):
            words = piece.replace("\\`", "`").strip(" :;")
            assert words in code, (line, words)
