"""``terminus new-plugin``: what it writes can be installed, and its tests pass, for every role."""

import subprocess
import sys

import pytest

from terminus_core import PluginManager
from terminus_core.cli import main
from terminus_core.cli.new_plugin import COMMAND
from terminus_core.roles import ROLES
from tests.support.fresh_venv import FreshVenv, undeclared

KINDS = (*ROLES, COMMAND)
SUBSET = "not trio"
"""The suites run in full over our own parts; here the wiring is what counts."""
SESSION_SUBSET = "blocked or asyncio and (look or screen_can or seen or plain_program or session_tells or left_behind)"


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A distribution for each role, all of them installed in one environment."""
    folder = tmp_path_factory.mktemp("plugins")
    for role in KINDS:
        assert main(["new-plugin", f"terminus-my-{role}", "--role", role, "--dir", str(folder)]) == 0
    venv = FreshVenv(folder / "venv")
    venv.install(*[folder / f"terminus-my-{role}" for role in KINDS])
    return folder, venv


@pytest.mark.parametrize("role", KINDS)
def test_its_tests_pass(made, role):
    folder, venv = made
    told = venv.pytest(folder / f"terminus-my-{role}", "-k", SESSION_SUBSET if role == "session" else SUBSET)
    assert " passed" in told
    assert "failed" not in told


def test_the_command_is_found(made):
    folder, venv = made
    assert "Work on INSTRUCTION" in venv.run("-m", "terminus_core", "my_command", "--help", cwd=folder)


def test_all_of_them_are_found(made):
    folder, venv = made
    code = "from terminus_core import PluginManager\nfor role in {}: print(role, *PluginManager().parts(role))"
    found = dict(line.split(" ", 1) for line in venv.run("-c", code.format([*ROLES]), cwd=folder).splitlines())
    for role in ROLES:
        assert f"my_{role}" in found[role].split()


@pytest.mark.parametrize("role", KINDS)
def test_it_names_what_it_needs(made, role):
    folder, _ = made
    assert undeclared(folder / f"terminus-my-{role}") == set()


def test_it_is_typed(made):
    folder, _ = made
    sources = [*folder.glob("terminus-my-*/*.py"), *folder.glob("terminus-my-*/tests/test_*.py")]
    assert len(sources) == 2 * len(KINDS)
    paths = ":".join(str(path) for path in folder.glob("terminus-my-*"))
    _check("mypy", "--strict", "--no-incremental", "--config-file=", *sources, cwd=folder, MYPYPATH=paths)


@pytest.mark.parametrize("words", [("check", "--select=E,F,I,UP,B,PT,TC"), ("format", "--check")], ids="-".join)
def test_it_is_clean(made, words):
    folder, _ = made
    for role in KINDS:
        options = ("--isolated", "--line-length=120", "--no-cache")
        _check("ruff", *words, *options, ".", cwd=folder / f"terminus-my-{role}")


def _check(tool, *words, cwd, **env):
    done = subprocess.run(
        [sys.executable, "-m", tool, *words],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_part_works_in_a_run_before_it_is_packaged(made):
    folder, _ = made
    manager = PluginManager([str(folder / "terminus-my-parser" / "terminus_my_parser.py")])
    assert "my_parser" in manager.parts("parser")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["Shout", "--role", "parser"], "'Shout' is not a name for a distribution"),
        (["terminus-1", "--role", "parser"], "'terminus-1' is not a name for a distribution"),
        (["json", "--role", "parser"], "'json' is not a name for a distribution"),
        (["terminus-core", "--role", "parser"], "'terminus-core' is not a name for a distribution"),
        (["terminus-agent", "--role", "parser"], "'terminus-agent' is not a name for a distribution"),
        (["terminus-plugins", "--role", "parser"], "'terminus-plugins' is not a name for a distribution"),
        (["a/../b", "--role", "parser"], "is not a name for a distribution"),
        (["terminus-shout", "--role", "parsr"], "unknown role 'parsr'; did you mean 'parser'?"),
        (["terminus-tmux", "--role", "session"], "there is a session 'tmux' already"),
        (["taken", "--role", "parser"], "taken: File exists"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_line(tmp_path, capsys, words, line):
    (tmp_path / "taken").mkdir()
    assert main(["new-plugin", *words, "--dir", str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert line in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
