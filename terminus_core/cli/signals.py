"""Signals that end a run: the first one cleanly, a later one at once."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Self

import anyio

from terminus_core.cli.exit_codes import SIGNAL_BASE
from terminus_core.runfile import cut_off_open_records

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
REPEAT_SEC = 1.0
"""A signal so soon after the first one belongs to it: GNU ``timeout`` sends two."""


class Interrupts:
    """While entered, the first signal is kept in :attr:`first`; one that comes later ends the program at once.

    A signal that the parent process has switched off (``nohup``, a background job) stays off.

    Args:
        before_exit: called before the program ends at once, to put the terminal right; it must not wait.
    """

    def __init__(self, before_exit: Callable[[], None] = lambda: None) -> None:
        self.first: signal.Signals | None = None
        self.has_run_ended = False
        """From then on nothing is left to be ended cleanly: a first signal ends the program too."""
        self._before_exit = before_exit
        self._began = 0.0
        self._loop, self._handler = socket.socketpair()
        self._watcher, self._kernel = socket.socketpair()
        self._ending = threading.Lock()
        self._before: dict[signal.Signals, Any] = {}
        self._wakeup = -1

    def __enter__(self) -> Self:
        for end in (self._loop, self._handler, self._kernel):
            end.setblocking(False)
        self._wakeup = signal.set_wakeup_fd(self._kernel.fileno(), warn_on_full_buffer=False)
        for each in SIGNALS:
            before = signal.getsignal(each)
            if before is not signal.SIG_IGN:
                self._before[each] = before
                signal.signal(each, self._handle)
        threading.Thread(target=self._watch, name="signals", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)
        signal.set_wakeup_fd(self._wakeup)
        self._kernel.close()  # the watcher reads its end, and closes the other
        self._loop.close()
        self._handler.close()

    async def wait(self) -> None:
        """Wait for the first signal."""
        while self.first is None:
            await anyio.wait_readable(self._loop)
            self._loop.recv(1)

    def _handle(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first, self._began = signal.Signals(number), now
            if self.has_run_ended:
                self._end_at_once(number)
        elif now - self._began >= REPEAT_SEC:
            self._end_at_once(number)

    def _watch(self) -> None:
        """Wake the main thread, as the kernel may interrupt any other; end the program if it is stuck in a call."""
        began: float | None = None
        with self._watcher:
            while numbers := self._watcher.recv(1):
                if numbers[0] not in [int(each) for each in self._before]:
                    continue
                with suppress(OSError):
                    self._handler.send(b"\0")
                now = time.monotonic()
                began = now if began is None else began
                if now - began >= REPEAT_SEC:
                    self._end_at_once(numbers[0])

    def _end_at_once(self, number: int) -> None:
        if not self._ending.acquire(blocking=False):
            return  # the other thread is at it
        name = signal.Signals(number).name
        cut_off_open_records(f"{name} for the second time: ended at once, without cleaning up")
        self._before_exit()
        os._exit(SIGNAL_BASE + number)
