"""Observers that are context managers: entered before a run starts, left when it has ended."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio

from terminus_core.hooks import ANY_FAULT, one_line
from terminus_core.parts import name_of

logger = logging.getLogger(__name__)

CLOSING_SEC = 10.0
"""Seconds that all observers of a run have to close, also after a cancel."""
LEAST_SEC = 1.0
"""Of those, what is kept for each that is still to be left, however long another one takes."""


@asynccontextmanager
async def entered(observers: Sequence[Any], *, strict: bool) -> AsyncIterator[None]:
    """Enter the observers that can be; leave them shielded, in reverse, whatever happened.

    Args:
        observers: in the order in which they are entered.
        strict: one that cannot be entered is an error; else it is logged.
    """
    inside: list[Any] = []
    try:
        for observer in observers:
            if hasattr(observer, "__aenter__"):
                try:
                    await observer.__aenter__()
                except ANY_FAULT as error:
                    if strict:
                        raise
                    _log(observer, "could not be entered: %s", one_line(error), error)
                    continue
                inside.append(observer)
        yield
    finally:
        deadline = anyio.current_time() + CLOSING_SEC
        while inside:
            observer, seconds = inside.pop(), deadline - anyio.current_time()
            await _leave(observer, max(seconds - LEAST_SEC * len(inside), seconds / (len(inside) + 1)))


async def _leave(observer: Any, seconds: float) -> None:
    with anyio.move_on_after(seconds, shield=True) as limit:
        try:
            await observer.__aexit__(None, None, None)
        except ANY_FAULT as error:  # an observer may fail in any way
            _log(observer, "could not be left: %s", one_line(error), error)
    if limit.cancelled_caught:
        _log(observer, "could not be left: it took longer than %.0f seconds", seconds)


def _log(observer: Any, line: str, told: object, error: BaseException | None = None) -> None:
    logger.error(f"observer %r {line}", name_of(observer), told, exc_info=error)  # noqa: G004 - one of three lines
