"""How a session begins and ends, and what it leaves behind: nothing."""

# ruff: noqa: ASYNC110 - polling is how tests wait for the outside

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from terminus_core import EnvironmentFailedError, SessionClosedError
from terminus_plugins.environments.local import LocalEnvironment
from terminus_plugins.sessions.tmux import TmuxBackend
from tests.support.exec_only import ExecOnlyEnvironment
from tests.support.places import need

pytestmark = pytest.mark.anyio


def tmux(place, *words) -> str:
    done = subprocess.run(
        [place.tmux, "-S", f"{place.folder}/socket", *words], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def processes_with(text) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if text in line]


def mode(folder) -> int | None:
    """Permissions of a folder, ``None`` if it is not there."""
    return Path(folder).stat().st_mode & 0o777 if Path(folder).exists() else None


def watcher(session) -> subprocess.Popen:
    """A person who attaches read-only from a small terminal."""
    script = f"stty cols 40 rows 10; TERM=xterm exec {session.attach_command}"
    started = subprocess.Popen(
        ["script", "-qc", script, "/dev/null"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while tmux(session.place, "list-clients").count("\n") < 1:
        time.sleep(0.05)
    return started


async def within_a_second(condition) -> None:
    deadline = time.monotonic() + 1
    while not await condition():
        assert time.monotonic() < deadline, "not noticed within a second"
        await anyio.sleep(0.02)


# -- the beginning -----------------------------------------------------------------------------------------------------


async def test_first_key_waits_for_a_slow_shell_that_flushes_its_input(terminal):
    """tm-08"""
    terminal.rc("printf 'loading ...'; sleep 2.3; python3 -c 'import termios; termios.tcflush(0, 0)'; PS1='$ '\n")
    async with terminal.open() as session:
        await session.send_keys("touch started.ok\n", block=True)
        assert (terminal.folder / "started.ok").exists()
        assert (await session.capture_pane()).count("touch") == 1


SHELLS = [
    "",
    "sh",
    "dash -l",
    "bash --norc --noprofile",
    "exec bash --login",
    "env PS1='a> ' dash",
    "busybox ash",
    "zsh -f",
    "zsh",
]


@pytest.mark.parametrize("shell", SHELLS)
async def test_shells(terminal, shell):
    for program in ("busybox", "dash", "zsh"):
        if program in shell:
            need(program, program)
    (terminal.home / ".zshrc").write_text("sleep 0.3; PROMPT='%# '\n")
    async with terminal.open(shell=shell) as session:
        await session.send_keys("echo ready; exit 7\n", min_timeout_sec=20)
        assert "ready" in await session.get_incremental_output()
        assert not await session.is_session_alive()
        assert session.exit_status == 7


@pytest.mark.parametrize(
    "prompt",
    [
        "PS1='\\u two\\nlines> '",
        "PS1=''",
        "PROMPT_COMMAND='echo before'\"; $PROMPT_COMMAND\"",
        "PS1='\\[\\e[31m\\]red\\[\\e[0m\\] '",
        "set -eu",
    ],
)
async def test_prompts_of_the_users_own(terminal, prompt):
    terminal.rc(prompt + "\n")
    async with terminal.open() as session:
        started = time.monotonic()
        await session.send_keys("echo one; true\n", min_timeout_sec=20)
        assert time.monotonic() - started < 10
        assert "\none" in await session.get_incremental_output()


@pytest.mark.parametrize("place", [LocalEnvironment, ExecOnlyEnvironment])
async def test_another_shell_shows_a_prompt_of_its_own(terminal, place):
    terminal.rc("export PS1='mine: '\n")
    async with place() as environment, terminal.open(place=environment) as session:
        await session.send_keys("dash\n", min_timeout_sec=0.5)
        assert await session.get_incremental_output() in {"mine: dash\n$", "mine: dash\n#"}


async def test_shell_whose_marks_were_overwritten(terminal):
    terminal.rc("PS1='mine> '; PROMPT_COMMAND='true'\n")
    async with terminal.open() as session:
        await session.send_keys("echo one\n", min_timeout_sec=0.4)
        assert "\none\n" in await session.get_incremental_output()


async def test_shell_that_shows_nothing_is_ready_after_quiet(terminal):
    async with terminal.open(shell="cat") as session:
        await session.send_keys("x\n", min_timeout_sec=0.2)
        assert await session.get_incremental_output() == "x\nx"


async def test_shell_that_never_gets_ready(terminal):
    terminal.rc("sleep 60\n")
    with pytest.raises(EnvironmentFailedError, match=r"no prompt within 0\.5 seconds"):
        async with terminal.open(start_timeout_sec=0.5):
            pass


async def test_shell_that_ends_at_once(terminal):
    with pytest.raises(SessionClosedError, match="status 5 before it was ready"):
        async with terminal.open(shell="exit 5"):
            pass


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "", "LC_CTYPE": ""}])
async def test_text_beyond_ascii_without_a_utf8_locale(terminal, say, locale):
    """tm-09"""
    async with terminal.open(terminal.options(env=locale)) as session:
        await session.get_incremental_output()
        assert (await say(session, 'printf "café ✓\\n"')).split("\n")[1:] == ["café ✓", "$"]


async def test_variables_folder_and_logout_timer(terminal, say):
    """tm-20"""
    async with terminal.open(terminal.options(env={"TMOUT": "1", "MINE": "a b'c"})) as session:
        await session.get_incremental_output()
        text = await say(session, 'echo "$MINE|${TMOUT-unset}|$PWD"')
        assert text.split("\n")[1] == f"a b'c|unset|{terminal.folder}"
        await session.send_keys("", min_timeout_sec=1.5)
        assert await session.is_session_alive()


async def test_tmux_conf_of_the_user_is_ignored(terminal, say):
    """tm-13"""
    (terminal.home / ".tmux.conf").write_text(
        "set -g base-index 1\nset -g pane-base-index 1\nset -g default-command 'sleep 3; sh'\n"
        "set -g remain-on-exit on\nset-hook -g after-new-session 'kill-session'\n"
    )
    async with terminal.open() as session:
        await session.get_incremental_output()
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_session_names(terminal):
    """tm-06, tm-07"""
    async with terminal.open(terminal.options("run-10")) as ten:
        async with terminal.open(terminal.options("run-1")) as one:
            assert tmux(one.place, "list-sessions", "-F", "#S") == "run_1"
            tmux(one.place, "kill-session", "-t", "=run_1")
            await within_a_second(lambda: _dead(one))
            with pytest.raises(SessionClosedError):
                await one.send_keys("echo hi\n")
        assert await ten.is_session_alive()
        assert "hi" not in await ten.capture_pane()
    async with (
        terminal.open(terminal.options("task.v2:run=1")) as first,
        terminal.open(terminal.options("task-v2-run-1")) as second,
    ):
        assert tmux(first.place, "list-sessions", "-F", "#S") == first.place.name
        await first.send_keys("echo hi\n", block=True)
        assert "hi" not in await second.capture_pane()


async def test_same_session_id_twice_at_once(terminal):
    """se-03"""
    async with terminal.open() as first:
        await first.send_keys("echo old\n", block=True)
        async with terminal.open() as second:
            assert await second.get_incremental_output() == "$"
        assert await first.is_session_alive()


async def test_tmux_that_cannot_be_found(terminal, tmp_path):
    with pytest.raises(EnvironmentFailedError, match="no tmux at '/no/tmux'"):
        async with terminal.open(tmux_path="/no/tmux"):
            pass
    for tool in ("sh", "ls", "mkdir", "chmod", "id", "date", "cat", "head", "tail", "rm"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    place = _WithPath(f"{tmp_path}/bin", SHELL=shutil.which("false"))
    with pytest.raises(EnvironmentFailedError, match="apt-get install tmux") as caught:
        async with TmuxBackend().open(place, terminal.options()):
            pass
    assert "\n" not in str(caught.value)
    local = terminal.home / ".local" / "bin"
    local.mkdir(parents=True)
    (local / "tmux").symlink_to(shutil.which("tmux"))
    place = _WithPath(f"{tmp_path}/bin", HOME=str(terminal.home))
    async with TmuxBackend().open(place, terminal.options()) as session:
        assert session.place.tmux == str(local / "tmux")


async def test_tmux_that_only_a_login_shell_finds(terminal, tmp_path):
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "ls", "mkdir", "chmod", "id", "date", "cat", "head", "tail", "rm"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    (terminal.home / ".profile").write_text(f"PATH=$PATH:{Path(shutil.which('tmux')).parent}\n")
    place = _WithPath(f"{tmp_path}/bin", HOME=str(terminal.home), SHELL="/bin/sh")
    # /etc/profile sets a PATH of its own, which may have tmux already: either way it is the login shell's.
    with pytest.raises(EnvironmentFailedError, match=r'login shell has on its PATH: set tmux_path = ".*tmux"'):
        async with TmuxBackend().open(place, terminal.options()):
            pass


class _WithPath(LocalEnvironment):
    """This machine with another PATH."""

    def __init__(self, path, **variables) -> None:
        super().__init__()
        self._changed = {"PATH": path, **variables}

    async def exec(self, command, *, env=None, **options):
        return await super().exec(command, env={**(env or {}), **self._changed}, **options)


# -- the end -----------------------------------------------------------------------------------------------------------


async def _dead(session) -> bool:
    return not await session.is_session_alive()


@pytest.mark.parametrize(
    ("keys", "status"), [("exit\n", 0), ("exit 3\n", 3), ("C-d", 0), ("kill -9 $$\n", 137), ("exec true\n", 0)]
)
async def test_end_of_the_shell(terminal, keys, status):
    """se-02"""
    async with terminal.open() as session:
        assert session.exit_status is None
        await session.send_keys("echo last words\n", block=True)
        await session.send_keys(keys, min_timeout_sec=20)
        await within_a_second(lambda: _dead(session))
        assert session.exit_status == status
        assert "last words" in await session.get_incremental_output()
        with pytest.raises(SessionClosedError, match=f"status {status}"):
            await session.send_keys("echo still here\n")
        with pytest.raises(SessionClosedError):
            await session.get_incremental_output()
        assert "last words" in await session.capture_pane()
        assert "still here" not in await session.capture_pane()


@pytest.mark.parametrize("how", ["kill-server", "SIGKILL"])
async def test_end_of_the_server(terminal, how):
    """se-01"""
    async with terminal.open() as session:
        await session.send_keys("echo last words\n", block=True)
        await session.get_incremental_output()
        if how == "SIGKILL":
            os.kill(int(session.server), signal.SIGKILL)
        else:
            tmux(session.place, how)
        await within_a_second(lambda: _dead(session))
        with pytest.raises(SessionClosedError):
            await session.send_keys("echo x\n", min_timeout_sec=20)
        with pytest.raises(SessionClosedError):
            await session.get_incremental_output()
        assert "last words" in await session.capture_pane()
        assert session.exit_status is None


async def _capture_for_ever(session) -> None:
    """The server may answer the last requests of a client that is dead already."""
    while True:
        await session.capture_pane()


async def client_of(session, killed="") -> str:
    """Process id of our client; of the next one after one that was killed."""
    while (told := tmux(session.place, "list-clients", "-F", "#{client_pid}")) == killed or not told.isdigit():
        await anyio.sleep(0.02)
    return told


async def test_client_that_is_killed_has_a_successor(terminal, say):
    events = []
    async with terminal.open() as session:
        await session.get_incremental_output()
        session.listen(events.append)
        await say(session, "echo before")
        os.kill(int(await client_of(session)), signal.SIGKILL)
        text = await say(session, "echo one; sleep 0.3; seq 100; echo two")
        notice, *rows = text.split("\n")
        assert re.fullmatch(r"\[The connection to the terminal was lost for \d+\.\d s\. .*\]", notice)
        assert rows == ["$ echo one; sleep 0.3; seq 100; echo two", "one", *map(str, range(1, 101)), "two", "$"]
        assert await session.is_session_alive()
        assert await say(session, "echo x") == "$ echo x\nx\n$"
        await session.send_keys("exit 3\n", min_timeout_sec=20)
        await within_a_second(lambda: _dead(session))
        assert session.exit_status == 3
    kinds = [event.kind for event in events if event.kind != "input"]
    gap = kinds.index("gap")
    assert kinds[gap + 1 : gap + 3] == ["resize", "screen"]
    assert "output" in kinds[gap + 3 :]
    assert kinds.count("gap") == 1
    assert b"before" in next(event.data for event in events[::-1] if event.kind == "screen")
    assert not processes_with(session.place.folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_client_that_is_told_to_go_has_a_successor(terminal, say, number):
    async with terminal.open() as session:
        await session.get_incremental_output()
        os.kill(int(await client_of(session)), number)
        for word in ("one", "two"):
            assert (await say(session, f"echo {word}; sleep 0.2")).endswith(f"$ echo {word}; sleep 0.2\n{word}\n$")
            assert await session.is_session_alive()


TMUX_IN_TMUX = [
    "tmux new-session -d -s other 'sleep 60'",
    "tmux new-window 'sleep 60'",
    "tmux split-window 'sleep 60'",
    "tmux detach",
    "tmux new -d -s other; tmux switch-client -t other",
    "tmux rename-session other",
    "tmux break-pane",
]


@pytest.mark.parametrize("place", [LocalEnvironment, ExecOnlyEnvironment])
@pytest.mark.parametrize("command", TMUX_IN_TMUX)
async def test_tmux_that_is_run_inside(terminal, say, command, place):
    """The model uses tmux too, and meets our server."""
    async with place() as environment, terminal.open(place=environment) as session:
        await say(session, command)
        for _ in range(2):
            assert await session.is_session_alive()
            assert (await say(session, "echo x")).endswith("$ echo x\nx\n$")
        await session.send_keys("exit 3\n", min_timeout_sec=20)
        await within_a_second(lambda: _dead(session))
        assert session.exit_status == 3
    assert not processes_with(session.place.folder)


async def test_our_own_window_is_resized(terminal, say):
    async with terminal.open() as session:
        await say(session, "tmux new-window 'sleep 60'")
        await session.resize(100, 30)
        tmux(session.place, "select-window", "-t", "%0")  # tmux 3.1 tells the program when its window is shown
        await anyio.sleep(0.3)
        assert "$ stty size\n30 100\n$" in await say(session, "stty size")


async def test_shell_that_dies_behind_a_program(terminal):
    """Something else holds the terminal for longer: as when memory is short, and the kernel takes the shell."""
    async with terminal.open() as session:
        await session.send_keys(
            "python3 -c 'import os, time; os.kill(os.getppid(), 9); time.sleep(2)'\n", min_timeout_sec=1
        )
        with anyio.fail_after(20):
            while await session.is_session_alive():
                await anyio.sleep(0.1)
        assert session.exit_status == 137


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tell whose process it is")
async def test_a_process_that_has_the_number_of_a_dead_server_is_left_alone(terminal, bystander):
    async with terminal.open() as session:
        os.kill(int(session.server), signal.SIGKILL)  # its socket stays
        session.server = str(bystander.pid)
    assert not await anyio.Path(session.place.folder).exists()
    assert bystander.poll() is None


async def test_wait_for_a_command_whose_end_nobody_saw(terminal):
    """The prompt came while there was no client."""
    async with terminal.open() as session, anyio.create_task_group() as group:
        client = await client_of(session)

        async def kill_while_the_server_stands() -> None:
            await anyio.sleep(0.2)
            os.kill(int(session.server), signal.SIGSTOP)
            os.kill(int(client), signal.SIGKILL)
            await anyio.sleep(0.5)
            os.kill(int(session.server), signal.SIGCONT)

        group.start_soon(kill_while_the_server_stands)
        with anyio.fail_after(20):
            await session.send_keys("sleep 0.4\n", block=True)


async def test_every_key_arrives_once_though_clients_are_killed(terminal, say):
    async with terminal.open() as session:
        client = ""
        for number in range(20):
            client = await client_of(session, killed=client)
            await session.capture_pane()
            os.kill(int(session.server), signal.SIGSTOP)  # nobody can tell what it will read yet
            with anyio.move_on_after(0.02):
                await session.send_keys(f"echo {number} >>got\n", min_timeout_sec=1)
            os.kill(int(client), signal.SIGKILL)
            os.kill(int(session.server), signal.SIGCONT)
        await say(session, "true")
        assert (terminal.folder / "got").read_text().split() == [str(number) for number in range(20)]
        assert tmux(session.place, "list-clients").count("\n") == 0


async def test_connection_that_cannot_be_repaired(terminal, tmp_path):
    program = tmp_path / "mytmux"
    program.symlink_to(shutil.which("tmux"))
    async with terminal.open(tmux_path=str(program), reconnect_timeout_sec=0.3) as session:
        client = await client_of(session)
        program.unlink()
        os.kill(int(client), signal.SIGKILL)
        with anyio.fail_after(20), pytest.raises(EnvironmentFailedError, match="lost"):
            await _capture_for_ever(session)
        with pytest.raises(EnvironmentFailedError, match="lost"):
            await session.send_keys("echo x\n")
        with pytest.raises(EnvironmentFailedError, match="lost"):
            await session.is_session_alive()
        os.kill(int(session.server), signal.SIGKILL)


async def test_forged_end_mark_is_not_believed(terminal, say):
    async with terminal.open() as session:
        await say(session, f"printf '\\033]133;X;{session.token};0\\007'")
        assert await session.is_session_alive()
        assert session.exit_status is None
        assert "\nx\n" in await say(session, "echo x")


@pytest.mark.parametrize("keys", ["exit 4\n", "sleep 60\n"])
async def test_restart(terminal, say, keys):
    async with terminal.open() as session:
        await session.send_keys("here=1; " + keys, min_timeout_sec=0.4)
        await session.restart()
        assert await session.is_session_alive()
        assert session.exit_status is None
        text = await session.get_incremental_output()
        assert (text, text.kind) == ("$", "screen")
        assert await say(session, "echo ${here-new}") == "$ echo ${here-new}\nnew\n$"


# -- nothing is left behind --------------------------------------------------------------------------------------------


async def test_an_environment_that_runs_nothing_is_to_blame(terminal):
    class Broken(LocalEnvironment):
        async def exec(self, command, **more):
            return await super().exec(f"cd /nowhere || exit 1; {command}", **more)

    with pytest.raises(EnvironmentFailedError, match=r"no command runs in environment 'local': .*/nowhere"):
        async with Broken() as place, TmuxBackend().open(place, terminal.options()):
            pass


@pytest.mark.parametrize("how", ["end", "exception", "base exception", "cancel", "hanging"])
async def test_nothing_is_left_behind(terminal, how):
    seen = []
    error = {"exception": KeyError("mine"), "base exception": SystemExit(3)}.get(how)
    with anyio.CancelScope() as scope:
        try:
            async with terminal.open() as session:
                seen.append(session)
                assert mode(session.place.folder) == 0o700
                await session.send_keys("sleep 61.5 & cat\n", min_timeout_sec=0.1)
                if error:
                    raise error
                if how == "cancel":
                    scope.cancel()
                    await anyio.sleep(60)
                if how == "hanging":
                    os.kill(int(session.server), signal.SIGSTOP)
        except (KeyError, SystemExit) as raised:
            assert raised is error  # noqa: PT017 - SystemExit is no test failure either
    place = seen[0].place
    assert mode(place.folder) is None
    assert not processes_with(place.folder)
    assert not list(terminal.folder.glob(".tmux*"))


async def test_person_who_watches_from_a_smaller_terminal(terminal, say):
    async with terminal.open() as session:
        await session.get_incremental_output()
        person = watcher(session)
        try:
            person.stdin.write(b"typed by the watcher\r")
            person.stdin.flush()
            text = await say(session, "echo y; tput cols; tput lines")
            assert text == "$ echo y; tput cols; tput lines\ny\n160\n40\n$"
        finally:
            person.kill()
            person.communicate()


AGENT = """
import sys, anyio
from pathlib import Path
from terminus_core import SessionOptions
from terminus_plugins.environments.local import LocalEnvironment
from terminus_plugins.sessions.tmux import TmuxBackend
async def main():
    options = SessionOptions("killed", Path(sys.argv[1]), cwd=sys.argv[1], env={"HOME": sys.argv[2]})
    async with TmuxBackend(TmuxBackend.Config(keep_sec=600)).open(LocalEnvironment(), options) as session:
        await session.send_keys("mark=kept; echo before\\n", block=True)
        print(session.resume_token, session.server, flush=True)
        await anyio.sleep(60)
anyio.run(main)
"""


@pytest.fixture
def killed(terminal):
    """A session whose agent was killed with SIGKILL: its token, and its logs folder."""
    logs = terminal.folder / "killed-logs"
    logs.mkdir()
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(logs), str(terminal.home)], stdout=subprocess.PIPE, text=True
    )
    token, _, server = agent.stdout.readline().strip().rpartition(" ")
    agent.kill()
    agent.communicate()
    yield token, logs, Path(token.split(" ", maxsplit=1)[0])
    subprocess.run(["kill", "-9", server], capture_output=True, check=False)
    shutil.rmtree(token.split(" ", maxsplit=1)[0], ignore_errors=True)


def older(folder, seconds) -> None:
    """Let the folder of a session have been made earlier."""
    started, _, owner = (folder / "owner").read_text().partition(" ")
    (folder / "owner").write_text(f"{int(started) - seconds} {owner}")
    os.utime(folder / "owner", (0, 0))  # looked at before what else lies there


async def test_session_of_a_killed_agent_is_resumed(terminal, say, killed):
    token, logs, folder = killed
    async with terminal.open():
        assert folder.exists()
    options = terminal.options("killed", resume_token=token)
    options.logs_dir = logs
    async with terminal.open(options) as session:
        assert await session.is_session_alive()
        text = await session.get_incremental_output()
        assert text.kind == "screen"
        assert "before" in text
        assert await say(session, "echo $mark") == "$ echo $mark\nkept\n$"
        await session.send_keys("exit 9\n", min_timeout_sec=20)
        assert not await session.is_session_alive()
        assert session.exit_status == 9
    assert not folder.exists()


async def test_resuming_what_is_gone(terminal):
    options = terminal.options(resume_token="/tmp/terminus-gone run_1 00")
    with pytest.raises(SessionClosedError):
        async with terminal.open(options):
            pass


async def test_session_of_a_killed_agent_is_swept(terminal, killed):
    _, _, folder = killed
    (folder / "socket").unlink()  # nobody can ask the server any more
    async with terminal.open():
        assert folder.exists()
    older(folder, 700)
    async with terminal.open():
        assert not folder.exists()
        assert not processes_with(str(folder))


async def test_session_of_an_agent_elsewhere_is_left_for_a_day(terminal, killed):
    _, _, folder = killed
    started, _, _ = (folder / "owner").read_text().partition(" ")
    (folder / "owner").write_text(f"{started} another-machine {{}}")
    older(folder, 600)
    async with terminal.open():
        assert folder.exists()
    older(folder, 90_000)
    async with terminal.open():
        assert not folder.exists()


@pytest.mark.parametrize("place", [LocalEnvironment, ExecOnlyEnvironment])
async def test_what_runs_is_left(terminal, say, place):
    backend = TmuxBackend(TmuxBackend.Config(leave_running=True))
    async with place() as there, backend.open(there, terminal.options()) as session:
        await say(session, "sleep 300 &")
    try:
        async with terminal.open(keep_sec=0):
            pass
        assert tmux(session.place, "list-clients") == ""
        assert tmux(session.place, "display-message", "-p", "#{pane_current_command}") == "bash"
        tmux(session.place, "send-keys", "jobs", "Enter")
        with anyio.fail_after(10):
            while "Running" not in tmux(session.place, "capture-pane", "-p"):
                await anyio.sleep(0.05)
    finally:
        tmux(session.place, "send-keys", "kill %1", "Enter")
        with anyio.fail_after(10):
            while "Running" in tmux(session.place, "capture-pane", "-p").rpartition("kill %1")[2]:
                await anyio.sleep(0.05)
        tmux(session.place, "kill-server")
        shutil.rmtree(session.place.folder)


@pytest.mark.parametrize("place", [LocalEnvironment, ExecOnlyEnvironment])
async def test_what_would_be_hung_up_is_gone_and_what_would_not_lives(terminal, say, tmp_path, place):
    (tmp_path / "stubborn").write_text("trap 'echo no' HUP; echo $$ >stubborn.pid; while :; do sleep 0.2; done")
    async with place() as there, terminal.open(place=there) as session:
        await say(session, f"cd {tmp_path}; (sleep 301 & echo $! >plain.pid)")
        await say(session, "nohup sleep 302 >/dev/null 2>&1 & echo $! >nohup.pid")
        await say(session, "setsid sh -c 'echo $$ >setsid.pid; exec sleep 303' &")
        await say(session, "sleep 304 & echo $! >stopped.pid; kill -STOP $!")
        await session.send_keys("sh stubborn\n", min_timeout_sec=1)
        with anyio.fail_after(10):
            while not (tmp_path / "stubborn.pid").exists():
                await anyio.sleep(0.05)
    pids = {path.stem: int(path.read_text()) for path in tmp_path.glob("*.pid")}
    alive = {name for name, pid in pids.items() if is_alive(pid)}
    for name in alive:
        os.kill(pids[name], signal.SIGKILL)
    assert len(pids) == 5
    assert alive == {"nohup", "setsid"}


def is_alive(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


async def test_a_terminal_whose_shell_has_ended_is_not_left(terminal):
    async with terminal.open(leave_running=True) as session:
        folder = session.place.folder
        await session.send_keys("exit\n", min_timeout_sec=10)
        assert not await session.is_session_alive()
    assert mode(folder) is None
    assert not processes_with(folder)


async def test_session_in_use_is_never_swept(terminal):
    async with terminal.open() as session:
        folder = Path(session.place.folder)
        async with terminal.open(keep_sec=0):
            pass
        assert await session.is_session_alive()
        older(folder, 600)
        async with terminal.open(keep_sec=0):
            pass
        assert await session.is_session_alive()
