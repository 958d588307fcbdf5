"""On a terminal a person sees a panel; afterwards the terminal is as it was, with the summary."""

import fcntl
import os
import pty
import struct
import sys
import termios

import pyte
import pytest

COLUMNS, ROWS = 120, 40


def on_a_terminal(folder, *words):
    """Run terminus on a terminal; gives the exit code, everything ever shown, and the last screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "HOME": str(folder)}
        os.environ.pop("LINES", None)
        os.environ.pop("COLUMNS", None)
        os.chdir(folder)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execv(sys.executable, [sys.executable, "-m", "terminus_core", *words])
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    shown = set()
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # how Linux says that nobody writes any more
            break
        stream.feed(data)
        shown.update(line.strip("\u2502 ") for line in screen.display)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown, "\n".join(screen.display)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return on_a_terminal(tmp_path_factory.mktemp("demo"), "demo")


def test_the_panel_shows_where_the_run_stands(demo):
    _, shown, _ = demo
    assert any(line.startswith("episode 4 \u00b7 ") and "tokens: 5,987 in" in line for line in shown)
    assert "plan: Boil the kettle and wait for it." in shown
    assert any(line.startswith("to watch: ") for line in shown)


def test_the_terminal_is_seen_while_a_command_runs(demo):
    _, shown, _ = demo
    assert "kettle: 1" in shown


def test_afterwards_only_the_summary_is_left(demo):
    code, _, screen = demo
    assert code == 0
    assert screen.startswith("completed")
    assert "\u2502" not in screen
    assert "trajectory.json" in screen


def test_where_a_gate_may_ask_lines_are_plain(tmp_path):
    code, shown, _ = on_a_terminal(tmp_path, "demo", "--gate", "deny")
    assert code == 0
    assert any(line.startswith("[1] > mkdir shop") for line in shown)
    assert not any(line.startswith("plan:") for line in shown)
