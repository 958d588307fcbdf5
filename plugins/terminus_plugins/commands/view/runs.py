"""Runs on disk: where they are, how they ended, and everything about one of them for the page."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terminus_core import ConfigError
from terminus_core.cli import RUN_FILE, is_going_on, read_record
from terminus_plugins.commands.common.cast_alignment import episodes, place_steps
from terminus_plugins.commands.common.cast_file import CastError, read_cast
from terminus_plugins.commands.common.coercion import number_or_none, seconds_since_1970, text_of
from terminus_plugins.commands.common.documents import DocumentError, chain_of, read_documents

TRAJECTORY = "trajectory.json"
RECORDING = "recording.cast"
MAX_DEPTH = 6
"""Folders below the given one that are looked into for runs."""

Json = dict[str, Any]


@dataclass(slots=True, frozen=True)
class RunPlace:
    """Where one run is: its folder, its trajectory, its name among the others, and a key for links."""

    folder: Path
    trajectory: Path
    name: str

    @property
    def key(self) -> str:
        """Stays the same while the run stays where it is."""
        return hashlib.sha256(os.fsencode(self.trajectory)).hexdigest()[:12]

    @property
    def recording(self) -> Path | None:
        """The recording beside the trajectory; a link is none, as it could bring any file of yours into the page."""
        found = [self.folder / RECORDING, *sorted(self.folder.glob("*.cast"))]
        return next((path for path in found if path.is_file() and not path.is_symlink()), None)


def newest_run(folder: Path) -> Path:
    """The folder of the run below ``folder`` that was begun or written to last.

    Raises:
        ConfigError: there is none.
    """
    found = list(_walk(folder))
    if not found:
        raise ConfigError(f"no run in {folder}: give the folder of a run or a trajectory file")
    return max(found, key=_last_written)


def _last_written(folder: Path) -> float:
    times = [0.0]  # a link to nothing has none, and a file may be gone by now
    for name in (RUN_FILE, TRAJECTORY):
        with suppress(OSError):
            times.append((folder / name).stat().st_mtime)
    return max(times)


def find_runs(path: Path) -> list[RunPlace]:
    """The runs at ``path``: a trajectory file, a run's folder, or a folder with runs below it; newest first.

    Raises:
        ConfigError: there is none.
    """
    path = path.absolute()
    if path.is_file():
        return [RunPlace(path.parent, path, path.name if path.name != TRAJECTORY else path.parent.name)]
    if _is_run(path):
        return [RunPlace(path, path / TRAJECTORY, path.name)]
    if not path.is_dir():
        raise ConfigError(f"{path} does not exist")
    found = sorted(_walk(path), key=_last_written, reverse=True)
    if not found:
        raise ConfigError(f"no run in {path}: give the folder of a run or a trajectory file")
    return [RunPlace(folder, folder / TRAJECTORY, folder.relative_to(path).as_posix()) for folder in found]


def _is_run(folder: Path) -> bool:
    return (folder / TRAJECTORY).is_file() or (folder / RUN_FILE).is_file()


def _walk(folder: Path) -> Iterator[Path]:
    top = len(folder.parts)
    for name, folders, files in os.walk(folder):
        here = Path(name)
        if TRAJECTORY in files or RUN_FILE in files:
            folders.clear()
            yield here
        elif len(here.parts) - top >= MAX_DEPTH:
            folders.clear()
        folders[:] = sorted(each for each in folders if not each.startswith("."))


def read_run(place: RunPlace) -> Json:
    """Everything that the page shows of a run; what cannot be read is said in ``problems``."""
    record = read_record(place.folder)
    problems: list[str] = []
    documents: dict[str, Json] = {}
    try:
        documents = read_documents(place.trajectory)
    except FileNotFoundError:
        gone = place.trajectory.is_symlink()
        problems.append("The trajectory is a link to nothing." if gone else "No step has been recorded.")
    except (DocumentError, OSError) as error:
        problems.append(f"The trajectory cannot be read: {error}")
    chain = chain_of(documents)
    if chain and chain[-1].get("next", "") is None:
        problems.append(f"The steps after {chain[-1]['name']} are missing: {chain[-1]['next_name']} cannot be read.")
    steps = [step for document in chain for step in document["steps"]]
    recording = _recording(place, steps, problems)
    final = chain[-1]["final"] if chain else {}
    run: Json = {
        "key": place.key,
        "name": place.name,
        "path": str(place.folder),
        "task": text_of(record.get("instruction")) or (recording or {}).get("title") or "",
        "agent": chain[0]["agent"] if chain else "",
        "model": chain[0]["model"] if chain else "",
        **_end(record, final),
        "totals": _totals(record, chain, documents),
        **_times(record, steps),
        "recording": recording,
        "documents": documents,
        "main": next(iter(documents), None),
        "problems": problems,
    }
    run["failure"] = _failure(run, steps)
    for document in documents.values():
        del document["final"]
    return run


def summary_of(run: Json) -> Json:
    """What a table of runs shows of one."""
    return {key: value for key, value in run.items() if key not in {"documents", "main", "problems"}}


def stamp_of(place: RunPlace) -> str:
    """Changes when anything of the run has changed on disk."""
    parts = []
    for path in (*sorted(place.folder.glob("*.json")), place.recording):
        if path is not None and path.exists():
            status = path.stat()
            parts.append(f"{path.name}:{status.st_mtime_ns}:{status.st_size}")
    parts.append(str(is_going_on(read_record(place.folder))))
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:24]


# -- parts of it -------------------------------------------------------------------------------------------------------


def _recording(place: RunPlace, steps: list[Json], problems: list[str]) -> Json | None:
    path = place.recording
    if path is None:
        return None
    try:
        cast = read_cast(path)
        size = path.stat().st_size
    except (CastError, OSError) as error:
        problems.append(f"The recording {path.name} cannot be read: {error}")
        return None
    problems += [f"{path.name}: {warning}" for warning in cast.warnings]
    length = cast.events[-1].at / 1e6 if cast.events else 0.0
    place_steps(steps, cast.started, cast.markers, length)
    title = cast.header.get("title")
    return {"name": path.name, "size": size, "length": length, "title": title if isinstance(title, str) else ""}


def _end(record: Json, final: Json) -> Json:
    """Status and reason; a run that wrote no end either goes on or was killed."""
    extra = final.get("extra")
    told = {**(extra if isinstance(extra, dict) else {}), **record}
    status, reason = text_of(told.get("status")) or "unknown", text_of(told.get("reason"))
    if status == "running" and not is_going_on(record):
        status, reason = "killed", "the process of the run is gone and wrote no end"
    return {"status": status, "reason": reason}


def _totals(record: Json, chain: list[Json], documents: Json) -> Json:
    """Tokens and cost of the run: as the trajectory gives them, else added up."""
    final = chain[-1]["final"] if chain else {}
    extra = final.get("extra")
    whole = extra.get("run") if isinstance(extra, dict) else None
    if not isinstance(whole, dict):
        whole = final if len(chain) == 1 else {}
    counted = [step for document in documents.values() for step in document["steps"] if not step["copied"]]

    def total(name: str, field: str) -> float | None:
        given = number_or_none(whole.get(name))
        numbers = [step[field] for step in counted if step[field] is not None]
        return given if given is not None else sum(numbers) if numbers else None

    turns = sum(1 for _ in episodes(step for document in chain for step in document["steps"]))
    return {
        "episodes": number_or_none(record.get("n_episodes")) or turns,
        "prompt": total("total_prompt_tokens", "prompt"),
        "completion": total("total_completion_tokens", "completion"),
        "cached": total("total_cached_tokens", "cached"),
        "cost": total("total_cost_usd", "cost"),
    }


def _times(record: Json, steps: list[Json]) -> Json:
    known = [step["time"] for step in steps if step["time"] is not None]
    started = seconds_since_1970(record.get("started_at")) or (known[0] if known else None)
    ended = seconds_since_1970(record.get("finished_at")) or (known[-1] if known else None)
    if is_going_on(record):
        ended = time.time()
    return {"started": started, "ended": ended}


_ENDS = {
    "error": "failed",
    "killed": "was killed",
    "cancelled": "was cancelled",
    "session_ended": "ended because its terminal had ended",
    "limit_reached": "was stopped at a limit",
    "max_episodes": "was stopped after its last episode",
}


def _failure(run: Json, steps: list[Json]) -> Json | None:
    """What failed, after which step and command; ``None`` unless the run is known to have ended without completion."""
    if run["status"] not in _ENDS:
        return None
    last = next((step for step in reversed(steps) if not step["copied"]), None)
    with_command = next((step for step in reversed(steps) if any(call["command"] for call in step["calls"])), None)
    command = None
    if with_command is not None:
        command = [call["command"] for call in with_command["calls"] if call["command"]][-1]
    return {
        "what": _ENDS[run["status"]],
        "reason": run["reason"],
        "command": command,
        "command_step": with_command["n"] if with_command else None,
        "last_step": last["n"] if last else None,
    }
