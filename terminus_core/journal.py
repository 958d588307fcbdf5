"""``journal.jsonl`` in a run's folder: what must not be lost, written before anything else is done with it.

Format 1, one JSON object a line, only ever added to; a kill can leave the last line unfinished. ``kind`` says what a
line is:

- ``begin``: ``format``, ``session_id``, ``instruction``, ``model``, ``plugins`` (name and version of each).
- ``response``: a response as it was received, before it is parsed: ``episode``, ``purpose`` (``turn``, or what a
  call beside the chat was for) and the fields of :class:`LLMResponse`.
- ``typing``: keystrokes that are about to be typed: ``episode``, ``index`` in their batch, ``keystrokes``.
- ``end``: ``status``, ``reason``, ``error_kind``.

``time`` is in seconds since 1970. Texts are masked like those of every other file.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from terminus_core.texts import cleaned

if TYPE_CHECKING:
    from terminus_core.chat import LLMResponse

logger = logging.getLogger(__name__)

FORMAT = 1
NAME = "journal.jsonl"


class Journal:
    """The journal of one run. A line that cannot be written is told once, and changes nothing for the run.

    Args:
        folder: the run's folder.
        redact: masks what is written.
        on_failure: called with the path and the reason when the file can no longer be complete.
    """

    def __init__(self, folder: Path, redact: Callable[[Any], Any], on_failure: Callable[[Path, str], None]) -> None:
        self.path: Path = folder / NAME
        self._redact = redact
        self._on_failure = on_failure
        self._is_new = True
        self._has_failed = False

    def begin(self, *, session_id: str, instruction: str, model: str, plugins: dict[str, str]) -> None:
        """The run begins."""
        facts = {"session_id": session_id, "instruction": instruction, "model": model, "plugins": plugins}
        self._write("begin", {"format": FORMAT, **facts})

    def response(self, response: LLMResponse, *, episode: int, purpose: str) -> None:
        """A response has been received."""
        given = {name: value for name, value in asdict(response).items() if value or name == "content"}
        self._write("response", {"episode": episode, "purpose": purpose, **given})

    def typing(self, keystrokes: str, *, episode: int, index: int) -> None:
        """Keystrokes are about to be typed."""
        self._write("typing", {"episode": episode, "index": index, "keystrokes": keystrokes})

    def end(self, *, status: str, reason: str, error_kind: str) -> None:
        """The run has ended."""
        self._write("end", {"status": status, "reason": reason, "error_kind": error_kind})

    def _write(self, kind: str, facts: dict[str, Any]) -> None:
        line = _encoded({"kind": kind, "time": time.time(), **self._redact(cleaned(facts))})
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        flags |= os.O_CREAT | os.O_EXCL if self._is_new else 0
        try:
            file = os.open(self.path, flags, 0o600)
            try:
                self._is_new = False
                if os.write(file, line) < len(line):
                    raise OSError(0, "the disk took only a part of a line")
            finally:
                os.close(file)
        except OSError as error:
            self._fail(error.strerror or str(error))

    def _fail(self, reason: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            logger.error("%s is no longer complete: %s", self.path, reason)
        self._on_failure(self.path, reason)


def _encoded(entry: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(entry, default=str, allow_nan=False)
    except ValueError:  # NaN and infinity are not JSON
        text = json.dumps(json.loads(json.dumps(entry, default=str), parse_constant=lambda _: None))
    return text.encode() + b"\n"
