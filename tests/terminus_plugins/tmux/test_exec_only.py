"""Where an environment has only ``exec``, the tmux session passes the same suite."""

from __future__ import annotations

import pytest

from terminus_core.testing import SessionBackendTests
from terminus_plugins.tmux import TmuxBackend
from tests.support.exec_only import ExecOnlyEnvironment


class TestTmuxByExec(SessionBackendTests):
    """Without a stream nobody can tell everything that programs write; all else is as with one."""

    capabilities = SessionBackendTests.complete_capabilities - {"stream"}

    @pytest.fixture
    def backend(self):
        return TmuxBackend(TmuxBackend.Config(history_limit=self.history_rows))

    @pytest.fixture
    def environment(self):
        return ExecOnlyEnvironment()
