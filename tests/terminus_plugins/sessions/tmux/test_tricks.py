"""What programs do to the terminal itself does not reach the next command."""

import shutil

import pytest

from terminus_plugins.environments.local import LocalEnvironment
from terminus_plugins.sessions.tmux.session import RESET
from tests.support.exec_only import ExecOnlyEnvironment

pytestmark = pytest.mark.anyio

QUESTIONS = [
    r"printf '\033[6n'",
    r"printf '\033[6n\033[c'",
    r"printf '\033[>c\033[>q'",
    r"printf '\033]10;?\033\\'; printf '\033]11;?\007'",
    r"printf '\033[5n\033[?1$p\033Z\005'",
]
MODES = [
    r"printf '\033(0'",
    r"printf '\016'",
    r"printf '\033[?1049h'",
    r"printf '\033[5;10r'",
    r"printf '\033[?6h'",
    r"printf '\033[4h'",
    r"printf '\033Ptmux;unfinished'",
    r"printf '\033\340\020Punfinished'",
]


@pytest.mark.parametrize("place", [LocalEnvironment, ExecOnlyEnvironment])
async def test_answers_of_the_terminal_never_join_what_is_typed(terminal, place):
    async with place() as environment, terminal.open(place=environment) as session:
        for question in QUESTIONS:
            await session.send_keys(f"{question}\n", min_timeout_sec=20)
            await session.get_incremental_output()
            await session.send_keys("echo ok$((40+2))\n", min_timeout_sec=20)
            text = await session.get_incremental_output()
            assert text.endswith("echo ok$((40+2))\nok42\n$"), (question, text)


async def test_a_terminal_left_in_another_mode_is_reset_and_that_is_said(terminal):
    async with terminal.open() as session:
        for mode in MODES:
            await session.send_keys(f"{mode}\n", min_timeout_sec=20)
            await session.get_incremental_output()
            await session.send_keys("echo ok$((40+2))\n", min_timeout_sec=20)
            text = await session.get_incremental_output()
            assert text.startswith(RESET), (mode, text)
            assert text.endswith("$ echo ok$((40+2))\nok42\n$"), (mode, text)


async def test_after_a_binary_commands_are_seen_again(terminal, tmp_path):
    shutil.copy(shutil.which("tmux"), tmp_path / "binary")
    async with terminal.open() as session:
        await session.send_keys(f"cat {tmp_path}/binary\n", min_timeout_sec=20)
        await session.get_incremental_output()
        await session.send_keys("echo ok$((40+2))\n", min_timeout_sec=20)
        assert (await session.get_incremental_output()).endswith("$ echo ok$((40+2))\nok42\n$")


@pytest.mark.parametrize("place", [LocalEnvironment, ExecOnlyEnvironment])
async def test_history_is_not_expanded_and_traps_show_none_of_ours(terminal, say, place):
    async with place() as environment, terminal.open(place=environment) as session:
        assert (await say(session, 'echo "a!b" done!!')).endswith('$ echo "a!b" done!!\na!b done!!\n$')
        await say(session, "trap 'echo trapped' DEBUG; set -T")
        assert (await say(session, "echo one")).endswith("$ echo one\ntrapped\none\n$")
        await say(session, "trap - DEBUG; set -x")
        assert (await say(session, "echo two")).endswith("$ echo two\n+ echo two\ntwo\n$")


async def test_a_line_that_was_left_unsent_stays(terminal):
    async with terminal.open() as session:
        await session.send_keys(r"printf '\033[6n'" + "\n", min_timeout_sec=20)
        await session.send_keys("echo un", min_timeout_sec=0.2)
        await session.send_keys("sent\n", min_timeout_sec=20)
        assert "\nunsent\n" in await session.get_incremental_output()
