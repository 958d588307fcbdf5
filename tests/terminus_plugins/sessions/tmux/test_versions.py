"""The tests of the session, with tmux as other Debian releases have it; all others use the system's own."""

import inspect
import os

import anyio
import pytest

from tests.support import tmux_versions
from tests.terminus_plugins.sessions.tmux import test_keys, test_life, test_rows, test_waiting
from tests.terminus_plugins.sessions.tmux.conftest import Terminal

pytestmark = pytest.mark.anyio

OTHERS = [version for version in tmux_versions.RELEASES if version != tmux_versions.installed()]


@pytest.fixture
def anyio_backend():
    """How tmux speaks does not depend on the event loop."""
    return "asyncio"


@pytest.fixture(scope="module", params=OTHERS)
def version(request):
    return request.param, tmux_versions.find(request.param)


@pytest.fixture
def terminal(tmp_path, version, monkeypatch):
    monkeypatch.setenv("PATH", f"{version[1]}:{os.environ['PATH']}")
    return Terminal(tmp_path)


async def test_it_is_that_version(terminal, version):
    async with terminal.open() as session:
        told = await anyio.run_process([session.place.tmux, "-V"])
        assert told.stdout.decode() == f"tmux {version[0]}\n"


killed = test_life.killed


def _tests():
    """Every test that opens a terminal."""
    for module in (test_rows, test_keys, test_waiting, test_life):
        for name, function in vars(module).items():
            if name.startswith("test_") and "terminal" in inspect.signature(function).parameters:
                yield f"{name}_{module.__name__.rpartition('_')[2]}", function


globals().update(_tests())
