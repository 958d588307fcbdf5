"""Each answer of the model as it was received, a JSON object a line: what a scripted model can play again."""

from __future__ import annotations

import errno
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
        self._lost: str | None = None  # what to report when the next save has written
        self._has_lost = False
        self._size: int | None = None  # bytes of whole lines on disk, None before there is a file

    def add(self, response: LLMResponse) -> None:
        """Add an answer, which the next save writes."""
        self._lines += encode(_given(response), indent=None) + b"\n"
        self.complete = False

    def save(self) -> None:
        """Write what is new.

        Raises:
            OSError: the whole lines on disk are as they were, and the next save tries again; or somebody has removed or
                truncated the file: it holds what is new.
        """
        file, size = self._open()
        try:
            done = 0
            while done < len(self._lines):  # a write may be short
                done += os.pwrite(file, self._lines[done:], size + done)
        except OSError:  # a full disk
            os.ftruncate(file, size)
            raise
        finally:
            os.close(file)
        self._size = size + done
        self._lines = b""
        if self._lost is not None:
            lost, self._lost, self._has_lost = self._lost, None, True
            raise OSError(errno.EIO, lost, os.fspath(self.path))
        self.complete = not self._has_lost

    def _open(self) -> tuple[int, int]:
        """A descriptor, and how many bytes of whole lines the file has."""
        # Opened at each save: a descriptor held for the whole run is too many with hundreds of runs.
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        if self._size is not None:
            try:
                file = os.open(self.path, flags)
            except FileNotFoundError:
                self._lost = "it was removed; the answers before this one are lost"
            else:
                if os.fstat(file).st_size < self._size:  # writing on would leave a hole
                    self._lost = "it was truncated; answers before this one are lost"
                    os.ftruncate(file, 0)
                    self._size = 0
                return file, self._size
        with suppress(FileNotFoundError):
            self.path.unlink()
        return os.open(self.path, flags | os.O_CREAT | os.O_EXCL, 0o600), 0


def _given(response: LLMResponse) -> dict[str, object]:
    """The fields under their own names; what an answer leaves open stays out."""
    values = {each.name: getattr(response, each.name) for each in fields(response)}
    given = {name: value for name, value in values.items() if value or name == "content"}
    if response.usage is not None:
        counts = {each.name: getattr(response.usage, each.name) for each in fields(Usage)}
        given["usage"] = {name: count for name, count in counts.items() if count is not None}
    return given
