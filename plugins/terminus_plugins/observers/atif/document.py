"""One ATIF document on disk, from its first step to its last."""

from __future__ import annotations

import errno
import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from terminus_core import Step, Trajectory, Usage
from terminus_plugins.observers.atif.encoding import encode, encode_step
from terminus_plugins.observers.atif.growing_file import GrowingFile

logger = logging.getLogger(__name__)


class Document:
    """A trajectory that is saved as it grows: everything that changes stands after the steps.

    Args:
        path: where it lies.
        head: makes what stands before the steps; called by the first save.
    """

    def __init__(self, path: Path, head: Callable[[], dict[str, Any]]) -> None:
        self.path = path
        self.usage = Usage()
        """Sums over the steps on disk."""
        self.successor: Document | None = None
        """The document that continues this one; named in it from the first save that finds it on disk."""
        self.n_steps = 0
        """Valid steps so far."""
        self.saved = False
        """Whether the last save succeeded, with all steps."""
        self._head = head
        self._file = GrowingFile(path)
        self._waiting: deque[Step] = deque()  # more than the newest only after an invalid one

    @property
    def complete(self) -> bool:
        """Whether it is on disk with everything that will ever be in it, once no more steps come."""
        return self.saved and (self.successor is None or self.successor.saved)

    def add(self, step: Step) -> None:
        """Add a step, which the next save validates and writes."""
        self._waiting.append(step)
        self.saved = False

    def save(self, totals: Usage | None = None, extra: dict[str, Any] | None = None, *, is_last: bool = False) -> None:
        """Write what is new, and the sums.

        Args:
            totals: goes into ``final_metrics``; by default the document's own sums.
            extra: goes into ``final_metrics.extra``.
            is_last: on a full disk, what the next save would need goes to this one.

        Raises:
            Exception: whatever stands against it; the file is as it was, and the next save tries again.
        """
        self.saved = False
        try:
            while self._waiting:
                self._take(self._waiting[0])
                self._waiting.popleft()
        finally:  # the steps before an invalid one are saved
            if self.n_steps:
                self._write(self._tail(totals or self.usage, extra), is_last=is_last)
        self.saved = self.n_steps > 0

    def close(self) -> None:
        """Saving ends here; what is on disk stays."""
        self._file.close()

    def _write(self, tail: bytes, *, is_last: bool) -> None:
        try:
            self._file.save(tail)
        except OSError as error:
            if not is_last or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            self._file.save_without_room(tail)

    def _take(self, step: Step) -> None:
        text, valid, repaired = encode_step(step)
        if valid.step_id != self.n_steps + 1:
            raise ValueError(f"step_id is {valid.step_id}, {self.n_steps + 1} would be right")
        if repaired:
            logger.warning("%s, step %d: %s", self.path.name, valid.step_id, ", ".join(sorted(repaired)))
        if self.n_steps == 0:
            head = self._head()
            Trajectory.model_validate(head | {"steps": []})
            self._file.append(encode(head).removesuffix(b"\n}") + b',\n  "steps": [')
        self._file.append((b",\n    " if self.n_steps else b"\n    ") + text.replace(b"\n", b"\n    "))
        self.n_steps += 1
        if valid.metrics:
            metrics = valid.metrics
            self.usage.add(
                Usage(metrics.prompt_tokens, metrics.completion_tokens, metrics.cached_tokens, metrics.cost_usd)
            )

    def _tail(self, totals: Usage, extra: dict[str, Any] | None) -> bytes:
        final_metrics: dict[str, Any] = sums(totals) | {"total_steps": self.n_steps}
        if extra:
            final_metrics["extra"] = extra
        tail: dict[str, Any] = {"final_metrics": final_metrics}
        if self.successor is not None and self.successor.saved:
            tail["continued_trajectory_ref"] = self.successor.path.name
        return b"\n  ]," + encode(tail).removeprefix(b"{") + b"\n"


def sums(totals: Usage) -> dict[str, Any]:
    """Sums under the names that ``final_metrics`` has for them."""
    given: dict[str, Any] = {
        "total_prompt_tokens": totals.prompt_tokens or 0,
        "total_completion_tokens": totals.completion_tokens or 0,
        "total_cached_tokens": totals.cache_tokens or 0,
    }
    if totals.cost_usd is not None and 0 < totals.cost_usd < float("inf"):
        given["total_cost_usd"] = totals.cost_usd
    return given
