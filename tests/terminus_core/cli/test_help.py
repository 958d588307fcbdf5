"""Help is there at once, and nothing heavy is loaded for it."""

import subprocess
import sys

import pytest

HEAVY = ("pydantic", "rich", "anyio", "litellm", "paramiko", "pluggy")
OPTIONS = [
    *("-m, --model", "--api-base", "--llm", "--parser", "--session", "--environment", "--completion", "--context"),
    *("--gate", "--observer", "--max-episodes", "--max-cost", "--max-time", "--logs-dir", "--config", "--set", "-p"),
    *("--strict-plugins", "--json", "-q, --quiet", "-v, --verbose"),
]
WATCH = """
import socket, sys
def refuse(*_): raise AssertionError("the network was asked")
socket.socket.connect = socket.getaddrinfo = refuse
from terminus_core.cli import main
code = main({arguments})
print("LOADED", *[name for name in {heavy} if name in sys.modules])
raise SystemExit(code)
"""


def loaded(arguments, heavy, terminus):
    done = subprocess.run(
        [sys.executable, "-c", WATCH.format(arguments=arguments, heavy=heavy)],
        cwd=terminus.folder,
        env=terminus.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["demo", "-h"]], ids=" ".join)
def test_help_loads_nothing_heavy(arguments, terminus):
    assert loaded(arguments, HEAVY, terminus) == []


@pytest.mark.parametrize("arguments", [["plugins"], ["hooks"], ["config"]], ids=lambda words: f"ll-08-{words[0]}")
def test_lists_load_no_heavy_library_and_ask_no_network(arguments, terminus):
    assert loaded(arguments, ("litellm", "paramiko", "rich"), terminus) == []


def test_help_names_every_command(terminus):
    done = terminus("--help")
    assert done.returncode == 0
    for command in ("run", "demo", "plugins", "hooks", "config"):
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize("command", ["run", "demo"])
def test_help_names_every_option(command, terminus):
    done = terminus(command, "--help")
    for option in OPTIONS:
        assert f" {option}" in done.stdout


def test_version_and_help_by_other_names(in_process):
    assert in_process("-V").stdout == in_process("--version").stdout
    assert in_process("help").stdout == in_process("--help").stdout
    assert in_process("help", "cast", "markers").stdout == in_process("cast", "markers", "--help").stdout
    done = in_process("help", "rnu")
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        ["terminus: No such command 'rnu'. (see terminus --help)"],
    )


def test_no_command_shows_help_and_is_a_usage_error(terminus):
    done = terminus()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr
