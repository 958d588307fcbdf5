"""What is SSH's own: host keys, keys to log in with, SSH's settings file, channels."""

# ruff: noqa: ASYNC221, ASYNC240, ASYNC110 - what tests prepare may block, and polling is how they wait for the outside

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from terminus_core import ConfigError, EnvironmentFailedError, SessionOptions
from terminus_plugins.environments.ssh import SshConfig, SshEnvironment
from terminus_plugins.sessions.tmux import TmuxBackend
from tests.support import sshd
from tests.support.places import children, program_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """The suite, and the faults, run on both loops."""
    return "asyncio"


def ssh(server, **settings):
    return SshEnvironment(SshConfig(**server.settings(**settings)))


async def says_hello(environment):
    async with environment as place:
        return (await place.exec("echo hello")).stdout == "hello\n"


# -- commands ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [pytest.param(None, id="ss-01")])
async def test_both_streams_are_read_whatever_comes_first(server, case):
    command = 'head -c 5000000 /dev/zero | tr "\\0" o; head -c 5000000 /dev/zero | tr "\\0" e >&2'
    async with ssh(server) as place:
        with anyio.fail_after(60):
            result = await place.exec(command)
    assert (len(result.stdout), len(result.stderr), result.return_code) == (5_000_000, 5_000_000, 0)


@pytest.mark.parametrize("case", [pytest.param(None, id="ss-03")])
async def test_no_status_is_neither_success_nor_failure(server, case):
    async with ssh(server) as place:
        assert (await place.exec("kill -9 $$")).return_code is None
        async with place.open_process("kill -9 $$") as process:
            with pytest.raises(anyio.EndOfStream):
                await process.receive()
            assert process.return_code is None
            with anyio.fail_after(10):
                while "a signal ended the command" not in process.stderr_tail:
                    await anyio.sleep(0.01)


@pytest.mark.parametrize("case", [pytest.param(None, id="ss-04")])
async def test_channels_are_given_back_and_never_too_many(server, case):
    results = []

    async def run(number):
        results.append((await place.exec(f"echo {number}")).stdout)

    async with ssh(server) as place:
        for number in range(200):
            await run(number)
        async with anyio.create_task_group() as group:
            for number in range(200, 230):
                group.start_soon(run, number)
        assert len(server.serving()) <= 4, "one connection is enough"
    assert sorted(results, key=int) == [f"{number}\n" for number in range(230)]


@pytest.mark.parametrize("case", [pytest.param(None, id="ss-05")])
async def test_other_tasks_go_on_and_a_cancel_is_prompt(server, case):
    ticks = []

    async def tick():
        while True:
            await anyio.sleep(0.1)
            ticks.append(time.monotonic())

    async with ssh(server) as place:
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            await place.exec("sleep 3")
            group.cancel_scope.cancel()
        begin = time.monotonic()
        with anyio.move_on_after(0.5):
            await place.exec("sleep 60")
        assert time.monotonic() - begin < 10
    assert len(ticks) >= 25


@pytest.mark.parametrize("case", [pytest.param(None, id="ss-08")])
@pytest.mark.parametrize("where", ["~/.local/bin", "elsewhere", "nowhere"])
async def test_tmux_that_only_a_login_shell_finds(tmp_path, home, where, case):
    path = tmp_path / "bin"
    path.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name != "tmux":
            (path / program.name).symlink_to(program)
    with sshd.running(tmp_path / "sshd", user=home, SetEnv=f"PATH={path}") as server:
        folder = server.home / {"~/.local/bin": ".local/bin", "elsewhere": "elsewhere", "nowhere": "nowhere"}[where]
        folder.mkdir(parents=True)
        if where != "nowhere":
            (folder / "tmux").symlink_to("/usr/bin/tmux")
        (server.home / ".profile").write_text(f"PATH={path}:{folder}\n")
        try:
            async with ssh(server) as place:
                opened = TmuxBackend().open(place, SessionOptions("run", tmp_path))
                if where == "~/.local/bin":
                    async with opened as session:
                        assert await session.is_session_alive()
                else:
                    told = f'set tmux_path = "{folder}/tmux"' if where == "elsewhere" else "tmux is not installed"
                    with pytest.raises(EnvironmentFailedError, match=re.escape(told)):
                        await opened.__aenter__()
        finally:
            (server.home / ".profile").unlink()
            shutil.rmtree(folder)


async def test_what_a_login_profile_says_is_not_the_commands(server):
    profile = server.home / ".bashrc"
    profile.write_text("echo welcome; printf 'no newline'\n")
    try:
        async with ssh(server) as place:
            assert (await place.exec("echo hello")).stdout == "hello\n"
            async with place.open_process("echo hello") as process:
                assert await process.receive() == b"hello\n"
    finally:
        profile.unlink()


async def test_no_list_of_processes_shows_variables(server):
    async with ssh(server) as place:
        async with place.open_process("echo ready; cat", env={"TOKEN": "hush-hush"}) as process:
            await process.receive()
            words = b"".join(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
        result = await place.exec('echo "$TOKEN"', env={"TOKEN": "hush-hush"})
    assert b"hush-hush" not in words
    assert result.stdout == "hush-hush\n"


@pytest.mark.parametrize("name", ["A; touch /tmp/terminus-never; B", "A B", "1A", "", "-x"])
async def test_variables_with_names_that_are_none(server, name):
    async with ssh(server) as place:
        with pytest.raises(EnvironmentFailedError, match="is no name of a variable"):
            await place.exec("true", env={name: "x"})


@pytest.mark.parametrize("user", ["-s", "a b", "$(id)", "nobody-of-that-name"])
async def test_users_that_are_none(server, user):
    async with ssh(server) as place:
        with pytest.raises(EnvironmentFailedError):
            await place.exec("echo ran", user=user)


async def test_a_command_may_be_longer_than_a_command_line(server):
    async with ssh(server) as place:
        result = await place.exec("wc -c <<'END'\n" + "x" * 300_000 + "\nEND\n")
    assert int(result.stdout) == 300_001


# -- host keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [pytest.param(None, id="ss-06")])
async def test_an_unknown_key_is_refused_with_the_line_that_accepts_it(server, tmp_path, case):
    known_hosts = tmp_path / "known hosts"
    with pytest.raises(EnvironmentFailedError, match=r"unknown \(ssh-ed25519 SHA256:") as caught:
        await says_hello(ssh(server, known_hosts=str(known_hosts)))
    line = str(caught.value).partition("If it is the right one: ")[2]
    subprocess.run(line, shell=True, check=True)
    assert await says_hello(ssh(server, known_hosts=str(known_hosts)))


@pytest.mark.parametrize("case", [pytest.param(None, id="ss-06")])
async def test_a_changed_key_is_refused_always(server, tmp_path, case):
    sshd.make_key(tmp_path / "other")
    kind, blob, *_ = (tmp_path / "other.pub").read_text().split()
    known_hosts, settings = tmp_path / "known_hosts", tmp_path / "config"
    known_hosts.write_text(f"[127.0.0.1]:{server.port} {kind} {blob}\n")
    settings.write_text("Host *\n  StrictHostKeyChecking no\n")
    with pytest.raises(EnvironmentFailedError, match=r"HAS CHANGED .*ssh-keygen -f \S+ -R"):
        await says_hello(ssh(server, known_hosts=str(known_hosts), ssh_config=str(settings)))


async def test_a_revoked_key_is_refused(server, tmp_path):
    kind, blob, *_ = (server.folder / "host_key.pub").read_text().split()
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(f"* {kind} {blob}\n@revoked * {kind} {blob}\n")
    with pytest.raises(EnvironmentFailedError, match="revoked"):
        await says_hello(ssh(server, known_hosts=str(known_hosts)))


@pytest.mark.parametrize("form", ["hashed", "pattern", "second of its type", "beside junk"])
async def test_forms_of_known_hosts(server, tmp_path, form):
    known_hosts = tmp_path / "known_hosts"
    line = server.known_hosts.read_text()
    if form == "hashed":
        known_hosts.write_text(line)
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", known_hosts], check=True, capture_output=True)
        assert "127.0.0.1" not in known_hosts.read_text()
    elif form == "pattern":
        known_hosts.write_text(f"!10.0.0.1,[127.0.0.*]:{server.port}" + line[line.index(" ") :])
    elif form == "second of its type":
        sshd.make_key(tmp_path / "other")
        other = (tmp_path / "other.pub").read_text().split()
        known_hosts.write_text(f"[127.0.0.1]:{server.port} {other[0]} {other[1]}\n{line}")
    else:
        known_hosts.write_text(f"# a comment\n\nnonsense\n@cert-authority * ssh-rsa AAAA\n{line}")
    assert await says_hello(ssh(server, known_hosts=str(known_hosts)))


# -- logging in --------------------------------------------------------------------------------------------------------


async def test_a_key_that_is_not_accepted(server, tmp_path):
    sshd.make_key(tmp_path / "key")
    with pytest.raises(EnvironmentFailedError, match=rf"accepts none of the keys tried \({tmp_path}/key\)"):
        await says_hello(ssh(server, key=str(tmp_path / "key")))


async def test_a_key_file_that_is_not_there(server, tmp_path):
    with pytest.raises(EnvironmentFailedError, match=f"there is no key file '{tmp_path}/key'"):
        await says_hello(ssh(server, key=str(tmp_path / "key")))


async def test_a_key_file_that_is_none(server, tmp_path):
    (tmp_path / "key").write_text("no key")
    with pytest.raises(EnvironmentFailedError, match=f"cannot use the key file '{tmp_path}/key'"):
        await says_hello(ssh(server, key=str(tmp_path / "key")))


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """A real agent that holds the key which the server accepts; the file of it is locked by a passphrase."""
    path = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    while not path.exists():
        time.sleep(0.01)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    yield path
    process.terminate()
    process.wait()


async def test_a_locked_key_works_through_the_agent(server, tmp_path, agent):
    locked = tmp_path / "locked"
    locked.write_bytes(server.key.read_bytes())
    locked.chmod(0o600)
    Path(f"{locked}.pub").write_bytes(Path(f"{server.key}.pub").read_bytes())
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", locked], check=True, stdout=subprocess.DEVNULL)
    with pytest.raises(EnvironmentFailedError, match=f"locked by a passphrase: ssh-add {locked}"):
        await says_hello(ssh(server, key=str(locked)))
    subprocess.run(["ssh-add", "-q", server.key], check=True)
    assert await says_hello(ssh(server, key=str(locked)))


async def test_keys_of_the_agent_alone(server, tmp_path, agent):
    sshd.make_key(tmp_path / "other")
    subprocess.run(["ssh-add", "-q", tmp_path / "other", server.key], check=True)
    settings = tmp_path / "config"
    settings.write_text(f"IdentityFile {tmp_path}/none\n")
    assert await says_hello(ssh(server, key=None, ssh_config=str(settings)))
    settings.write_text(f"IdentityFile {tmp_path}/none\nIdentitiesOnly yes\n")
    with pytest.raises(EnvironmentFailedError, match="there is none"):
        await says_hello(ssh(server, key=None, ssh_config=str(settings)))


# -- SSH's settings file -----------------------------------------------------------------------------------------------


@pytest.fixture
def settings(server, tmp_path):
    """A settings file as people have it, with `box` behind includes."""
    folder = tmp_path / "ssh"
    (folder / "conf.d").mkdir(parents=True)
    (folder / "conf.d" / "work.conf").write_text(
        f"Host box\n  HostName 127.0.0.1\n  Port {server.port}\nHost other\n  Include never.conf\n"
    )
    (folder / "never.conf").write_text("Host *\n  Port 1\n")
    (folder / "common.conf").write_text(
        f"IdentitiesOnly yes\nIdentityFile {server.key}\nUserKnownHostsFile {server.known_hosts}\n"
    )
    (folder / "config").write_text(
        f"Include conf.d/*.conf\nUser {server.user}\n"
        f"Host *\n  Include {folder}/common.conf\nHost box\n  Port 2\n"
        "Host through\n  HostName 127.0.0.1\n  ProxyJump box\n"
        f"  Port {server.port}\n"
    )
    return folder / "config"


def by_alias(settings, host, **more):
    return SshEnvironment(SshConfig(host=host, ssh_config=str(settings), **more))


async def test_an_alias_behind_includes(settings):
    assert await says_hello(by_alias(settings, "box"))


async def test_a_jump(server, settings):
    async with by_alias(settings, "through") as place:
        assert (await place.exec("echo hello")).stdout == "hello\n"
        assert server.log.read_text().count("Accepted publickey") >= 2


async def test_two_jumps(server, settings):
    with settings.open("a") as file:
        file.write(f"\nHost far\n  HostName 127.0.0.1\n  Port {server.port}\n  ProxyJump box,{server.user}@through\n")
    async with by_alias(settings, "far") as place:
        assert (await place.exec("echo hello")).stdout == "hello\n"


async def test_a_jump_that_leads_nowhere(settings):
    with settings.open("a") as file:
        file.write("\nHost far\n  HostName 127.0.0.1\n  Port 1\n  ProxyJump box\n")
    with pytest.raises(EnvironmentFailedError, match=r"cannot connect to \S+@127.0.0.1:1: "):
        await says_hello(by_alias(settings, "far"))


async def test_a_proxy_command(server, settings, tmp_path):
    log, script = tmp_path / "proxied", tmp_path / "script"
    relay = f"ssh -F /dev/null -i {server.key} -o UserKnownHostsFile={server.known_hosts} -p {server.port}"
    script.write_text(f"echo $1 >>{log}; exec {relay} -W $1 $2@127.0.0.1\n")
    with settings.open("a") as file:
        file.write(f"\nHost command\n  HostName 127.0.0.1\n  Port {server.port}\n  ProxyCommand sh {script} %h:%p %r\n")
    assert await says_hello(by_alias(settings, "command"))
    assert log.read_text() == f"127.0.0.1:{server.port}\n"
    assert not [pid for pid in children(os.getpid()) if program_of(pid) == "ssh"]


async def test_a_proxy_command_that_fails(settings):
    with settings.open("a") as file:
        file.write("\nHost command\n  ProxyCommand exit 1\n")
    with pytest.raises(EnvironmentFailedError, match="cannot connect to"):
        await says_hello(by_alias(settings, "command", connect_timeout=2))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Host box\n  Port many\n", "cannot understand"),
        ("Match nonsense\n", "cannot understand"),
        ("Host box\n  ProxyJump box\n", "circle"),
        ("Host box\n  ProxyJump a b:c:d\n", "is no"),
    ],
)
async def test_settings_that_make_no_sense(tmp_path, text, why):
    (tmp_path / "config").write_text(text)
    with pytest.raises(ConfigError, match=why):
        await says_hello(by_alias(tmp_path / "config", "box"))


@pytest.mark.parametrize("host", ["-oProxyCommand=id", "a b", "$(id)", "a;id", ""])
async def test_names_that_are_none(host, settings):
    with pytest.raises(ConfigError):
        await says_hello(by_alias(settings, host))


# -- channels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sessions", [1, 3])
async def test_a_server_with_few_channels(tmp_path, sessions, home):
    with sshd.running(tmp_path / "sshd", user=home, MaxSessions=sessions) as server:
        async with ssh(server) as place, anyio.create_task_group() as group:
            talking = [anyio.Event() for _ in range(5)]
            done = anyio.Event()

            async def talk(event):
                async with place.open_process("cat") as process:
                    await process.send(b"x")
                    assert await process.receive() == b"x"
                    event.set()
                    await done.wait()

            for event in talking:
                group.start_soon(talk, event)
            for event in talking:
                await event.wait()
            assert (await place.exec("echo beside")).stdout == "beside\n"
            done.set()


async def test_a_server_without_channels(tmp_path, home):
    with sshd.running(tmp_path / "sshd", user=home, MaxSessions=0) as server:
        async with ssh(server) as place:
            with pytest.raises(EnvironmentFailedError, match="opens no further channel"):
                await place.exec("echo hello")


async def test_newcomers_that_a_server_turns_away_come_again(tmp_path, home):
    with sshd.running(tmp_path / "sshd", user=home, MaxStartups="2:100:2") as server:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(says_hello, ssh(server, connect_timeout=30))


def test_without_paramiko_the_cure_is_named():
    program = """
import sys
sys.modules["paramiko"] = None
import anyio
from terminus_plugins.environments.ssh import SshConfig, SshEnvironment

async def main():
    async with SshEnvironment(SshConfig(host="127.0.0.1")):
        pass

anyio.run(main)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'terminus-agent[ssh]'" in result.stderr.splitlines()[-1]
