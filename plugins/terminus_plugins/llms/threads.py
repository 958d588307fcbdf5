"""Blocking calls beside the event loop that neither a cancel nor the end of the program has to wait for."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


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

    Thread(target=work, name=name, daemon=True).start()
    await done.wait()
    return outcome.result()
