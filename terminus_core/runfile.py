"""``run.json``: the run's own record in its folder, so that a folder is never used twice and its end can be told."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from terminus_core.errors import ConfigError
from terminus_core.processes import describe_process, is_process_there
from terminus_core.result import RunResult
from terminus_core.settings import default_runs_dir

logger = logging.getLogger(__name__)

RUN_FILE = "run.json"


def read_record(folder: Path) -> dict[str, Any]:
    """What ``run.json`` in a run's folder holds; empty if there is none that can be read."""
    try:
        record = json.loads((folder / RUN_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def is_going_on(record: dict[str, Any]) -> bool:
    """Whether the run of a record, as ``run.json`` holds it, has neither ended nor lost its process."""
    pid, process = record.get("pid"), record.get("process")  # the latter is not in older files
    if record.get("status") != "running" or not isinstance(pid, int):
        return False
    return is_process_there(pid, process if isinstance(process, dict) else {})


def new_logs_dir(session_id: str, runs_dir: str | Path | None = None) -> Path:
    """A name for a run's folder, ``<time>-<id>``, in the folder of all runs, which is made if it is not there.

    Inside a repository the folder of all runs gets a ``.gitignore``, so that ``git add -A`` leaves runs alone.

    Args:
        session_id: the run's id, whatever it holds.
        runs_dir: the folder of all runs, ``None`` for the default one.

    Raises:
        ConfigError: the folder cannot be made.
    """
    folder = Path(runs_dir) if runs_dir is not None else default_runs_dir()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if any((parent / ".git").exists() for parent in folder.resolve().parents) and not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot use {folder} for runs: {error.strerror or error}; set agent.runs_dir or --logs-dir"
        ) from None
    name = re.sub(r"[^A-Za-z0-9._-]", "_", session_id[:8])
    return folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"


class RunFile:
    """The record while its run is going on.

    Args:
        logs_dir: the run's folder; made with mode 0700 if it is not there.
        session_id: the run's id.
        instruction: the task, as it may stand in a file.
        model: the model's name.
        taken: further files by which a folder is known to hold a run.

    Raises:
        ConfigError: the folder holds a run already, or cannot be made or written.
    """

    def __init__(
        self,
        logs_dir: Path,
        session_id: str,
        instruction: str,
        model: str | None = None,
        taken: Iterable[str] = (),
    ) -> None:
        self._path = logs_dir / RUN_FILE
        self._data: dict[str, Any] = {
            "session_id": session_id,
            "instruction": instruction,
            "model": model,
            "pid": os.getpid(),
            "process": describe_process(),
            "started_at": datetime.now(UTC).isoformat(),
            "status": "running",
        }
        try:
            logs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in (RUN_FILE, *taken):
                if (logs_dir / name).exists():
                    raise ConfigError(f"logs folder {logs_dir} holds a run already ({name}); choose another")
            self._write()
        except OSError as error:
            raise ConfigError(f"cannot use logs folder {logs_dir}: {error.strerror or error}") from None
        _open_records.add(self)

    def finish(self, result: RunResult) -> None:
        """Write down how the run ended; a failure is logged."""
        self._end(
            status=result.status,
            reason=result.reason,
            error_kind=result.error_kind,
            error_group=result.error_group,
            n_episodes=result.n_episodes,
            totals=result.to_json()["totals"],
        )

    def cut_off(self, reason: str) -> None:
        """Write down that the program ends without letting the run end; a failure is logged."""
        self._end(status="cancelled", reason=reason)

    def _end(self, **facts: Any) -> None:
        self._data |= {**facts, "finished_at": datetime.now(UTC).isoformat()}
        try:
            self._write()
        except OSError as error:  # a full disk, a folder that is gone: no reason to lose the result
            logger.error("Failed to write %s: %s", self._path, error)  # noqa: TRY400 - one line says it
        _open_records.discard(self)

    def _write(self) -> None:
        fresh = self._path.with_name(f".{RUN_FILE}.new")
        fresh.unlink(missing_ok=True)
        # A link of this name, in a folder that somebody else prepared, must not lead the run to another file.
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(self._data, indent=2) + "\n")
        fresh.replace(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and self._data["status"] == "running":
            self.finish(RunResult("error", f"{type(error).__name__}: {error}", "core_bug"))


_open_records: set[RunFile] = set()
"""Of the runs that go on in this process."""


def cut_off_open_records(reason: str) -> None:
    """Write down how all runs of this process ended, before it ends without letting them clean up."""
    for record in list(_open_records):
        record.cut_off(reason)
