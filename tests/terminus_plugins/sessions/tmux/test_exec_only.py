"""Where an environment has only ``exec``, the tmux session passes the same suite."""

from __future__ import annotations

import os

import pytest

from terminus_core.testing import EnvironmentTests, SessionBackendTests
from terminus_core.testing.session_keys import SessionKeyTests
from terminus_core.testing.session_rows import SessionRowTests
from terminus_plugins.sessions.tmux import TmuxBackend
from tests.support import tmux_versions
from tests.support.exec_only import ExecOnlyEnvironment

OTHERS = [version for version in tmux_versions.RELEASES if version != tmux_versions.installed()]


class ByExec:
    # Without a stream nobody can tell everything that programs write; all else is as with one.
    capabilities = SessionBackendTests.complete_capabilities - {"stream"}

    @pytest.fixture
    def backend(self):
        return TmuxBackend(TmuxBackend.Config(history_limit=SessionBackendTests.history_rows, keep_sec=600))

    @pytest.fixture
    def environment(self):
        return ExecOnlyEnvironment()


class TestTheEnvironment(EnvironmentTests):
    """What stands for such places keeps to the interface."""

    capabilities = frozenset({"trio", "permissions", "users"})

    @pytest.fixture
    def environment(self):
        return ExecOnlyEnvironment()


class TestTmuxByExec(ByExec, SessionBackendTests):
    """With the tmux of this system."""


class TestOtherVersionsByExec(ByExec, SessionRowTests, SessionKeyTests):
    """With tmux as other Debian releases have it; how it speaks does not depend on the event loop."""

    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"

    @pytest.fixture(autouse=True, params=OTHERS)
    def version(self, request, monkeypatch):
        monkeypatch.setenv("PATH", f"{tmux_versions.find(request.param)}:{os.environ['PATH']}")
