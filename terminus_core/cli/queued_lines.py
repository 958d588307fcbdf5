"""Lines that a thread writes: a reader that stops reading stops neither the run nor its signals."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TextIO

from terminus_core.cli.printing import Lines

MAX_WAITING = 4_000_000
"""Characters that may wait for a slow reader; what comes after them is counted and left out."""
HURRIED_SEC = 1.0


class QueuedLines(Lines):
    """As :class:`Lines`, but :meth:`write` never waits for the reader.

    A stream without a file descriptor, such as one that a test captures, is written at once.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._waiting: deque[str] = deque()
        self._size = self._left_out = 0
        self._changed = threading.Condition()
        self._descriptor: int | None = None
        try:
            self._descriptor = stream.fileno()
        except (OSError, ValueError):
            return
        threading.Thread(target=self._work, name=f"lines to {stream.name}", daemon=True).start()

    @property
    def is_behind(self) -> bool:
        """Whether something still waits to be written."""
        return bool(self._waiting)

    def put(self, text: str) -> None:
        """Queue ``text`` as it is."""
        if self._descriptor is None:
            super().put(text)
            return
        with self._changed:
            if self._size + len(text) > MAX_WAITING:
                self._left_out += 1
                return
            if self._left_out:
                text = f"\u2026 {self._left_out:,} lines left out: nobody read them\n{text}"
                self._left_out = 0
            self._waiting.append(text)
            self._size += len(text)
            self._changed.notify_all()

    def drain(self, is_hurried: Callable[[], bool] = lambda: True) -> None:
        """Wait until all is written.

        Args:
            is_hurried: as soon as it is true, the wait lasts at most :data:`HURRIED_SEC` more.
        """
        end: float | None = None
        with self._changed:
            while self._waiting and (end is None or time.monotonic() < end):
                self._changed.wait(0.1)  # short: a signal has its turn between
                end = time.monotonic() + HURRIED_SEC if end is None and is_hurried() else end

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                text = self._waiting[0]
            self._write(text.encode(self._encoding, "backslashreplace"))
            with self._changed:
                self._waiting.popleft()
                self._size -= len(text)
                self._changed.notify_all()

    def _write(self, data: bytes) -> None:
        """Write all of it; what nobody can read any more is dropped."""
        assert self._descriptor is not None  # noqa: S101 - the thread runs only with one
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [], 1.0)
            except OSError:
                return
