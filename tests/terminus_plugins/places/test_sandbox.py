"""What a sandbox keeps in and out."""

# ruff: noqa: ASYNC240, ASYNC110 - what tests prepare may block, and polling is how they wait for the outside

import secrets
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from terminus_core import EnvironmentFailedError
from terminus_plugins.environments.sandbox import SandboxConfig, SandboxEnvironment
from tests.support.places import need, need_root

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """The suite runs on both loops."""
    return "asyncio"


@pytest.fixture(autouse=True)
def _bubblewrap():
    need("bwrap", "bubblewrap")


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def sandbox(folder, **settings):
    return SandboxEnvironment(SandboxConfig(folder=str(folder), **settings))


async def test_one_folder_can_be_written(work):
    (work / "before").write_text("old\n")
    async with sandbox(work) as place:
        result = await place.exec("pwd; cat before; echo new > after; echo x > /tmp/sandboxed; ls /tmp/sandboxed")
        for target in ("/x", "/usr/x", "/etc/x", "/usr/bin/x", "/var/x", "/proc/sys/kernel/hostname"):
            assert (await place.exec(f"echo x > {target}")).return_code != 0, target
        assert (await place.exec("test -w /proc/sysrq-trigger")).return_code == 1
        assert (await place.exec("mount -t tmpfs x /tmp")).return_code != 0
    assert result.stdout == f"{work}\nold\n/tmp/sandboxed\n"
    assert (work / "after").read_text() == "new\n"
    assert not Path("/tmp/sandboxed").exists()


async def test_neither_home_nor_variables_nor_processes_are_seen(work, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "hush-hush")
    async with sandbox(work, env={"GIVEN": "a b"}) as place:
        result = await place.exec('env; echo "$HOME"; ls -d "$HOME"; ls /root /home')
        processes = await place.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "hush-hush" not in result.stdout
    assert "GIVEN=a b\n" in result.stdout
    assert result.stdout.endswith("/tmp/home\n/tmp/home\n")
    assert sys.executable not in processes.stdout


async def test_what_only_root_may_read_stays_unread(work):
    need_root("read such files in the first place")
    assert Path("/etc/shadow").stat().st_size > 0
    async with sandbox(work) as place:
        result = await place.exec("cat /etc/shadow; cat /etc/passwd | head -1")
    assert result.stdout.startswith("root:x:")


async def test_further_paths_to_read(work, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("seen\n")
    async with sandbox(work, read_only=[str(tmp_path / "data")]) as place:
        result = await place.exec(f"cat {tmp_path}/data/file; echo x > {tmp_path}/data/file")
    assert result.stdout == "seen\n"
    assert result.return_code != 0
    assert (tmp_path / "data" / "file").read_text() == "seen\n"


@pytest.mark.parametrize("network", [False, True])
async def test_no_network_unless_asked_for(work, network):
    knock = "exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT && head -c 5 <&3'"
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)

        async def answer(stream):
            async with stream:
                await stream.send(b"hello")

        async with anyio.create_task_group() as group, sandbox(work, network=network) as place:
            group.start_soon(listener.serve, answer)
            result = await place.exec(knock.replace("PORT", str(port)))
            group.cancel_scope.cancel()
    assert (result.stdout == "hello") is network


async def test_commands_share_one_sandbox(work):
    async with sandbox(work) as place:
        await place.exec("echo here > /tmp/shared; sleep 300 & echo $! > /tmp/number")
        result = await place.exec("cat /tmp/shared; kill -0 $(cat /tmp/number) && echo alive")
    assert result.stdout == "here\nalive\n"


async def test_nothing_is_left_when_the_program_is_killed(work):
    seconds = f"{1000 + secrets.randbelow(1_000_000)}"
    program = f"""
import anyio
from terminus_plugins.environments.sandbox import SandboxConfig, SandboxEnvironment

async def main():
    async with SandboxEnvironment(SandboxConfig(folder={str(work)!r})) as place:
        await place.exec("setsid sleep {seconds} >/dev/null 2>&1 & setsid setsid sleep {seconds} >/dev/null 2>&1 &")
        async with place.open_process("exec sleep {seconds}"):
            print("ready", flush=True)
            await anyio.sleep_forever()

anyio.run(main)
"""
    with _started(program) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            with anyio.fail_after(10):
                while len(_sleepers(seconds)) < 3:
                    await anyio.sleep(0.02)
        finally:
            process.kill()
    with anyio.fail_after(10):
        while _sleepers(seconds):
            await anyio.sleep(0.02)


async def test_a_sandbox_that_is_killed(work):
    async with sandbox(work) as place:
        async with place.open_process("echo ready; cat") as process:
            assert await process.receive() == b"ready\n"
            place._holder.kill()
            with anyio.fail_after(10), pytest.raises(anyio.EndOfStream):
                await process.receive()
            assert process.return_code is None
        with pytest.raises(EnvironmentFailedError, match="the sandbox has ended"):
            await place.exec("echo again")


@pytest.mark.parametrize("folder", ["/", "/usr/lib", "/etc", str(Path.home()), str(Path.home().parent)])
async def test_folders_that_are_not_given_away(folder):
    with pytest.raises(EnvironmentFailedError, match="no folder to be written by a sandbox"):
        async with sandbox(folder):
            pass


async def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(EnvironmentFailedError, match="is not there"):
        async with sandbox(tmp_path / "none"):
            pass


async def test_bubblewrap_cannot(work):
    with pytest.raises(EnvironmentFailedError, match="cannot build a sandbox: bwrap: Can't find source path"):
        async with sandbox(work, read_only=["/no/such/path"]):
            pass


async def test_bubblewrap_is_not_installed(work, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailedError, match="needs bwrap: apt-get install bubblewrap"):
        async with sandbox(work):
            pass


async def test_there_is_one_user(work):
    async with sandbox(work) as place:
        assert (await place.exec("id -un", user="root")).stdout == "root\n"
        with pytest.raises(EnvironmentFailedError, match="no user 'nobody' in a sandbox"):
            await place.exec("id -un", user="nobody")


def test_an_ordinary_user_can_have_one(work):
    """Tried as root first, because the libraries of the tests may be for root's eyes alone."""
    need_root("become another user")
    program = f"""
import ctypes, os, anyio
from terminus_plugins.environments.sandbox import SandboxConfig, SandboxEnvironment

async def main():
    async with SandboxEnvironment(SandboxConfig(folder={str(work)!r})) as place:
        result = await place.exec("id -un; echo x > file; cat file; cat /etc/shadow; echo y > /usr/x")
        async with place.open_process("cat") as process:
            await process.send(b"echo")
            print(repr(result.stdout), result.return_code, await process.receive())

anyio.run(main)
os.environ["HOME"] = "/nonexistent"
os.chown({str(work)!r}, 65534, 65534)
os.unlink({str(work)!r} + "/file")
os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as for a program that was started by that user
anyio.run(main)
"""
    for parent in work.parents:
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stdout == "'root\\nx\\n' 2 b'echo'\n" * 2, result.stderr


def _started(program):
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)


def _sleepers(seconds):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().split(b"\0")[:2] == [b"sleep", seconds.encode()]:
                found.append(path)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
