"""Session backend ``tmux``: a terminal in tmux, over any environment, on one persistent control-mode client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from terminus_core import hookimpl
from terminus_plugins.sessions.tmux.backend import TmuxBackend

if TYPE_CHECKING:
    from terminus_core import SessionBackend

__all__ = ["TmuxBackend", "terminus_register_session_backends"]


@hookimpl
def terminus_register_session_backends() -> list[type[SessionBackend]]:
    """The session backend of this package."""
    return [TmuxBackend]
