"""Each answer of the model as it was received, a JSON object a line: what a scripted model can play again."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from terminus_core import LLMResponse, Usage
from terminus_plugins.observers.atif.encoding import encode


class Replies:
    """The file of answers, in the order of the calls.

    Only added to: a kill in the middle of a save can leave the last line unfinished, without its newline.

    Args:
        path: where it lies. Made anew by the first save, with mode 0600.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complete = False
        """Whether every answer is on disk."""
        self._lines = b""  # that are not on disk
        self._size: int | None = None  # bytes of whole lines on disk, None before there is a file

    def add(self, response: LLMResponse) -> None:
        """Add an answer, which the next save writes."""
        self._lines += encode(_given(response), indent=None) + b"\n"
        self.complete = False

    def save(self) -> None:
        """Write what is new.

        Raises:
            OSError: the whole lines on disk are as they were, and the next save tries again.
        """
        # Opened at each save: a descriptor held for the whole run is too many with hundreds of runs.
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        if self._size is None:
            with suppress(FileNotFoundError):
                self.path.unlink()
            flags |= os.O_CREAT | os.O_EXCL
        file = os.open(self.path, flags, 0o600)
        try:
            self._size = self._size or 0
            done = 0
            while done < len(self._lines):  # a write may be short
                done += os.pwrite(file, self._lines[done:], self._size + done)
        except OSError:  # a full disk
            os.ftruncate(file, self._size or 0)
            raise
        finally:
            os.close(file)
        self._size += done
        self._lines = b""
        self.complete = True


def _given(response: LLMResponse) -> dict[str, object]:
    """The fields under their own names; what an answer leaves open stays out."""
    values = {each.name: getattr(response, each.name) for each in fields(response)}
    given = {name: value for name, value in values.items() if value or name == "content"}
    if response.usage is not None:
        counts = {each.name: getattr(response.usage, each.name) for each in fields(Usage)}
        given["usage"] = {name: count for name, count in counts.items() if count is not None}
    return given
