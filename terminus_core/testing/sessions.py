"""The conformance suite of session backends.

An author's whole test file::

    class TestGhost(SessionBackendTests):
        capabilities = frozenset({"trio", "history", "rows"})

        @pytest.fixture
        def backend(self):
            return GhostBackend(GhostBackend.Config(history_rows=1000))

The tests type command lines of bash, and want ``python3`` beside it. Each has a home folder of its own, in which the
prompt is ``$``.
"""

# ruff: noqa: S101, ASYNC110, S603 - a suite asserts, polls what nobody tells it, and starts a process

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from terminus_core import Environment, SessionBackend, SessionClosedError, SessionEvent
from terminus_core.testing.session_base import LONG, PROMPT, SessionSuite, Terminal, run, took
from terminus_core.testing.session_keys import SessionKeyTests
from terminus_core.testing.session_rows import SessionRowTests
from terminus_core.testing.suite import needs

KILLED_AGENT = """
import pickle, sys, anyio
sys.path[:], backend, environment, options = pickle.load(sys.stdin.buffer)
backend, environment = pickle.loads(backend), pickle.loads(environment)
async def main():
    async with environment as place, backend.open(place, options) as session:
        await session.send_keys("mark=kept; echo before\\n", block=True)
        print(session.resume_token, flush=True)
        await anyio.sleep(60)
anyio.run(main)
"""


class SessionLifeTests(SessionSuite):
    """How a session begins, what others hear of it, and how it ends."""

    # -- the beginning -------------------------------------------------------------------------------------------------

    async def test_the_first_key_waits_for_a_slow_shell(self, terminal: Terminal) -> None:
        """``open`` returns when the shell reads; keys before that would be lost."""
        terminal.rc(f"printf 'loading ...'; sleep 1.5; PS1='{PROMPT} '\n")
        async with terminal.open() as session:
            await session.send_keys("touch started.ok\n", block=True)
            assert (terminal.folder / "started.ok").exists()
            assert (await session.capture_pane()).count("touch") == 1

    async def test_variables_and_folder(self, terminal: Terminal) -> None:
        """``env`` and ``cwd`` of the options count for the shell."""
        (terminal.folder / "a b'c").mkdir()
        options = terminal.options(env={"MINE": "a  b'c\"$x"}, cwd=str(terminal.folder / "a b'c"))
        async with terminal.open(options) as session:
            await run(session, 'printf "%s|%s" "$MINE" "$PWD" > told')
        assert (terminal.folder / "a b'c" / "told").read_text() == f"a  b'c\"$x|{terminal.folder}/a b'c"

    @needs("users")
    async def test_another_user(self, terminal: Terminal) -> None:
        """``user`` of the options is who the shell runs as."""
        async with terminal.open(terminal.options(user=self.other_user, cwd="/", env={"HOME": "/"})) as session:
            await session.send_keys("id -un\n", min_timeout_sec=1)
            assert self.other_user in (await session.get_incremental_output()).split("\n")

    @pytest.mark.parametrize("session_id", ["task.v2:run=1", "a b/c", "-x", "é", "x" * 300])
    async def test_any_session_id(self, terminal: Terminal, session_id: str) -> None:
        """It may hold any characters."""
        async with terminal.open(terminal.options(session_id)) as session:
            assert (await run(session, "echo one")).endswith(f"one\n{PROMPT}")

    async def test_sessions_of_one_id_at_once(self, terminal: Terminal) -> None:
        """Two sessions of one id do not see each other."""
        async with terminal.open() as first:
            await run(first, "echo old")
            async with terminal.open() as second:
                assert await second.get_incremental_output() == PROMPT
            assert await first.is_session_alive()

    async def test_many_at_once(self, terminal: Terminal) -> None:
        """Each has a screen of its own, and one that floods holds up nobody."""
        async with terminal.open(terminal.options("flood")) as flood, anyio.create_task_group() as group:
            await flood.send_keys("yes flood\n")

            async def work(number: int) -> None:
                with anyio.fail_after(2 * LONG):
                    async with terminal.open(terminal.options(f"run-{number}")) as session:
                        await session.get_incremental_output()
                        assert f"\n<{number}>\n" in await run(session, f"echo '<{number}>'")

            for number in range(10):
                group.start_soon(work, number)

    async def test_the_session_tells_what_it_can(self, terminal: Terminal) -> None:
        """Its ``capabilities`` are those that this suite was told."""
        async with terminal.open() as session:
            told = frozenset(getattr(session, "capabilities", frozenset())) & self.session_capabilities
        assert told == self.capabilities & self.session_capabilities

    # -- listeners -----------------------------------------------------------------------------------------------------

    async def test_size_and_screen_come_first_then_what_happens(self, terminal: Terminal) -> None:
        """A recorder that joins late can draw everything."""
        events: list[SessionEvent] = []
        async with terminal.open() as session:
            await run(session, "echo before")
            started = time.monotonic()
            session.listen(events.append)
            await run(session, "echo after")
        kinds = [event.kind for event in events]
        assert kinds[:2] == ["resize", "screen"]
        assert b"before" in _data(events, "screen")
        assert _data(events, "input") == b"echo after\r"
        if "stream" in self.capabilities:
            assert b"after\r\n" in _data(events, "output")
        assert b"before" not in _data(events, "output")
        assert all(started <= event.time <= time.monotonic() for event in events)
        assert [event.time for event in events] == sorted(event.time for event in events)

    async def test_a_listener_can_stop(self, terminal: Terminal) -> None:
        """Twice, too."""
        events: list[SessionEvent] = []
        async with terminal.open() as session:
            stop = session.listen(events.append)
            await session.is_session_alive()
            stop()
            stop()
            await run(session, "echo x")
        assert [event.kind for event in events] == ["resize", "screen"]

    @needs("stream")
    async def test_what_programs_write_arrives_byte_for_byte(self, terminal: Terminal) -> None:
        """``stream``: output is the program's bytes, with no gap."""
        data = bytes(range(256)) * 100
        (terminal.folder / "bytes").write_bytes(data)
        events: list[SessionEvent] = []
        async with terminal.open() as session:
            session.listen(events.append)
            await session.send_keys("stty -opost; cat bytes; stty opost\n", block=True)
        assert data in _data(events, "output")

    # -- the end -------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(("keys", "status"), [("exit 3\n", 3), ("C-d", 0), ("kill -9 $$\n", 137)])
    async def test_the_end_of_the_shell(self, terminal: Terminal, keys: str, status: int) -> None:
        """Its last output is given once, then ``SessionClosedError``; ``exit_status`` is the shell's."""
        async with terminal.open() as session:
            await session.send_keys("echo last words\n", block=True)
            with took():
                await session.send_keys(keys, min_timeout_sec=LONG)
            with anyio.fail_after(2):
                while await session.is_session_alive():
                    await anyio.sleep(0.02)
            assert "last words" in await session.get_incremental_output()
            with pytest.raises(SessionClosedError):
                await session.send_keys("echo still here\n")
            with pytest.raises(SessionClosedError):
                await session.get_incremental_output()
            assert "last words" in await session.capture_pane()
            if "exit_status" in self.capabilities:
                assert session.exit_status == status

    async def test_a_shell_that_ends_at_once(self, terminal: Terminal) -> None:
        """``open`` says so, and does not wait for a prompt."""
        terminal.rc("exit 5\n")
        with took(less_than=60), pytest.raises(SessionClosedError):
            async with terminal.open():
                pytest.fail("entered")

    @needs("restart")
    @pytest.mark.parametrize("keys", ["exit 4\n", "sleep 60\n"])
    async def test_restart(self, terminal: Terminal, keys: str) -> None:
        """A fresh shell at its prompt, whatever ran before."""
        async with terminal.open() as session:
            await session.send_keys("here=1; " + keys, min_timeout_sec=0.5)
            await session.restart()
            assert await session.is_session_alive()
            text = await session.get_incremental_output()
            assert (text.split("\n")[-1], text.kind) == (PROMPT, "screen")
            assert (await run(session, "echo ${here-new}")).endswith(f"new\n{PROMPT}")

    @pytest.mark.parametrize("how", ["end", "exception", "base exception", "cancel", "nohup"])
    async def test_nothing_is_left_behind(self, terminal: Terminal, how: str) -> None:
        """Neither the shell nor what runs in it; an error of the body comes out as it is.

        An agent under ``nohup`` ignores hangups, and so does what it starts, unless that is undone.
        """
        hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN if how == "nohup" else signal.SIG_DFL)
        error = {"exception": KeyError("mine"), "base exception": SystemExit(3)}.get(how)
        raised: BaseException | None = None
        with anyio.CancelScope() as scope:
            try:
                async with terminal.open() as session:
                    await run(session, "echo $$ > shell.pid")
                    await session.send_keys("sh -c 'echo $$ > child.pid; exec sleep 300'\n", min_timeout_sec=0.2)
                    await _written(terminal.folder / "child.pid")
                    if error:
                        raise error
                    if how == "cancel":
                        scope.cancel()
                        await anyio.sleep(60)
            except (KeyError, SystemExit) as caught:
                raised = caught
            finally:
                signal.signal(signal.SIGHUP, hangup)
        assert raised is error
        with anyio.fail_after(10):
            for name in ("shell.pid", "child.pid"):
                while _lives(int((terminal.folder / name).read_text())):
                    await anyio.sleep(0.02)

    # -- a killed agent ------------------------------------------------------------------------------------------------

    @pytest.fixture
    def killed(self, terminal: Terminal, backend: SessionBackend, environment: Environment) -> str:
        """The resume token of a session whose agent was killed; backend and environment are pickled into it."""
        given = (sys.path, pickle.dumps(backend), pickle.dumps(environment), terminal.options("killed"))
        with subprocess.Popen(
            [sys.executable, "-c", KILLED_AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as agent:
            assert agent.stdin is not None
            assert agent.stdout is not None
            agent.stdin.write(pickle.dumps(given))
            agent.stdin.close()
            token = agent.stdout.readline().decode().strip()
            agent.kill()
        return token

    @needs("resume")
    async def test_the_session_of_a_killed_agent_is_resumed(self, terminal: Terminal, killed: str) -> None:
        """``resume_token``: variables and rows are kept, and leaving ends the session."""
        async with terminal.open(terminal.options("killed", resume_token=killed)) as session:
            text = await session.get_incremental_output()
            assert text.kind == "screen"
            assert "before" in text
            assert (await run(session, "echo $mark")).endswith(f"kept\n{PROMPT}")
        with pytest.raises(SessionClosedError):
            async with terminal.open(terminal.options("killed", resume_token=killed)):
                pytest.fail("entered")


class SessionBackendTests(SessionRowTests, SessionKeyTests, SessionLifeTests):
    """What every session backend must do, by capability.

    ``complete_capabilities`` are those that a backend must declare to call itself complete;
    ``missing_capabilities()`` says which of them are missing.
    """


def _data(events: list[SessionEvent], kind: str) -> bytes:
    return b"".join(event.data for event in events if event.kind == kind and isinstance(event.data, bytes))


async def _written(path: Path) -> None:
    with anyio.fail_after(LONG):
        while not await anyio.Path(path).exists() or not (await anyio.Path(path).read_text()).endswith("\n"):
            await anyio.sleep(0.02)


def _lives(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody asked about does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
