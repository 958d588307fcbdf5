import pytest

from terminus_core.testing import EnvironmentTests
from terminus_plugins.environments.container import ContainerConfig, ContainerEnvironment


@pytest.fixture(scope="module")
def containers():
    """Containers that run for all tests of this module, by engine."""
    running = {}
    yield running
    for name, engine in running.items():
        engine.run("rm", "-f", name)


@pytest.fixture
def container(engine, containers):
    name = f"suite-{engine.kind}"
    if name not in containers:
        hold = "trap 'exit 0' TERM; while :; do sleep 1000 & wait $!; done"
        engine.run("run", "-d", "--name", name, "--network", "none", "localhost/base:1", "/bin/sh", "-c", hold)
        containers[name] = engine
    return ContainerEnvironment(ContainerConfig(engine=engine.kind, container=name))


class TestDocker(EnvironmentTests):
    capabilities = frozenset({"streams", "permissions", "trio", "users"})

    @pytest.fixture
    def engine(self, docker, use_engine):
        return use_engine(docker)

    @pytest.fixture
    def environment(self, container):
        return container


class TestPodman(EnvironmentTests):
    """On one event loop: each command of podman takes a third of a second."""

    capabilities = frozenset({"streams", "permissions", "users"})

    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"

    @pytest.fixture
    def engine(self, podman, use_engine):
        return use_engine(podman)

    @pytest.fixture
    def environment(self, container):
        return container
