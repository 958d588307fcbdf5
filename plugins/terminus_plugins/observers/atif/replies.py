"""Each answer of the model as it was received, a JSON object a line: what a scripted model can play again."""

from __future__ import annotations

from collections import deque
from dataclasses import fields
from pathlib import Path

from terminus_core import LLMResponse, Usage
from terminus_plugins.observers.atif.encoding import encode
from terminus_plugins.observers.atif.growing_file import GrowingFile


class Replies:
    """The file of answers, in the order of the calls.

    Args:
        path: where it lies.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complete = False
        """Whether every answer is on disk."""
        self._file = GrowingFile(path)
        self._waiting: deque[LLMResponse] = deque()

    def add(self, response: LLMResponse) -> None:
        """Add an answer, which the next save writes."""
        self._waiting.append(response)
        self.complete = False

    def save(self) -> None:
        """Write what is new.

        Raises:
            Exception: whatever stands against it; the file is as it was, and the next save tries again.
        """
        while self._waiting:
            self._file.append(encode(_given(self._waiting[0]), indent=None) + b"\n")
            self._waiting.popleft()
        self._file.save()
        self.complete = True

    def close(self) -> None:
        """Saving ends here; what is on disk stays."""
        self._file.close()


def _given(response: LLMResponse) -> dict[str, object]:
    """The fields under their own names; what an answer leaves open stays out."""
    values = {each.name: getattr(response, each.name) for each in fields(response)}
    given = {name: value for name, value in values.items() if value or name == "content"}
    if response.usage is not None:
        counts = {each.name: getattr(response.usage, each.name) for each in fields(Usage)}
        given["usage"] = {name: count for name, count in counts.items() if count is not None}
    return given
