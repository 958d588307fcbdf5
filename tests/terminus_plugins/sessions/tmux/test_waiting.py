"""Waits end with what they wait for: never before, and never much later."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager

import anyio
import pytest

from terminus_core import EnvironmentFailedError, SessionClosedError
from tests.support.delayed import DelayedEnvironment

pytestmark = pytest.mark.anyio

LONG = 20.0
"""A duration that no test sits out."""


@contextmanager
def took(at_least=0.0, less_than=LONG / 2):
    started = time.monotonic()
    yield
    assert at_least <= time.monotonic() - started < less_than


ENDING = [
    ("echo one\n", "one\n$"),
    ("sleep 0.3; echo late\n", "late\n$"),
    ("sleep 0.2\necho second\n", "second\n$"),
    ("echo a\nsleep 0.2\n\necho b\n", "b\n$"),
    ("for i in 1 2; do\nsleep 0.2\necho $i\ndone\n", "1\n2\n$"),
    ("cat <<E\nx\nE\nsleep 0.2; echo end\n", "end\n$"),
    ("make -j2 -s\n", "made\n$"),
    ("python3 - <<'PY'\nprint(6*7)\nPY\n", "42\n$"),
    ("nosuchcommand\n", "$"),
    ("echo (\n", "$"),
    ("\n", "$"),
]


async def at_once(terminal, check, cases) -> None:
    """Check each case in a session of its own, all at the same time."""

    async def one(case) -> None:
        async with terminal.open() as session:
            await check(session, case)

    async with anyio.create_task_group() as group:
        for case in cases:
            group.start_soon(one, case)


async def test_back_when_the_shell_is(terminal):
    """se-07"""
    (terminal.folder / "Makefile").write_text("all: a b\n\t@echo made\na b:\n\t@sleep 0.2\n")

    async def check(session, case) -> None:
        keys, seen = case
        for block in (False, True):
            with took():
                await session.send_keys(keys, block=block, min_timeout_sec=LONG, max_timeout_sec=LONG)
            text = await session.get_incremental_output()
            assert text.endswith(seen), (keys, block, text)

    await at_once(terminal, check, ENDING)


async def test_never_early(terminal):
    """se-07"""

    async def check(session, case) -> None:
        before, keys = case
        if before:
            await session.send_keys(before + "\n", min_timeout_sec=0.3)
        with took(at_least=0.7):
            await session.send_keys(keys, min_timeout_sec=0.7)

    await at_once(
        terminal,
        check,
        [
            ("", ""),
            ("", "sleep 0.2 &\n"),
            ("sleep 5 &", "echo x\n"),
            ("", "bash\n"),
            ("", "python3 -q\n"),
            ("", "cat\n"),
            ("", "echo 'open\n"),
            ("", "cat > f.txt <<EOF\nline\n"),
            ("", "echo not run"),
            ("sleep 5 & disown", "echo x\n"),
            ("exec 3< <(sleep 5)", "echo x\n"),
            ("unset PROMPT_COMMAND; PS1='$ '", "echo x\n"),
            ("PS0='mine '", "sleep 0.3; sleep 0.1\nsleep 3\n"),
            ("set -u; unset PS0", "sleep 0.3\nsleep 3\n"),
            ("BASH_VERSION=4.2.46; readonly PS0=''", "sleep 0.3\nsleep 3\n"),  # which has no PS0 at all
            ("", r"printf '\033]133;D;0;1\007\033]133;B;0;1\007'; sleep 3" + "\n"),
        ],
    )


async def test_never_early_in_a_nested_program(terminal):
    async def check(session, program) -> None:
        await session.send_keys(program + "\n", min_timeout_sec=0.4)
        for _ in range(2):
            with took(at_least=0.4):
                await session.send_keys("echo x\n", min_timeout_sec=0.4)

    programs = ["bash", "bash --norc", "dash", "python3 -q", "cat", "env -i bash --norc", "script -q /dev/null"]
    await at_once(terminal, check, programs)


@pytest.mark.parametrize("setting", ["set -u; unset PS1 PS0", "set -e", "exec >file", "PS0='mine '; unset PS1"])
async def test_back_whatever_the_shell_is_set_to(terminal, setting):
    async with terminal.open() as session:
        await session.send_keys(setting + "\n", min_timeout_sec=0.3)
        for _ in range(2):
            with took():
                await session.send_keys("echo x\n", min_timeout_sec=LONG)


async def test_back_from_a_nested_shell(terminal):
    async with terminal.open() as session:
        await session.send_keys("bash --norc\n", min_timeout_sec=0.3)
        with took():
            await session.send_keys("exit\n", min_timeout_sec=LONG)
        with took():
            await session.send_keys("echo x\n", min_timeout_sec=LONG)


async def test_early_again_when_the_background_job_is_over(terminal):
    async with terminal.open() as session:
        await session.send_keys("sleep 0.2 &\n", min_timeout_sec=0.1)
        await session.send_keys("wait\n", block=True)
        with took():
            await session.send_keys("echo x\n", min_timeout_sec=LONG)


async def test_prompt_that_is_on_its_way_ends_no_later_wait(terminal):
    async with DelayedEnvironment(0.15) as place, terminal.open(place=place) as session:
        for seconds in (1.05, 1.2):  # the first command's own, give or take
            await session.send_keys("sleep 1\n", min_timeout_sec=seconds)
            with took(at_least=2):
                await session.send_keys("sleep 2; echo x\n", min_timeout_sec=LONG)


async def test_key_that_ends_a_program(terminal):
    async with terminal.open() as session:
        await session.send_keys("sleep 60\n", min_timeout_sec=0.2)
        with took():
            await session.send_keys("C-c", min_timeout_sec=LONG)


async def test_text_typed_ahead_is_waited_for(terminal):
    async with terminal.open() as session:
        await session.send_keys("sleep 0.3; echo one\n")
        with took():
            await session.send_keys("sleep 0.2; echo two\n", min_timeout_sec=LONG)
        assert (await session.get_incremental_output()).endswith("two\n$")


async def test_fixed_waits_in_full(terminal):
    async with terminal.open(wait="fixed") as session:
        with took(at_least=0.5):
            await session.send_keys("echo x\n", min_timeout_sec=0.5)
        with took():
            await session.send_keys("echo x\n", block=True, max_timeout_sec=LONG)


async def test_blocking_wait_is_given_up(terminal, say):
    """tm-18"""
    async with terminal.open() as session:
        await session.get_incremental_output()
        with pytest.raises(TimeoutError, match=r"0\.3 seconds"):
            await session.send_keys("sleep 300; true\n", block=True, max_timeout_sec=0.3)
        await session.send_keys("C-c", min_timeout_sec=LONG)
        assert (await session.get_incremental_output()).endswith("^C\n$")
        assert await say(session, "sleep 0.2; echo next") == "$ sleep 0.2; echo next\nnext\n$"


async def test_open_heredoc_ends_by_its_time_limit(terminal):
    """se-07"""
    async with terminal.open() as session:
        await session.get_incremental_output()
        with pytest.raises(TimeoutError):
            await session.send_keys("cat > f.txt <<EOF\nline\n", block=True, max_timeout_sec=0.5)
        assert (await session.get_incremental_output()).endswith("> line\n>")
        await session.send_keys("EOF\n", block=True, max_timeout_sec=LONG)
        assert (terminal.folder / "f.txt").read_text() == "line\n"


@pytest.mark.parametrize("shell", ["dash", "python3 -q"])
async def test_blocking_in_a_shell_that_does_not_tell(terminal, shell):
    command = "import time; time.sleep(0.5); print(6*7)" if "python" in shell else "sleep 0.3; echo 42"
    async with terminal.open(shell=shell) as session:
        with took():
            await session.send_keys(command + "\n", block=True, max_timeout_sec=LONG)
        if shell == "dash":
            assert "\n42\n" in await session.get_incremental_output()
            with pytest.raises(TimeoutError):
                await session.send_keys("sleep 60\n", block=True, max_timeout_sec=0.5)


async def test_tmux_that_hangs(terminal, say):
    async with terminal.open(answer_timeout_sec=1.5) as session:
        await session.get_incremental_output()
        os.kill(int(session.server), signal.SIGSTOP)
        with pytest.raises(TimeoutError, match="tmux has not answered"):
            await session.send_keys("echo one\n", min_timeout_sec=0.1)
        with pytest.raises(TimeoutError):
            await session.send_keys("echo two\n")
        with pytest.raises(TimeoutError):
            await session.get_incremental_output()
        with took(at_least=2.9), pytest.raises(EnvironmentFailedError, match="asked twice"):
            await session.is_session_alive()
        os.kill(int(session.server), signal.SIGCONT)
        assert await session.is_session_alive()
        assert "one\n$" in await say(session, "echo three")


async def test_tmux_that_answers_late_is_alive(terminal):
    """se-01"""
    async with terminal.open(answer_timeout_sec=1) as session, anyio.create_task_group() as group:
        os.kill(int(session.server), signal.SIGSTOP)

        async def wake() -> None:
            await anyio.sleep(1.3)
            os.kill(int(session.server), signal.SIGCONT)

        group.start_soon(wake)
        assert await session.is_session_alive()


async def test_cancel_is_not_swallowed(terminal):
    async with terminal.open() as session:
        with anyio.move_on_after(0.2) as scope, took():
            await session.send_keys("sleep 60\n", block=True)
        assert scope.cancelled_caught
        with anyio.move_on_after(0.2) as scope, took():
            await session.send_keys("", min_timeout_sec=LONG)
        assert scope.cancelled_caught
        await session.send_keys("C-c", min_timeout_sec=LONG)
        assert await session.is_session_alive()


async def test_cancelled_requests_do_not_mix_up_answers(terminal, say):
    async with terminal.open() as session:
        await say(session, "seq 30")
        for _ in range(50):
            with anyio.move_on_after(0):
                await session.capture_pane()
            with anyio.move_on_after(0):
                await session.get_incremental_output()
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_end_of_the_session_ends_a_wait(terminal):
    async with terminal.open() as session:
        with took():
            await session.send_keys("exit 3\n", min_timeout_sec=LONG)
        with pytest.raises(SessionClosedError, match="status 3"):
            await session.send_keys("echo x\n")
