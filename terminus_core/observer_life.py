"""Observers that are context managers: entered before a run starts, left when it has ended."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from terminus_core.hooks import ANY_FAULT, one_line
from terminus_core.manager import name_of

if TYPE_CHECKING:
    from terminus_core.run import Run

logger = logging.getLogger(__name__)

ENTERING_SEC = 10.0
"""Seconds that one observer has to be entered."""
CLOSING_SEC = 10.0
"""Seconds that all observers of a run have to close, also after a cancel."""
LEAST_SEC = 1.0
"""Minimum time reserved for each remaining observer, however long another one takes."""


@asynccontextmanager
async def entered(run: Run) -> AsyncIterator[None]:
    """Enter the observers that can be; leave them shielded, in reverse, whatever happened.

    One that cannot be entered is logged; with ``observers_strict`` it ends the run.
    """
    inside: list[AbstractAsyncContextManager[Any]] = []
    try:
        for observer in run.observers:
            if isinstance(observer, AbstractAsyncContextManager) and await _enter(run, observer):
                inside.append(observer)  # noqa: PERF401 - one that fails must find the others in the list
        yield
    finally:
        deadline = anyio.current_time() + CLOSING_SEC
        while inside:
            observer, seconds = inside.pop(), deadline - anyio.current_time()
            await _leave(run, observer, max(seconds - LEAST_SEC * len(inside), seconds / (len(inside) + 1)))


async def _enter(run: Run, observer: AbstractAsyncContextManager[Any]) -> bool:
    try:
        with anyio.fail_after(ENTERING_SEC):
            await observer.__aenter__()
    except ANY_FAULT as error:
        if run.settings.agent.observers_strict:
            raise
        told = f"it took longer than {ENTERING_SEC:.0f} seconds" if isinstance(error, TimeoutError) else one_line(error)
        _failed(run, observer, "entered", told, error)
        return False
    return True


async def _leave(run: Run, observer: AbstractAsyncContextManager[Any], seconds: float) -> None:
    with anyio.move_on_after(seconds, shield=True) as limit:
        try:
            await observer.__aexit__(None, None, None)
        except ANY_FAULT as error:  # an observer may fail in any way
            _failed(run, observer, "left", one_line(error), error)
    if limit.cancelled_caught:
        _failed(run, observer, "left", f"it took longer than {seconds:.0f} seconds")


def _failed(run: Run, observer: Any, what: str, told: str, error: BaseException | None = None) -> None:
    run.failed_observers.append(name_of(observer))
    logger.error("%s could not be %s: %s", run.who(observer), what, told, exc_info=error)
