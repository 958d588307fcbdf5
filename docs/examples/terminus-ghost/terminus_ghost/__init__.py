"""The session backend ``ghost``: a pseudo-terminal by ``script``, drawn by pyte; no tmux."""

from __future__ import annotations

from terminus_core import SessionBackend, hookimpl

from terminus_ghost.backend import GhostBackend

__all__ = ["GhostBackend"]


@hookimpl
def terminus_register_session_backends() -> list[type[SessionBackend]]:
    """Bring ``ghost``."""
    return [GhostBackend]
