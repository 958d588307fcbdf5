"""The backend passes the suite of its role."""

from __future__ import annotations

import pytest
from terminus_core.testing import SessionBackendTests

from terminus_ghost import GhostBackend


class TestGhost(SessionBackendTests):
    """All but ``restart`` and ``resume``, and ``users``, which only root can try."""

    capabilities = frozenset({"trio", "exit_status", "history", "prompt", "resize", "rows", "screen", "stream"})

    @pytest.fixture
    def backend(self) -> GhostBackend:
        """The backend under test."""
        return GhostBackend(GhostBackend.Config(history_rows=self.history_rows))


def test_what_is_missing_to_be_complete() -> None:
    """The README says why."""
    assert TestGhost.missing_capabilities() == {"restart", "resume"}
