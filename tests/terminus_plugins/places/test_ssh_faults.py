"""Connections that break, hosts that stop, disks that are full."""

# ruff: noqa: ASYNC221, ASYNC110 - what tests prepare may block, and polling is how they wait for the outside

import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from threading import Timer

import anyio
import pytest

from terminus_core import EnvironmentFailedError
from terminus_plugins.environments.ssh import SshConfig, SshEnvironment
from tests.support import sshd
from tests.support.places import need_root

pytestmark = pytest.mark.anyio


@pytest.fixture
def server(tmp_path, home):
    """A server of this test's own, to be broken."""
    with sshd.running(tmp_path / "sshd", user=home) as server:
        yield server


def ssh(server, **settings):
    return SshEnvironment(SshConfig(**server.settings(**settings)))


@contextmanager
def within(seconds):
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < seconds


async def test_a_host_that_refuses(server):
    server.stop()
    with within(10), pytest.raises(EnvironmentFailedError, match=r"cannot connect to .*: Connection refused") as caught:
        async with ssh(server):
            pass
    assert caught.value.exit_code == 4


async def test_a_host_with_no_name_that_is_known(server):
    with pytest.raises(EnvironmentFailedError, match=r"cannot connect to .*no-such-host\.invalid"):
        async with ssh(server, host="no-such-host.invalid"):
            pass


async def test_a_server_that_says_nothing():
    with anyio.fail_after(20):
        async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            with pytest.raises(EnvironmentFailedError, match=r"cannot connect to"):
                async with SshEnvironment(
                    SshConfig(host="127.0.0.1", port=port, ssh_config="/dev/null", connect_timeout=1)
                ):
                    pass


@pytest.mark.parametrize("said", range(1, 11))
async def test_a_connection_cut_while_it_is_made(server, said):
    """Cut after so many things that the client said: never taken for a refusal, and the next attempt works."""
    cuts = []

    async def serve(client):
        async with (
            client,
            await anyio.connect_tcp("127.0.0.1", server.port) as host,
            anyio.create_task_group() as group,
        ):

            async def answer():
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    async for data in host:
                        await client.send(data)
                group.cancel_scope.cancel()

            group.start_soon(answer)
            number = 0
            with suppress(anyio.BrokenResourceError):
                async for data in client:
                    number += 1
                    if number == said and not cuts:
                        cuts.append(number)
                        break
                    await host.send(data)
            group.cancel_scope.cancel()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, serve)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        server.trust(port)
        async with ssh(server, port=port) as place:
            while not cuts:  # how many things it says in a command depends on how they are put together
                await place.exec("true")
            result = await place.exec("echo here")
            if result.return_code is None:  # noticed only now
                result = await place.exec("echo here")
            assert (result.stdout, result.return_code) == ("here\n", 0)
        group.cancel_scope.cancel()


async def test_cancelling_a_connection_that_does_not_come():
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        with within(5), anyio.move_on_after(0.3):
            async with SshEnvironment(
                SshConfig(host="127.0.0.1", port=port, ssh_config="/dev/null", connect_timeout=2)
            ):
                pass


async def test_a_connection_cut_in_a_command(server):
    async with ssh(server) as place:
        result = None

        async def run():
            nonlocal result
            result = await place.exec("echo begun; exec sleep 300")

        with anyio.fail_after(15):
            async with anyio.create_task_group() as group:
                group.start_soon(run)
                await _until_it_runs(place, "sleep 300")
                server.cut()
        assert result.return_code is None
        assert result.stdout == "begun\n"
        # The next one goes over a new connection.
        assert (await place.exec("echo again; pkill -f 'sleep 300'")).stdout == "again\n"


async def test_a_connection_cut_in_a_process(server):
    async with ssh(server) as place:
        async with place.open_process("echo ready; cat") as process:
            assert await process.receive() == b"ready\n"
            server.cut()
            with anyio.fail_after(15), pytest.raises(anyio.EndOfStream):
                await process.receive()
            assert process.return_code is None
            with anyio.fail_after(5):
                while "was lost" not in process.stderr_tail:
                    await anyio.sleep(0.01)
            with anyio.fail_after(15), pytest.raises(anyio.BrokenResourceError):
                await _send_for_ever(process)
        async with place.open_process("cat") as process:
            await process.send(b"again")
            assert await process.receive() == b"again"


async def test_a_frozen_peer_is_noticed(server):
    async with ssh(server, alive_timeout=2) as place:
        async with place.open_process("echo ready; cat") as process:
            assert await process.receive() == b"ready\n"
            server.signal(signal.SIGSTOP)
            try:
                with within(10), pytest.raises(anyio.EndOfStream):
                    await process.receive()
            finally:
                server.signal(signal.SIGCONT)
            assert process.return_code is None
            with anyio.fail_after(5):
                while "has not answered for 2 s" not in process.stderr_tail:
                    await anyio.sleep(0.01)
        assert (await place.exec("echo again")).stdout == "again\n"


async def test_a_frozen_peer_in_the_middle_of_sending(server):
    async with ssh(server, alive_timeout=2) as place:
        with within(20):
            async with place.open_process("exec sleep 300") as process:
                Timer(0.5, server.signal, [signal.SIGSTOP]).start()
                with pytest.raises(anyio.BrokenResourceError):
                    await _send_for_ever(process)
            server.signal(signal.SIGCONT)
        assert (await place.exec("pkill -xf 'sleep 300'; echo again")).stdout == "again\n"


async def test_an_idle_connection_lives_longer_than_its_time_limit(server):
    async with ssh(server, alive_timeout=1) as place, place.open_process("cat") as process:
        await anyio.sleep(3)
        await process.send(b"x")
        assert await process.receive() == b"x"
        assert server.log.read_text().count("Accepted publickey") == 1


async def test_an_outage_is_waited_for(server):
    async with ssh(server) as place:
        server.cut()
        server.stop()
        async with anyio.create_task_group() as group:

            async def come_back():
                await anyio.sleep(2)
                await anyio.to_thread.run_sync(server.start)

            group.start_soon(come_back)
            with anyio.fail_after(30):
                assert (await place.exec("echo again")).stdout == "again\n"


async def test_an_outage_that_lasts_too_long(server):
    async with ssh(server, reconnect_timeout=1) as place:
        server.cut()
        server.stop()
        with within(10), pytest.raises(EnvironmentFailedError, match=r"cannot connect to .*: Connection refused"):
            await place.exec("echo again")


async def test_a_host_key_that_changed_meanwhile(server):
    async with ssh(server) as place:
        server.cut()
        server.stop()
        server.new_host_key()
        server.start()
        with within(10), pytest.raises(EnvironmentFailedError, match="HAS CHANGED"):
            await place.exec("echo again")


async def test_many_drops_leave_nothing_behind(server):
    async with ssh(server) as place:
        for number in range(5):
            server.cut()
            assert (await place.exec(f"echo {number}")).stdout == f"{number}\n"
    with anyio.fail_after(10):
        while server.serving():
            await anyio.sleep(0.02)


async def test_a_full_disk(server, tmp_path):
    need_root("mount a small disk")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=True)
    try:
        (tmp_path / "big").write_bytes(bytes(1_000_000))
        async with ssh(server) as place:
            with pytest.raises(EnvironmentFailedError, match=r"cannot write '.*/file': .*No space left on device"):
                await place.upload_file(tmp_path / "big", f"{small}/file")
            assert (await place.exec("echo works")).stdout == "works\n"
    finally:
        subprocess.run(["umount", small], check=True)


async def _send_for_ever(process):
    while True:
        await process.send(bytes(65536))


async def _until_it_runs(place, words):
    with anyio.fail_after(10):
        while (await place.exec(f"pgrep -xf '{words}'")).return_code != 0:
            await anyio.sleep(0.05)
