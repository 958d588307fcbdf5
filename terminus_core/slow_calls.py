"""Names the plugin call that keeps the event loop waiting, while it still does."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

SLOW_SEC = 1.0
"""Seconds after which a call that has not returned is named."""

_calls: dict[object, tuple[float, str]] = {}
_lock = threading.Lock()
_runs = 0
_ended = threading.Event()
_thread: threading.Thread | None = None


@contextmanager
def watching() -> Iterator[None]:
    """Watch the calls of a run; all runs of a process share one thread, which ends with the last of them."""
    global _runs, _thread  # noqa: PLW0603 - one watch for the process
    with _lock:
        _runs += 1
        if _thread is None:
            _ended.clear()
            _thread = threading.Thread(target=_watch, name="terminus-slow-calls", daemon=True)
            _thread.start()
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if not _runs:
                _ended.set()
                _thread.join()
                _thread = None


def begin(what: str) -> object:
    """A call begins, which ``what`` names; give the result to :func:`end`."""
    key = object()
    _calls[key] = (time.monotonic(), what)
    return key


def end(key: object) -> None:
    """The call has returned."""
    del _calls[key]


def _watch() -> None:
    named: set[object] = set()
    while not _ended.wait(SLOW_SEC / 4):
        now = time.monotonic()
        under_way = list(_calls.items())
        named &= {key for key, _ in under_way}
        for key, (started, what) in under_way:
            if now - started >= SLOW_SEC and key not in named:
                named.add(key)
                logger.warning("%s has kept the run waiting for %.0f s and has not returned", what, now - started)
