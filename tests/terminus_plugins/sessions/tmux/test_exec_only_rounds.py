"""By exec: few rounds, long keys, and whatever the place makes of the output."""

from __future__ import annotations

import json
import os
import shlex
import signal
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from terminus_core import Agent, EnvironmentFailedError, ExecResult, SessionClosedError
from terminus_core.testing import FakeLLM
from terminus_plugins.sessions.tmux import TmuxBackend
from tests.support.exec_only import ExecOnlyEnvironment
from tests.support.markdown_blocks import blocks, run_block

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[4] / "docs" / "places" / "exec-only.md"

LONG = 20.0


class Place(ExecOnlyEnvironment):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.uploads = 0

    async def upload_file(self, source, target) -> None:
        self.uploads += 1
        await super().upload_file(source, target)


class MergingPlace(ExecOnlyEnvironment):
    """One stream of output, with words of its own before it and carriage returns in it, as container tools give."""

    async def exec(self, command, **options) -> ExecResult:
        result = await super().exec(f"echo 'a warning of the tool'\n{{\n{command}\n}} 2>&1", **options)
        return ExecResult(result.stdout.replace("\n", "\r\n"), "", result.return_code)


@asynccontextmanager
async def opened(terminal, place, **settings):
    backend = TmuxBackend(TmuxBackend.Config.model_validate(settings))
    async with place, backend.open(place, terminal.options()) as session:
        await session.get_incremental_output()
        yield session


@pytest.mark.parametrize(
    ("keys", "seen"),
    [
        ("echo one\n", "$ echo one\none\n$"),
        ("seq 300\n", "\n299\n300\n$"),
        ("cat <<E\na\nb\nE\n", "> E\na\nb\n$"),
        ("sleep 0.3\necho second\n", "second\n$"),
        ("ls | wc -l; sleep 0.2\n", "\n$"),
        ("C-c", "^C\n$"),
    ],
)
async def test_an_episode_takes_two_execs(terminal, keys, seen):
    place = Place()
    async with opened(terminal, place) as session:
        for _ in range(2):
            place.commands.clear()
            assert await session.is_session_alive()
            await session.send_keys(keys, min_timeout_sec=LONG)
            text = await session.get_incremental_output()
            assert text.kind == "new"
            assert text.endswith(seen)
            assert len(place.commands) <= 2


BATCHES = {
    "ended by prompts": ([("echo a\n", LONG), ("sleep 0.3; echo b\n", LONG), ("cat <<E\nx\nE\n", LONG)], "x\n$"),
    "a program's prompt": ([("python3 -q\n", 0.5), ("print(6*7)\n", 0.3), ("C-d", LONG)], "42\n>>>\n$"),
    "typed ahead": ([("sleep 0.5\n", 0.1), ("echo z\n", LONG)], "$ echo z\nz\n$"),
    "no waits": ([("echo q\n", 0.0), ("echo r\n", 0.0), ("true\n", LONG)], "r\n$ true\n$"),
    "a wait between": ([("echo q\n", LONG), ("", 0.2), ("echo r\n", LONG)], "r\n$"),
}


@pytest.mark.parametrize("name", BATCHES)
async def test_a_batch_goes_in_one_exec(terminal, name):
    commands, seen = BATCHES[name]
    place = Place()
    async with opened(terminal, place) as session:
        place.commands.clear()
        session.batch(len(commands))
        for keys, seconds in commands:
            await session.send_keys(keys, min_timeout_sec=seconds)
        assert (await session.get_incremental_output()).endswith(seen)
        assert len(place.commands) == 1


async def test_a_batch_stops_where_the_shell_ends(terminal):
    place = Place()
    async with opened(terminal, place) as session:
        session.batch(2)
        await session.send_keys("exit 4\n", min_timeout_sec=LONG)
        with pytest.raises(SessionClosedError, match="status 4"):
            await session.send_keys("echo never\n", min_timeout_sec=LONG)
        assert "never" not in await session.capture_pane()


async def test_a_batch_that_is_not_finished_is_typed_all_the_same(terminal):
    async with opened(terminal, Place()) as session:
        session.batch(3)
        await session.send_keys("echo one\n", min_timeout_sec=LONG)
        assert (await session.get_incremental_output()).endswith("one\n$")


def reply(*keystrokes: str, done: bool = False) -> str:
    commands = [{"keystrokes": keys, "duration": LONG} for keys in keystrokes]
    return json.dumps({"analysis": "", "plan": "", "commands": commands, "task_complete": done})


class CountingLLM(FakeLLM):
    """Notes how many commands the place had been given at each request."""

    def __init__(self, place, replies) -> None:
        super().__init__(replies)
        self.counts: list[int] = []
        self._place = place

    async def call(self, request):
        self.counts.append(len(self._place.commands))
        return await super().call(request)


async def test_a_whole_episode_of_the_loop_takes_two_execs(terminal, monkeypatch):
    monkeypatch.chdir(terminal.folder)
    place = Place()
    llm = CountingLLM(
        place,
        [reply("echo a > a\n", "echo b > b; cat a b\n", "ls\n"), reply("seq 3\n"), reply(done=True), reply(done=True)],
    )
    result = await Agent(llm=llm, environment=place, logs_dir=terminal.folder / "run", context="none").run("task")
    assert result.status == "completed"
    assert [after - before for before, after in pairwise(llm.counts)] == [2, 2, 2]


async def test_long_keys_go_as_a_file(terminal):
    place = Place()
    body = "".join(f"{n} zwölf 'Boxkämpfer' \\; #{{x}} $HOME\n" for n in range(10_000))
    async with opened(terminal, place) as session:
        await session.send_keys(f"cat > big.txt <<'END'\n{body}END\n", block=True, max_timeout_sec=60)
        assert place.uploads == 1
        assert {path.name for path in Path(session.place.folder).iterdir()} == {  # noqa: ASYNC240 - a test may block
            "owner",
            "socket",
            "used",
        }
    assert (terminal.folder / "big.txt").read_text() == body
    assert max(map(len, place.commands)) < 40_000


async def test_a_place_that_merges_and_decorates_output(terminal):
    place = MergingPlace()
    async with opened(terminal, place) as session:
        await session.send_keys("echo one\n", block=True, max_timeout_sec=LONG)
        assert await session.get_incremental_output() == "$ echo one\none\n$"
        await session.send_keys("exit 3\n", min_timeout_sec=LONG)
        assert not await session.is_session_alive()
        assert session.exit_status == 3


async def test_tmux_that_hangs(terminal):
    async with opened(terminal, Place(), answer_timeout_sec=0.5) as session:
        os.kill(int(session.server), signal.SIGSTOP)
        with pytest.raises(TimeoutError, match=r"tmux has not answered for 0\.5 seconds"):
            await session.send_keys("echo one\n", min_timeout_sec=0.1)
        with pytest.raises(TimeoutError):
            await session.get_incremental_output()
        with pytest.raises(EnvironmentFailedError, match="asked twice"):
            await session.is_session_alive()
        os.kill(int(session.server), signal.SIGCONT)
        assert await session.is_session_alive()
        await session.send_keys("echo two\n", block=True, max_timeout_sec=LONG)
        assert (await session.get_incremental_output()).endswith("two\n$")


async def test_nothing_of_a_wait_is_left_when_tmux_is_killed(terminal):
    async with opened(terminal, Place()) as session, anyio.create_task_group() as group:

        async def kill() -> None:
            while not _sleeping():  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.05)
            os.kill(int(session.server), signal.SIGKILL)

        group.start_soon(kill)
        with anyio.fail_after(10):
            await session.send_keys("cat\n", block=True, max_timeout_sec=47)
        assert not await session.is_session_alive()
    assert not _sleeping()


def _sleeping() -> list[str]:
    """The timers of a wait of 47 seconds, or a little less."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += [text for text in [line.read_text()] if text.startswith(("sleep\x0046.", "sleep\x0047."))]
    return found


async def test_a_place_that_answers_no_more(terminal):
    place = Place()
    async with opened(terminal, place) as session:

        async def refuse(command, **options) -> ExecResult:
            return ExecResult("", "no such container", 1)

        place.exec = refuse
        with pytest.raises(EnvironmentFailedError, match="no such container"):
            await session.send_keys("echo one\n", min_timeout_sec=1)
        with pytest.raises(EnvironmentFailedError):
            await session.is_session_alive()
        del place.exec


class SlowToStart(ExecOnlyEnvironment):
    """Its ``sleep`` takes no signal but the one that nothing can keep off, as a child has it before its exec."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        (folder / "bin").mkdir()
        (folder / "bin" / "sleep").write_text("#!/bin/sh\ntrap '' TERM\nexec /bin/sleep \"$@\"\n")
        (folder / "bin" / "sleep").chmod(0o755)
        self._path = shlex.quote(str(folder / "bin"))

    async def exec(self, command, **options) -> ExecResult:
        return await super().exec(f"PATH={self._path}:$PATH\n{command}", **options)


async def test_a_wait_ends_though_its_timer_misses_a_signal(terminal):
    with anyio.fail_after(LONG):
        async with opened(terminal, SlowToStart(terminal.folder)) as session:
            await session.send_keys("echo one\n", min_timeout_sec=10 * LONG)
            assert (await session.get_incremental_output()).endswith("\none\n$")


async def test_without_a_stream_each_look_is_told(terminal):
    events = []
    async with opened(terminal, Place()) as session:
        assert "stream" not in session.capabilities
        session.listen(events.append)
        for _ in range(2):
            await session.send_keys("echo one\n", block=True, max_timeout_sec=LONG)
            await session.get_incremental_output()
    assert [event.kind for event in events] == ["resize", "screen", *["input", "screen"] * 2]
    assert b"$ echo one\r\none\r\n$" in events[-1].data


@pytest.mark.parametrize("path", ["file:///tmp", "B;0;1;08", "B;0;$(touch evil);9", "';touch evil;'", "é ✓"])
async def test_a_path_that_a_program_sets_is_not_believed(terminal, path):
    async with opened(terminal, Place()) as session:
        await session.send_keys(f"printf '\\033]7;%s\\007' {path!r}; sleep 0.4; echo done\n", min_timeout_sec=LONG)
        assert (await session.get_incremental_output()).endswith("\ndone\n$")
    assert not (terminal.folder / "evil").exists()


def test_the_environment_of_the_page_works(tmp_path):
    (block,) = [each for each in blocks(PAGE) if each.what == "tests of exec-only"]
    script = [reply("echo hello\n"), reply(done=True), reply(done=True)]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps({"content": each}) + "\n" for each in script))
    assert run_block(block, tmp_path) == "completed\n"
