"""An asciicast file that grows while things happen, format 2 or 3.

Format 2 gives the time of each event since the beginning, format 3 the time since the event before. Both count from
the full second that the header names, so that a wall clock time is a position in the recording.
"""

from __future__ import annotations

import codecs
import json
import logging
import os
import threading
import time
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, BinaryIO

from terminus_plugins.observers.asciinema.redaction import OutputRedactor
from terminus_plugins.observers.asciinema.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

logger = logging.getLogger(__name__)

MERGE_SEC = 0.01
"""Output within this time is one event: less than a frame of any player."""
FLUSH_BYTES = 65_536
"""As much is encoded and written at once: about a quarter of a millisecond."""
FLUSH_SEC = 0.1
"""Nothing waits longer than twice this."""
DEFAULT_SIZE = (80, 24)
LAST_WORDS_BYTES = 400
"""Room for the marker that says why nothing follows."""
MICRO = 1_000_000
INTERVALS = 3
"""The format whose times count from the event before."""

_ticker = Ticker(FLUSH_SEC)


@dataclass(slots=True)
class _Found:
    """What a recording that is there already says."""

    version: int
    started: int
    last: int
    size: int
    is_ended: bool


class CastFile:
    """Writes events in the order of the calls; times never go back. Any thread may flush.

    A file that is there already is continued, in its own format; a line that a kill has torn is cut off before.

    Args:
        path: the file; made with mode 0600.
        version: the format of a new file, 2 or 3.
        max_bytes: the size that the file may have; then a last marker says that it stopped.
        header: further fields of a new file's header.
        redact: what texts go through; output then waits while it may end within a secret.

    Raises:
        ValueError: there is a file that is no asciicast of format 2 or 3.
        OSError: the file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        version: int,
        max_bytes: int,
        header: dict[str, Any] | None = None,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self.path = path
        self.ended = False
        """Nothing more is written: closed, full, or a write has failed."""
        self._max_bytes = max_bytes
        self._header = header or {}
        self._redactor = OutputRedactor(redact) if redact else None
        self._lock = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._chunks: list[bytes] = []  # output that is still one event
        self._since = 0.0  # when its first chunk came
        self._lines: list[str] = []
        self._n_waiting = 0  # bytes, about
        self._ticking = False
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o600)
        try:
            found = self._repair()
        except BaseException:
            os.close(self._file)
            raise
        now = time.time()
        self._version = found.version if found else version
        self._started = found.started if found else int(now)
        self._zero = time.monotonic() - (now - self._started)  # the beginning on the clock of the events
        self._last = found.last if found else 0  # microseconds since the beginning
        self._has_header = found is not None

    # -- events ----------------------------------------------------------------------------------------------

    def resize(self, when: float, columns: int, rows: int) -> None:
        """The size of the terminal, at first and when it changes; ``when`` is ``time.monotonic()`` seconds.

        No player can show a size of 0: at first it becomes 80x24, later it is left out.
        """
        if not (columns > 0 and rows > 0):
            if self._has_header:
                return
            columns, rows = DEFAULT_SIZE
        if self._has_header:
            self.event(when, "r", f"{columns}x{rows}")
        else:
            with self._lock:
                self._begin(columns, rows)

    def output(self, when: float, data: bytes) -> None:
        """Bytes that the terminal was sent. A character may be split over two calls."""
        with self._lock:
            if self.ended:
                return
            if not self._chunks:
                self._since = when
            elif when - self._since > MERGE_SEC:
                self._close_output()
                self._since = when
            self._chunks.append(data)
            self._n_waiting += len(data)
            self._wait_or_write()

    def screen(self, when: float, data: bytes, columns: int) -> None:
        """Bytes that draw all of the screen, in rows of so many columns."""
        with self._lock:
            if self.ended:
                return
            self._close_output(final=True)
            text = data.decode("utf-8", "replace")
            self._add(when, "o", self._redactor.screen(text, columns) if self._redactor else text)
            self._n_waiting += len(data)
            self._wait_or_write()

    def event(self, when: float, code: str, text: str) -> None:
        """Any other event: ``i`` input, ``r`` resize, ``m`` marker."""
        with self._lock:
            if self.ended:
                return
            self._close_output()
            self._add(when, code, text)
            self._n_waiting += len(text)
            self._wait_or_write()

    def cut_output(self) -> None:
        """Bytes are missing here: half a character before does not belong to what comes next."""
        with self._lock:
            self._close_output(final=True)

    def flush(self) -> None:
        """Give the operating system all that has been said."""
        with self._lock:
            self._write()

    def close(self) -> None:
        """Flush and end."""
        with self._lock:
            if not self._has_header:
                self._begin(*DEFAULT_SIZE)
            self._close_output(final=True)
            self._write()
            self._end()

    # -- lines, under the lock -------------------------------------------------------------------------------

    def _begin(self, columns: int, rows: int) -> None:
        size: dict[str, Any] = {"width": columns, "height": rows}
        if self._version == INTERVALS:
            size = {"term": {"cols": columns, "rows": rows}}
        header = {"version": self._version, **size, "timestamp": self._started, **self._header}
        self._lines.insert(0, json.dumps(header, ensure_ascii=False) + "\n")
        self._has_header = True

    def _close_output(self, *, final: bool = False) -> None:
        if self._chunks or final:
            text = self._decoder.decode(b"".join(self._chunks), final)
            self._chunks.clear()
            if self._redactor:
                text = self._redactor.output(text, final=final)
            if text:
                self._add(self._since, "o", text)

    def _add(self, when: float, code: str, text: str) -> None:
        position = max(self._last, round((when - self._zero) * MICRO))
        stamp = position - self._last if self._version == INTERVALS else position
        self._last = position
        # Format 3's intervals are differences of rounded times: they cannot drift.
        self._lines.append(f'[{stamp // MICRO}.{stamp % MICRO:06d}, "{code}", {encode_basestring(text)}]\n')

    def _wait_or_write(self) -> None:
        if self._n_waiting >= FLUSH_BYTES:
            self._write()
        elif not self._ticking:
            self._ticking = True
            _ticker.soon(self._tick)

    def _tick(self) -> None:
        with self._lock:
            self._ticking = False
            self._write()

    def _write(self) -> None:
        if self.ended or not self._has_header:
            return
        self._close_output()
        self._n_waiting = 0
        if not self._lines:
            return
        data = "".join(self._lines).encode("utf-8", "replace")
        stop = None
        if self._size + len(data) > self._max_bytes - LAST_WORDS_BYTES:
            stop = f"Recording stopped: it has reached its limit of {self._max_bytes / MICRO:g} MB"
            self._keep_what_fits(stop)
            data = "".join(self._lines).encode("utf-8", "replace")
        self._lines.clear()
        try:
            _write_all(self._file, data)
            self._size += len(data)
        except OSError as error:
            stop = f"Recording stopped: cannot write {self.path}: {error.strerror or error}"
            self._cut(self._size)
        if stop:
            logger.warning("%s", stop)
            self._end()

    def _keep_what_fits(self, last_words: str) -> None:
        room = self._max_bytes - LAST_WORDS_BYTES - self._size
        for number, line in enumerate(self._lines):
            room -= len(line.encode("utf-8", "replace"))
            if room < 0:
                del self._lines[number:]
                break
        when = self._last / MICRO + self._zero
        self._add(when, "m", last_words)

    def _cut(self, size: int) -> None:
        try:
            os.ftruncate(self._file, size)
        except OSError:
            logger.debug("Half a line stays at the end of %s", self.path)

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            self._chunks.clear()
            self._lines.clear()
            os.close(self._file)

    # -- a file that is there already ------------------------------------------------------------------------

    def _repair(self) -> _Found | None:
        """Read what is there and cut off a torn end; ``None`` if there is not an event and no header."""
        self._size = 0
        with open(self._file, "rb", closefd=False) as file:
            found = _scan(file)
        self._size = found.size if found else 0
        self._cut(self._size)
        if found and not found.is_ended:
            _write_all(self._file, b"\n")
            self._size += 1
        return found


def _scan(file: BinaryIO) -> _Found | None:
    head = file.readline()
    try:
        header = json.loads(head)
        version, started = header["version"], int(header.get("timestamp") or time.time())
    except (ValueError, TypeError, KeyError):
        if head.endswith(b"\n"):
            raise ValueError("the file that is there is not an asciicast recording") from None
        return None  # nothing, or a header that a kill has torn
    if version not in (2, 3):
        raise ValueError(f"the recording that is there has format {version}; 2 and 3 can be continued")
    found = _Found(version, started, 0, len(head), head.endswith(b"\n"))
    for line in file:
        whole = line.endswith(b"\n")
        try:
            stamp = 0 if whole and not line.startswith(b"[") else _stamp(line, whole=whole)
        except (ValueError, OverflowError):
            if not whole:
                break  # torn
            stamp = 0
        found.last = found.last + stamp if version == INTERVALS else max(found.last, stamp)
        found.size += len(line)
        found.is_ended = whole
    return found


def _stamp(line: bytes, *, whole: bool) -> int:
    """The time at the head of an event's line; a line without its end must prove to be complete."""
    if not whole:
        json.loads(line)
    return round(float(line[1 : line.find(b",")]) * MICRO)


def _write_all(file: int, data: bytes) -> None:
    done = 0
    while done < len(data):  # a write may be short
        done += os.write(file, data[done:] if done else data)
