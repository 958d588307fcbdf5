"""Real places, each started once for all tests of a module."""

from contextlib import contextmanager

import pytest

from tests.support import engines, images, sshd


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A user with an empty home, who is root by another name."""
    with sshd.user_with_empty_home(tmp_path_factory.mktemp("user"), as_root=True) as user:
        yield user


@pytest.fixture(scope="module")
def server(tmp_path_factory, home):
    """An SSH server that lets that user in."""
    with sshd.running(tmp_path_factory.mktemp("sshd"), user=home) as server:
        yield server


@pytest.fixture(scope="session")
def roots(tmp_path_factory):
    """Root file systems for images."""
    folder = tmp_path_factory.mktemp("roots")
    images.make_root(folder / "base")
    images.make_root(folder / "plain", tmux=False, terminfo=False)
    images.make_busybox_root(folder / "busybox")
    return folder


@pytest.fixture(scope="session")
def docker(tmp_path_factory, roots):
    with engine_with_images("docker", tmp_path_factory.mktemp("docker"), roots) as engine:
        yield engine


@pytest.fixture(scope="session")
def podman(tmp_path_factory, roots):
    with engine_with_images("podman", tmp_path_factory.mktemp("podman"), roots) as engine:
        yield engine


@contextmanager
def engine_with_images(kind, folder, roots):
    with engines.running(kind, folder) as engine:
        for root in roots.iterdir():
            engine.add_image(f"localhost/{root.name}:1", root)
        yield engine


@pytest.fixture
def use_engine(monkeypatch):
    """Make the engine's command find this engine."""

    def use(engine):
        for name, value in engine.env.items():
            monkeypatch.setenv(name, value)
        return engine

    return use


@pytest.fixture(params=["docker", "podman"])
def engine(request, use_engine):
    """Each engine in turn."""
    return use_engine(request.getfixturevalue(request.param))
