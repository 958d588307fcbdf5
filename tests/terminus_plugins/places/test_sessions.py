"""The terminal is the same everywhere: the tmux session passes its suite over each place, on one event loop."""

# ruff: noqa: ASYNC110 - polling is how tests wait for the outside

import anyio
import pytest

from terminus_core.testing import SessionBackendTests
from terminus_core.testing.session_base import Terminal, run
from terminus_core.testing.session_keys import SessionKeyTests
from terminus_core.testing.session_rows import SessionRowTests
from terminus_plugins.environments.container import ContainerConfig, ContainerEnvironment
from terminus_plugins.environments.sandbox import SandboxConfig, SandboxEnvironment
from terminus_plugins.environments.ssh import SshConfig, SshEnvironment
from terminus_plugins.sessions.tmux import TmuxBackend
from tests.support.places import need

EVERYWHERE = frozenset(SessionBackendTests.known_capabilities) - {"users", "trio"}
HOLD = "trap 'exit 0' TERM; while :; do sleep 1000 & wait $!; done"


@pytest.fixture(scope="module")
def container(docker, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    mounts = [f"/{name}:/{name}:ro" for name in ("usr", "bin", "lib", "lib64", "etc/alternatives")]
    options = [word for mount in [*mounts, f"{folder}:{folder}"] for word in ("-v", mount)]
    docker.run(
        *("run", "-d", "--name", "sessions", "--network", "none", "--pid", "host", "-e", "LANG=C.UTF-8"),
        *(*options, "localhost/base:1", "/bin/sh", "-c", HOLD),
    )
    yield "sessions"
    docker.run("rm", "-f", "sessions")


class OverTmux:
    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"

    @pytest.fixture
    def backend(self):
        return TmuxBackend(TmuxBackend.Config(history_limit=SessionBackendTests.history_rows, keep_sec=600))


class TestOverSsh(OverTmux, SessionBackendTests):
    capabilities = EVERYWHERE | {"users"}

    @pytest.fixture
    def environment(self, server):
        return SshEnvironment(SshConfig(**server.settings()))


class TestOverContainer(OverTmux, SessionBackendTests):
    """In a container that sees this machine's programs, processes, and the folders of the tests: those look there."""

    capabilities = EVERYWHERE | {"users"}

    @pytest.fixture
    def environment(self, docker, use_engine, container):
        use_engine(docker)
        return ContainerEnvironment(ContainerConfig(engine="docker", container=container))


class TestOverSandbox(OverTmux, SessionRowTests, SessionKeyTests):
    """Rows and keys; its processes have numbers of their own, and none outlives the agent."""

    capabilities = EVERYWHERE

    @pytest.fixture
    def environment(self, tmp_path):
        need("bwrap", "bubblewrap")
        return SandboxEnvironment(SandboxConfig(folder=str(tmp_path)))

    async def test_nothing_is_left_in_the_sandbox(self, backend, environment, tmp_path):
        terminal = Terminal(backend, environment, tmp_path)
        async with environment as place:
            before = (await place.exec("ls -d /proc/[0-9]*")).stdout.split()
            async with backend.open(place, terminal.options()) as session:
                await run(session, "echo started")
                await session.send_keys("sleep 300\n", min_timeout_sec=0.5)
            with anyio.fail_after(10):
                while len((await place.exec("ls -d /proc/[0-9]*")).stdout.split()) > len(before):
                    await anyio.sleep(0.05)
