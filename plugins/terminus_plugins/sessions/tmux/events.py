"""Telling listeners what happens in the terminal."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Literal

from terminus_core import SessionEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from terminus_plugins.sessions.tmux.protocol import Reply

logger = logging.getLogger(__name__)

SCREEN_STATE = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{alternate_on} #{cursor_flag}"
"""tmux format that :func:`draw` reads."""


class Listeners:
    """Those who listen to one session."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[SessionEvent], None]] = {}
        self._is_blind = False

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def add(self, key: object, listener: Callable[[SessionEvent], None], size: tuple[int, int], screen: bytes) -> None:
        """Tell ``listener`` how things are, and everything from now on."""
        self._tell(key, listener, SessionEvent(time.monotonic(), "resize", size))
        self._listeners[key] = listener
        self._tell(key, listener, SessionEvent(time.monotonic(), "screen", screen))

    def remove(self, key: object) -> None:
        """Tell it nothing more."""
        self._listeners.pop(key, None)

    def gap(self, text: str) -> None:
        """Tell that output is missing from here on, and no output until :meth:`screen`."""
        self.tell("gap", text)
        self._is_blind = True

    def screen(self, size: tuple[int, int], screen: bytes) -> None:
        """Tell how things are after a gap."""
        self._is_blind = False
        self.tell("resize", size)
        self.tell("screen", screen)

    def tell(
        self, kind: Literal["output", "input", "resize", "gap", "screen"], data: bytes | tuple[int, int] | str
    ) -> None:
        """Tell all of them."""
        if self._listeners and not (self._is_blind and kind == "output"):
            event = SessionEvent(time.monotonic(), kind, data)
            for key, listener in list(self._listeners.items()):
                self._tell(key, listener, event)

    def _tell(self, key: object, listener: Callable[[SessionEvent], None], event: SessionEvent) -> None:
        """One that raises is logged and told nothing more: the terminal goes on."""
        try:
            listener(event)
        except Exception:
            logger.exception("A listener of the terminal session failed and was removed")
            self.remove(key)


def draw(replies: Sequence[Reply]) -> tuple[tuple[int, int], bytes]:
    """The size of a terminal and bytes that draw its screen, from ``capture-pane -e`` and :data:`SCREEN_STATE`."""
    width, height, x, y, alternate, cursor = map(int, replies[1].lines[0].split())
    parts = [b"\x1b[?1049h" if alternate else b"", b"\x1b[0m\x1b[H\x1b[2J", b"\r\n".join(replies[0].lines)]
    parts.append(b"\x1b[0m\x1b[%d;%dH" % (y + 1, x + 1))
    if not cursor:
        parts.append(b"\x1b[?25l")
    return (width, height), b"".join(parts)
