"""What a run is doing at the moment, in words."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from terminus_core.values import Command

Clock = Callable[[], float]


class Activity:
    """Follows a run from event to event.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._commands: list[Command] = []
        self._index = 0
        self._words = "starting"
        self._since = clock()
        self._limit: float | None = None
        self._counts = True

    def ask(self, attempt: int) -> None:
        """A request was sent."""
        again = f" (attempt {attempt})" if attempt > 1 else ""
        self._set(f"waiting for the model{again}")

    def retry(self, words: str) -> None:
        """A request failed, and another one follows after a pause."""
        self._set(words, counts=False)

    def answered(self, commands: list[Command]) -> None:
        """The model's response is there."""
        self._commands, self._index = commands, 0
        self._type()

    def typed(self) -> None:
        """Keys have reached the terminal."""
        if self._words.startswith("typing"):
            seconds = self._commands[self._index].duration_sec if self._index < len(self._commands) else None
            self._set(f"waiting for the command{self._place()}", seconds)

    def finished(self, index: int) -> None:
        """A command's wait is over."""
        self._index = index + 1
        self._type()

    def _type(self) -> None:
        if self._index < len(self._commands):
            self._set(f"typing{self._place()}", counts=False)
        else:
            self._set("reading the terminal", counts=False)

    def _place(self) -> str:
        return f" {self._index + 1} of {len(self._commands)}" if len(self._commands) > 1 else ""

    def _set(self, words: str, limit: float | None = None, *, counts: bool = True) -> None:
        self._words, self._limit, self._counts, self._since = words, limit, counts, self._clock()

    def __str__(self) -> str:
        seconds = self._clock() - self._since
        if not self._counts:
            return self._words
        limit = f" of {self._limit:g} s" if self._limit is not None else ""
        return f"{self._words}: {seconds:.0f} s{limit}"
