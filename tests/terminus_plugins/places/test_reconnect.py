"""A terminal over SSH outlives its connection: it is attached to again, and nothing is typed twice or lost."""

# ruff: noqa: ASYNC110 - polling is how tests wait for the outside

import json
import os
import re
import signal
from contextlib import asynccontextmanager

import anyio
import pytest

from terminus_core import Agent, EnvironmentFailedError, SessionOptions, hookimpl
from terminus_plugins.environments.ssh import SshConfig, SshEnvironment
from terminus_plugins.sessions.tmux import TmuxBackend
from tests.support import sshd

pytestmark = pytest.mark.anyio

NOTICE = re.compile(r"\[The connection to the terminal was lost for (\d+\.\d) s\. .*\]\n")


@pytest.fixture
def server(tmp_path, home):
    """A server of this test's own, to be broken."""
    with sshd.running(tmp_path / "sshd", user=home) as server:
        (server.home / ".bash_profile").write_text("PS1='$ '\n")
        yield server


def ssh(server, **settings):
    return SshEnvironment(SshConfig(**server.settings(**settings)))


@asynccontextmanager
async def terminal(server, tmp_path, **settings):
    options = SessionOptions("run", tmp_path, cwd=str(tmp_path))
    async with ssh(server, **settings) as place, TmuxBackend().open(place, options) as opened:
        yield opened


async def outage(server, seconds):
    """No connection for so long."""
    server.stop()
    server.cut()
    await anyio.sleep(seconds)
    await anyio.to_thread.run_sync(server.start)


async def until_connected(server):
    while not server.serving():
        await anyio.sleep(0.02)


async def test_cut_in_a_batch(server, tmp_path):
    async with terminal(server, tmp_path) as session:
        await session.get_incremental_output()
        for number in range(12):
            if number in (3, 4, 8):
                server.cut()
            await session.send_keys(f"echo {number} | tee -a got\n", min_timeout_sec=0.05 * (number % 3))
        await session.send_keys("true\n", block=True)
        text = await session.get_incremental_output()
        notice = NOTICE.match(text)
        assert notice
        assert re.findall(r"^\d+$", text, re.MULTILINE) == [str(number) for number in range(12)]
        assert (tmp_path / "got").read_text().split() == [str(number) for number in range(12)]
        await session.send_keys("echo next\n", block=True)
        assert await session.get_incremental_output() == "$ echo next\nnext\n$"


async def test_cut_in_a_wait(server, tmp_path):
    async with terminal(server, tmp_path) as session, anyio.create_task_group() as group:
        await session.get_incremental_output()
        group.start_soon(_cut_soon, server)
        with anyio.fail_after(20):
            await session.send_keys("sleep 1.5; seq 60\n", block=True, max_timeout_sec=60)
        text = await session.get_incremental_output()
        rows = NOTICE.sub("", text, count=1).split("\n")
        assert rows == ["$ sleep 1.5; seq 60", *map(str, range(1, 61)), "$"]


async def _cut_soon(server):
    await anyio.sleep(0.3)
    server.cut()


async def test_cut_in_a_read(server, tmp_path):
    async with terminal(server, tmp_path) as session:
        await session.get_incremental_output()
        await session.send_keys("seq 200\n", block=True)
        server.cut()
        text = await session.get_incremental_output()
        if not NOTICE.match(text):  # the answer was on its way already
            assert await session.is_session_alive()
        assert NOTICE.sub("", text, count=1).split("\n") == ["$ seq 200", *map(str, range(1, 201)), "$"]


@pytest.mark.parametrize("after", [0.0, 0.1, 0.2, 0.4, 0.8])
async def test_cut_while_it_is_set_up(server, tmp_path, after):
    (server.home / ".bash_profile").write_text("sleep 0.5; PS1='$ '\n")

    async def cut():
        await anyio.sleep(after)
        server.cut()

    async with ssh(server) as place, anyio.create_task_group() as group:
        group.start_soon(cut)
        with anyio.fail_after(40):
            async with TmuxBackend().open(place, SessionOptions("run", tmp_path, cwd=str(tmp_path))) as session:
                await session.send_keys("echo it works\n", block=True)
                assert "\nit works\n" in await session.get_incremental_output()
                folder = session.place.folder
        assert (await place.exec(f"ls -d {folder}")).return_code != 0


async def test_cut_twice_in_a_row(server, tmp_path):
    async with terminal(server, tmp_path) as session:
        await session.get_incremental_output()
        for _ in range(2):
            server.cut()
            await until_connected(server)
        server.cut()
        await session.send_keys("echo once >>got\n", block=True)
        assert (tmp_path / "got").read_text() == "once\n"
        assert NOTICE.match(await session.get_incremental_output())


@pytest.mark.parametrize("seconds", [3, pytest.param(30, marks=pytest.mark.parametrize("anyio_backend", ["asyncio"]))])
async def test_outage(server, tmp_path, seconds):
    events = []
    async with terminal(server, tmp_path) as session:
        await session.get_incremental_output()
        session.listen(events.append)
        await session.capture_pane()
        await session.send_keys("sleep 1; echo done >>got; echo end\n")
        async with anyio.create_task_group() as group:
            group.start_soon(outage, server, seconds)
            await session.send_keys("echo next\n", block=True, max_timeout_sec=120)
        text = await session.get_incremental_output()
        assert float(NOTICE.match(text)[1]) >= seconds - 1
        assert text.endswith("\nend\n$ echo next\nnext\n$")
        assert (tmp_path / "got").read_text() == "done\n"
        kinds = [event.kind for event in events if event.kind != "input"]
        gap = kinds.index("gap")
        assert kinds[gap + 1 : gap + 3] == ["resize", "screen"]


async def test_frozen_server(server, tmp_path):
    """What it has been sent before may still be read when it goes on."""
    async with terminal(server, tmp_path, alive_timeout=2) as session:
        await session.get_incremental_output()
        old = server.serving()
        server.signal(signal.SIGSTOP)
        await session.send_keys("echo frozen >>got\n", block=True)
        assert NOTICE.match(await session.get_incremental_output())
        for process in old:
            os.kill(process, signal.SIGCONT)
        await session.send_keys("echo next >>got\n", block=True)
        assert (tmp_path / "got").read_text() == "frozen\nnext\n"


async def test_outage_that_lasts_too_long(server, tmp_path):
    async with terminal(server, tmp_path, reconnect_timeout=1) as session:
        folder, pid = session.place.folder, session.server
        server.cut()
        server.stop()
        with anyio.fail_after(20), pytest.raises(EnvironmentFailedError, match=r"lost: cannot connect to .*refused"):
            await session.get_incremental_output()
        with pytest.raises(EnvironmentFailedError):
            await session.send_keys("echo x\n")
        with pytest.raises(EnvironmentFailedError):
            await session.is_session_alive()
    await anyio.run_process(f"kill {pid}; rm -r {folder}")


async def test_host_key_that_has_changed_is_the_end(server, tmp_path):
    async with terminal(server, tmp_path) as session:
        folder, pid = session.place.folder, session.server
        server.cut()
        server.stop()
        server.new_host_key()
        server.start()
        with anyio.fail_after(20), pytest.raises(EnvironmentFailedError, match="HAS CHANGED"):
            await session.get_incremental_output()
    await anyio.run_process(f"kill {pid}; rm -r {folder}")


async def test_terminal_that_is_gone_when_the_connection_is_back(server, tmp_path):
    async with terminal(server, tmp_path) as session:
        server.stop()
        server.cut()
        os.kill(int(session.server), signal.SIGKILL)
        server.start()
        with anyio.fail_after(20):
            while await session.is_session_alive():
                await anyio.sleep(0.05)


class Cutter:
    """Breaks the connection when the first command has been typed."""

    name = "cutter"

    def __init__(self, server, *, for_good):
        self._server = server
        self._for_good = for_good
        self.session = None

    @hookimpl
    def terminus_command_sent(self, run):
        if self.session is None:
            self.session = run.session
            if self._for_good:
                self._server.stop()
            self._server.cut()


def agent(server, folder, cutter, patience):
    work = {"analysis": "", "plan": "", "commands": [{"keystrokes": "sleep 0.5; echo made\n", "duration": 5}]}
    done = {"analysis": "", "plan": "", "commands": [], "task_complete": True}
    replies = [{"content": json.dumps(reply)} for reply in (work, work, done, done)]
    return Agent(
        llm="scripted",
        environment=ssh(server, reconnect_timeout=patience),
        observers=["atif", "asciinema", cutter],
        settings={"llm": {"scripted": {"replies": replies}}},
        logs_dir=folder / "run",
    )


def observations(folder):
    trajectory = json.loads((folder / "run" / "trajectory.json").read_text())
    return [
        result["content"] for step in trajectory["steps"] for result in step.get("observation", {}).get("results", [])
    ]


async def test_run_goes_on_after_a_cut(server, tmp_path):
    result = await agent(server, tmp_path, Cutter(server, for_good=False), 60).run("Make something.")
    assert result.status == "completed"
    first, second, *_ = observations(tmp_path)
    assert "\n[The connection to the terminal was lost for" in first
    assert "\nmade\n$" in first
    assert "connection" not in second
    recording = next((tmp_path / "run").glob("*.cast")).read_text()
    assert recording.count("Connection gap: the connection to the terminal was lost") == 1
    assert recording.count("made") >= 2


async def test_run_whose_connection_cannot_be_repaired(server, tmp_path):
    cutter = Cutter(server, for_good=True)
    result = await agent(server, tmp_path, cutter, 1).run("Make something.")
    assert result.status == "error"
    assert "lost: cannot connect to" in result.reason
    await anyio.run_process(f"kill {cutter.session.server}; rm -r {cutter.session.place.folder}")
