"""One clock for all recorders of a process: what is waiting for the disk gets there although nothing more happens."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Ticker:
    """Calls back, once and soon, whoever asks. One thread serves all of them, and ends when nobody has asked.

    Args:
        seconds: how soon: between this and twice this after asking.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], None]] = []
        self._running = False

    def soon(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` from the ticker's thread; it must be quick and not raise."""
        with self._lock:
            self._waiting.append(callback)
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name="asciinema ticker", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(self._seconds)
            with self._lock:
                due, self._waiting = self._waiting, []
                if not due:
                    self._running = False
                    return
            for callback in due:
                callback()
