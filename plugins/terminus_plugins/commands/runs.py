"""``terminus runs``: the runs so far, in the terminal; and removing those that nobody needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from terminus_core import ConfigError
from terminus_core.cli import Lines, print_json, shorten

_LONGEST_TASK = 60
_DIR = click.option("--dir", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Another folder of runs.")
_KEEP = click.option("--keep", type=click.IntRange(0), metavar="N", help="Remove all but the newest N runs.")


@click.group(invoke_without_command=True)
@_DIR
@_KEEP
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.pass_context
def runs(context: click.Context, folder: Path | None, keep: int | None, as_json: bool) -> None:
    """List the runs so far, newest first: status, task, model, cost, time.

    A run that goes on is never removed.
    """
    if context.invoked_subcommand:
        context.obj = folder
    elif keep is not None:
        _remove(list(_finished(folder))[keep:])
    else:
        _list(folder, as_json=as_json)


@runs.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_DIR
@click.pass_context
def rm(context: click.Context, names: tuple[str, ...], folder: Path | None) -> None:
    """Remove runs by their names, as terminus runs lists them."""
    known = {path.name: path for path in _finished(folder or context.obj)}
    for name in names:
        if name not in known:
            raise ConfigError(f"no finished run {name!r} in {_runs_dir(folder or context.obj)}")
    _remove([known[name] for name in names])


def _runs_dir(folder: Path | None) -> Path:
    from terminus_core.cli import read_runs_dir  # noqa: PLC0415 - heavy

    return folder or read_runs_dir()


def _records(folder: Path | None) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each run's folder and record, newest first."""
    from terminus_core.cli import RUN_FILE, is_going_on, read_record  # noqa: PLC0415 - heavy

    found = [path.parent for path in _runs_dir(folder).glob(f"*/{RUN_FILE}") if not path.parent.is_symlink()]
    for each in sorted(found, key=lambda path: path.name, reverse=True):
        record = read_record(each)
        if record.get("status") == "running" and not is_going_on(record):
            record["status"] = "killed"
        yield each, record


def _finished(folder: Path | None) -> Iterator[Path]:
    return (path for path, record in _records(folder) if record.get("status") != "running")


def _remove(folders: list[Path]) -> None:
    from shutil import rmtree  # noqa: PLC0415 - --help does without

    lines = Lines(sys.stdout)
    for folder in folders:
        try:
            rmtree(folder)
        except OSError as error:
            raise ConfigError(f"cannot remove {folder}: {error.strerror or error}") from None
        lines.write(f"removed {folder}")


def _list(folder: Path | None, *, as_json: bool) -> None:
    rows = [_row(path, record) for path, record in _records(folder)]
    if as_json:
        print_json(rows)
        return
    if not rows:
        Lines(sys.stderr).write(f"no runs in {_runs_dir(folder)}")
        return
    cells = [
        (
            row["name"],
            str(row["status"]),
            "-" if row["cost_usd"] is None else f"${row['cost_usd']:.4f}",
            "-" if row["seconds"] is None else f"{row['seconds']:.0f} s",
            row["model"] or "-",
            shorten(row["task"], _LONGEST_TASK),
        )
        for row in rows
    ]
    Lines(sys.stdout).table(("run", "status", "cost", "time", "model", "task"), cells)


def _row(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    totals = record.get("totals")
    cost = totals.get("cost_usd") if isinstance(totals, dict) else None
    return {
        "name": folder.name,
        "folder": str(folder),
        "status": _text(record.get("status")) or "unknown",
        "reason": _text(record.get("reason")),
        "task": _text(record.get("instruction")).strip(),
        "model": _text(record.get("model")),
        "episodes": record.get("n_episodes"),
        "cost_usd": cost if isinstance(cost, int | float) else None,
        "started_at": record.get("started_at"),
        "seconds": _seconds(record),
    }


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, default=str)


def _seconds(record: dict[str, Any]) -> float | None:
    """How long it took; of a run that goes on, so far."""
    try:
        began = datetime.fromisoformat(record["started_at"])
        ended = datetime.now(UTC) if record["status"] == "running" else datetime.fromisoformat(record["finished_at"])
        return (ended - began).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None
