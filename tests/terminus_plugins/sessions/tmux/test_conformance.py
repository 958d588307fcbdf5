"""The tmux session passes the suite that other people's backends run."""

import pytest

from terminus_core.testing import SessionBackendTests
from terminus_plugins.sessions.tmux import TmuxBackend


class TestTmux(SessionBackendTests):
    capabilities = frozenset(SessionBackendTests.known_capabilities)

    @pytest.fixture
    def backend(self):
        return TmuxBackend(TmuxBackend.Config(history_limit=self.history_rows, keep_sec=600))


def test_it_is_complete():
    assert TestTmux.missing_capabilities() == frozenset()
