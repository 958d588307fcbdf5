"""asciicast recordings, formats 2 and 3: reading what is whole, and putting markers in."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from terminus_plugins.commands.common.coercion import number_or_none

MICRO = 1_000_000
INTERVALS = 3
"""The format whose times count from the event before."""


class CastError(ValueError):
    """A file is not a recording that can be read; the text says why, in one line."""


@dataclass(slots=True)
class Event:
    """One event of a recording.

    Attributes:
        at: microseconds since the beginning; never less than those of the event before.
        code: ``o`` output, ``i`` input, ``m`` marker, ``r`` resize, ``x`` exit, or what a later format brings.
        data: what the event says.
        line: the event's line as it was read, ``None`` if it must be written anew.
        before: comment lines that stand before it.
    """

    at: int
    code: str
    data: Any
    line: str | None = None
    before: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Cast:
    """A recording in memory.

    Attributes:
        header: the first line.
        events: in the order of the file; the times of all that are not markers do not go back.
        warnings: what was left out, with line numbers.
        tail: comment lines after the last event.
    """

    header: dict[str, Any]
    events: list[Event] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)

    @property
    def version(self) -> int:
        """2 or 3."""
        version: int = self.header["version"]
        return version

    @property
    def started(self) -> float | None:
        """When it began, in seconds since 1970; ``None`` if it does not say, or nothing that could be true."""
        started = number_or_none(self.header.get("timestamp"))
        return float(started) if started is not None and started > 0 else None

    @property
    def markers(self) -> list[tuple[float, str]]:
        """Time in seconds and label of each marker, by time."""
        found = [(event.at / MICRO, str(event.data)) for event in self.events if event.code == "m"]
        return sorted(found, key=lambda marker: marker[0])


def read_cast(path: Path) -> Cast:
    """Read a recording; bad lines are left out and named in the warnings.

    Raises:
        CastError: it is not a recording of format 2 or 3.
        OSError: it cannot be read.
    """
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        cast = Cast(_header(file.readline()))
        at = latest = 0
        comments: list[str] = []
        for number, line in enumerate(file, start=2):
            if not line.strip():
                continue
            if line.startswith("#") and cast.version == INTERVALS:
                comments.append(line.rstrip("\n"))
                continue
            found = _event(line)
            if found is None:
                cast.warnings.append(f"line {number} is not an event and was left out: {line[:40].strip()}")
                continue
            stamp, code, data = found
            at = at + stamp if cast.version == INTERVALS else stamp
            raw: str | None = line.rstrip("\n")
            if code != "m":
                if at < latest:
                    raw = None
                latest = max(at, latest)
            cast.events.append(Event(at if code == "m" else latest, code, data, raw, comments))
            comments = []
        cast.tail = comments
    return cast


def _event(line: str) -> tuple[int, str, Any] | None:
    """Time in microseconds, code and data of a line; ``None`` if it is not an event."""
    try:
        stamp, code, data = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return None
    seconds = number_or_none(stamp)
    if seconds is None or not isinstance(code, str):
        return None
    if code == "m" and isinstance(data, list | dict):  # no label
        return None
    return round(seconds * MICRO), code, data


def _header(line: str) -> dict[str, Any]:
    try:
        header = json.loads(line)
        version = header["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CastError("it is not an asciicast recording: its first line is not a header") from None
    if version not in (2, 3):
        raise CastError(f"asciicast format {version!r} is not supported, only 2 and 3")
    return dict(header)


def add_markers(path: Path, markers: Iterable[tuple[float, str]], target: Path | None = None) -> tuple[int, list[str]]:
    """Put markers into a recording, each at its time; markers that are there already are not doubled.

    All other events stay in their order. The file is replaced when the new one is whole, not before.

    Args:
        path: the recording.
        markers: seconds since its beginning, finite, and label; a time before the beginning becomes 0.
        target: where to write; by default the recording itself.

    Returns:
        How many markers were added, and warnings about lines that were left out.

    Raises:
        CastError: it is not a recording of format 2 or 3; it is left as it was.
        OSError: it cannot be read, or the new file not be written; likewise.
    """
    cast = read_cast(path)
    there = {(event.at, event.data) for event in cast.events if event.code == "m"}
    added = []
    for seconds, label in markers:
        at = max(0, round(seconds * MICRO))
        if (at, label) not in there:
            there.add((at, label))
            added.append(Event(at, "m", label))
    # Stable: for equal times what was in the file comes first, and nothing but markers can change its place.
    for event in cast.events:
        event.at = max(0, event.at)
    cast.events = sorted([*cast.events, *added], key=lambda event: event.at)
    _replace(target or path, "".join(f"{line}\n" for line in _lines(cast)), like=path)
    return len(added), cast.warnings


def _lines(cast: Cast) -> Iterable[str]:
    yield json.dumps(cast.header, ensure_ascii=False)
    last = 0
    for event in cast.events:
        yield from event.before
        stamp = event.at - last if cast.version == INTERVALS else event.at
        if event.line is not None and _time_of(event.line) == stamp:
            yield event.line
        else:
            yield json.dumps([stamp / MICRO, event.code, event.data], ensure_ascii=False)
        last = event.at
    yield from cast.tail


def _time_of(line: str) -> int:
    stamp: float = json.loads(line)[0]
    return round(stamp * MICRO)


def _replace(path: Path, text: str, *, like: Path) -> None:
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="replace", newline="\n", prefix=f".{path.name}.", dir=path.parent, delete=False
    ) as file:
        fresh = Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            fresh.chmod(like.stat().st_mode & 0o777)
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
