"""What is a container's own: how it starts, images of every kind, faults."""

import shutil
from pathlib import Path

import anyio
import pytest
from pydantic import ValidationError

from terminus_core import EnvironmentFailedError
from terminus_plugins.environments.container import ContainerConfig, ContainerEnvironment
from tests.support.images import add_program
from tests.support.places import need

pytestmark = pytest.mark.anyio

BASE, PLAIN, BUSYBOX = "localhost/base:1", "localhost/plain:1", "localhost/busybox:1"


@pytest.fixture
def anyio_backend():
    """The suite runs on both loops; starting containers takes long enough on one."""
    return "asyncio"


@pytest.fixture
def container(engine):
    def build(image=BASE, **settings):
        return ContainerEnvironment(ContainerConfig(engine=engine.kind, image=image, **{"network": "none", **settings}))

    return build


async def test_a_container_is_started_and_removed(engine, container):
    async with container() as place:
        (name,) = [name for name in engine.containers() if name.startswith("terminus-")]
        assert (await place.exec("id -un; ls /")).stdout.startswith("root\nbin\n")
    assert name not in engine.containers()


async def test_it_is_removed_after_a_cancel_too(engine, container):
    with anyio.CancelScope() as scope:
        async with container() as place:
            scope.cancel()
            await place.exec("sleep 60")
    assert not [name for name in engine.containers() if name.startswith("terminus-")]


async def test_settings_reach_the_container(container, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file").write_text("from outside\n")
    settings = {
        "user": "nobody",
        "workdir": "/var/tmp",
        "env": {"TOKEN": "hush-hush", "HTTP_PROXY": "http://127.0.0.1:9"},
        "memory": "64m",
        "cpus": 0.5,
        "mounts": [f"{tmp_path}/shared:/shared:ro"],
    }
    async with container(**settings) as place:
        result = await place.exec('id -un; pwd; echo "$TOKEN $HTTP_PROXY"; cat /shared/file')
        locked = await place.exec("touch /shared/file", user="0")
        async with place.open_process('pwd; echo "$TOKEN"; cat') as process:
            first = b""
            while first.count(b"\n") < 2:
                first += await process.receive()
            words = b"".join(_command_lines())
        other = await place.exec("id -u; pwd", user="12345", cwd="/tmp")
        limits = await place.exec("cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max", user="0")
    assert result.stdout == "nobody\n/var/tmp\nhush-hush http://127.0.0.1:9\nfrom outside\n"
    assert "Read-only" in locked.stderr
    assert first == b"/var/tmp\nhush-hush\n"
    assert b"hush-hush" not in words
    assert other.stdout == "12345\n/tmp\n"
    assert limits.stdout.split() in (
        ["67108864", "50000", "100000"],
        [],
    )  # cgroups of the first version say it elsewhere


@pytest.mark.parametrize("image", [BASE, PLAIN, BUSYBOX])
async def test_images_of_every_kind(container, image, tmp_path):
    """Commands, streams, files, time limits, with what the image has."""
    (tmp_path / "here").write_bytes(bytes(range(256)))
    async with container(image, env={"LC_ALL": "C"}) as place:
        assert (await place.exec("printf é")).stdout == "é"
        await place.upload_file(tmp_path / "here", "/tmp/there")
        await place.download_file("/tmp/there", tmp_path / "back")
        async with place.open_process("cat") as process:
            await process.send(b"x\0y")
            assert await process.receive() == b"x\0y"
        with pytest.raises(TimeoutError):
            await place.exec("echo $$ >/tmp/me; sleep 300", timeout_sec=2)
        gone = await place.exec("kill -0 $(cat /tmp/me)")
    assert (tmp_path / "back").read_bytes() == bytes(range(256))
    assert gone.return_code not in (0, None)


async def test_a_root_that_cannot_be_written(container):
    async with container(read_only=True) as place:
        result = await place.exec("echo x >/tmp/file && cat /tmp/file; echo y >/file")
    assert result.stdout == "x\n"
    assert "Read-only" in result.stderr


async def test_a_user_without_a_home(container):
    async with container(user="12345") as place:
        assert (await place.exec("id -u; cd; pwd")).stdout == "12345\n/\n"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"image": "localhost/none:1"}, "cannot start a container from 'localhost/none:1': "),
        ({"image": "Not An Image"}, "cannot start a container from 'Not An Image': .*invalid reference"),
        ({"image": BASE, "network": "none", "memory": "much"}, "cannot start a container from .*much"),
        ({"container": "no-such"}, "there is no container 'no-such'"),
    ],
)
async def test_what_cannot_be_had_is_told_in_one_line(engine, settings, why):
    with pytest.raises(EnvironmentFailedError, match=why) as caught:
        async with ContainerEnvironment(ContainerConfig(engine=engine.kind, start_timeout=30, **settings)):
            pass
    assert "\n" not in str(caught.value)
    assert not [name for name in engine.containers() if name.startswith("terminus-")]


async def test_an_image_without_a_shell(engine, container, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    add_program(root, "true")
    engine.add_image("localhost/shell-less:1", root)
    with pytest.raises(EnvironmentFailedError, match=r"cannot start a container from .*/bin/sh"):
        async with container("localhost/shell-less:1"):
            pass
    assert not [name for name in engine.containers() if name.startswith("terminus-")]


def test_an_image_and_a_container_are_one_too_many():
    for settings in ({}, {"image": "a", "container": "b"}):
        with pytest.raises(ValidationError, match="either image or container"):
            ContainerConfig(**settings)


async def test_a_container_that_is_killed(engine, container):
    async with container() as place:
        name = next(name for name in engine.containers() if name.startswith("terminus-"))
        async with place.open_process("echo ready; cat") as process:
            assert await process.receive() == b"ready\n"
            engine.run("kill", name)
            with anyio.fail_after(20), pytest.raises(anyio.EndOfStream):
                await process.receive()
            assert process.return_code is None
            assert f"container '{name}' does not run: it has ended with status 137" in process.stderr_tail
        with pytest.raises(EnvironmentFailedError, match="does not run: it has ended with status 137"):
            await place.exec("echo again")


async def test_a_container_that_is_removed(engine, container):
    async with container() as place:
        name = next(name for name in engine.containers() if name.startswith("terminus-"))
        engine.run("rm", "-f", name)
        with pytest.raises(EnvironmentFailedError, match=f"there is no container '{name}': it was removed"):
            await place.exec("echo again")


async def test_a_command_that_runs_out_of_memory(container):
    async with container(memory="64m") as place:
        result = await place.exec("exec head -c 300000000 /dev/zero | exec tail")
        assert result.return_code == 137
        assert (await place.exec("echo again")).stdout == "again\n"


async def test_an_engine_that_is_not_there():
    with pytest.raises(EnvironmentFailedError, match="no-such-engine is not installed"):
        async with ContainerEnvironment(ContainerConfig(engine="no-such-engine", image=BASE)):
            pass


async def test_the_engine_that_answers_is_taken(podman, use_engine, monkeypatch, tmp_path):
    use_engine(podman)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    async with ContainerEnvironment(ContainerConfig(image=BASE, network="none")) as place:
        assert (await place.exec("echo here")).stdout == "here\n"


async def test_no_engine_answers(monkeypatch, tmp_path):
    need("docker", "docker.io")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(EnvironmentFailedError, match=r"docker does not answer: Cannot connect to the Docker daemon"):
        async with ContainerEnvironment(ContainerConfig(engine="docker", image=BASE)):
            pass


async def test_an_engine_that_stops(docker, use_engine):
    """The last test of this module's docker: its containers end with it."""
    use_engine(docker)
    async with ContainerEnvironment(ContainerConfig(engine="docker", image=BASE, network="none")) as place:
        async with place.open_process("echo ready; cat") as process:
            assert await process.receive() == b"ready\n"
            docker.stop()
            with anyio.fail_after(20), pytest.raises(anyio.EndOfStream):
                await process.receive()
            assert process.return_code is None
        with pytest.raises(EnvironmentFailedError, match="docker does not answer: Cannot connect"):
            await place.exec("echo again")
        docker.start()


# -- tmux by the image's package manager -------------------------------------------------------------------------------


@pytest.fixture
def packaged(engine, roots, tmp_path):
    """An image without tmux whose package manager has it."""
    root = tmp_path / "packaged"
    shutil.copytree(roots / "plain", root, symlinks=True)
    add_program(root, "tmux", "opt/tmux")
    apk = root / "bin" / "apk"
    apk.write_text('#!/bin/sh\n[ "$*" = "add --no-cache tmux" ] && cp /opt/tmux /bin/tmux\n')
    apk.chmod(0o755)
    engine.add_image("localhost/packaged:1", root)
    return "localhost/packaged:1"


async def test_tmux_is_installed_if_asked_for(container, packaged):
    async with container(packaged, install_tmux=True, user="nobody") as place:
        assert (await place.exec("tmux -V")).stdout.startswith("tmux ")


async def test_tmux_cannot_be_installed_without_a_package_manager(engine, container):
    with pytest.raises(EnvironmentFailedError, match=r"cannot install tmux in .*: the image has no package manager"):
        async with container(BUSYBOX, install_tmux=True):
            pass
    assert not [name for name in engine.containers() if name.startswith("terminus-")]


def _command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
