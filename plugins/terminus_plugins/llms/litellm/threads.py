"""Blocking work beside the event loop that neither a cancel nor the end of the program has to wait for."""

from __future__ import annotations

import atexit
import ctypes
import sys
import time
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

T = TypeVar("T")

_started: WeakSet[Thread] = WeakSet()
_MOST_SEC = 2.0
"""How long the end of the program may wait for imports to break off; they do so within milliseconds."""


def start_daemon(work: Callable[[], object], name: str) -> None:
    """Run ``work()`` in a thread of its own that the program does not wait for."""
    thread = Thread(target=work, name=name, daemon=True)
    _started.add(thread)
    thread.start()


async def run_in_daemon_thread(function: Callable[[], T], name: str) -> T:
    """``function()`` in a thread of its own; a cancel comes through at once and leaves the thread to itself.

    ``anyio.to_thread`` would do the same with ``abandon_on_cancel``, but on asyncio its threads keep the program alive:
    after Ctrl-C it would hang until a silent provider's time limit. There is no limit to how many run at once.
    """
    outcome: Future[T] = Future()
    done = anyio.Event()
    token = current_token()

    def work() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:  # noqa: BLE001 - raised again where the outcome is awaited
            outcome.set_exception(error)
        with suppress(anyio.RunFinishedError):  # the loop has ended: nobody waits any more
            from_thread.run_sync(done.set, token=token)

    start_daemon(work, name)
    await done.wait()
    return outcome.result()


@atexit.register
def _break_imports_off() -> None:
    """A daemon thread that dies in an import takes the import lock along, and the interpreter hangs in its end."""
    deadline = time.monotonic() + _MOST_SEC
    while time.monotonic() < deadline:
        frames = sys._current_frames()  # noqa: SLF001 - the documented way to another thread's stack
        busy = [ident for thread in _started if (ident := thread.ident) in frames and _is_importing(frames[ident])]
        if not busy:
            return
        for ident in busy:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(SystemExit))
        time.sleep(0.005)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
