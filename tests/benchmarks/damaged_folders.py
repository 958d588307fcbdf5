"""Damage: a run's folder is removed, moved, truncated or full while the run goes on; what is left, what is said?

    python tests/benchmarks/damaged_folders.py [--smoke]

Prints a Markdown table. Each row is a run of five turns, whose second turn damages the folder that it records into.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.damage import MENDED, N_STEPS, SAID, damaged_run
from tests.support.disks import small_disk
from tests.support.scripted_run import DONE, Done, Program, typing


def steps_in(folder: Path) -> str:
    """How many steps the trajectory holds, or what it is instead."""
    try:
        return str(len(json.loads((folder / "trajectory.json").read_text())["steps"]))
    except FileNotFoundError:
        return "no file"
    except (OSError, ValueError):
        return "not a trajectory"


def row(case: str, done: Done, n_steps: int) -> str:
    """One line of the table."""
    said = "yes" if str(done.folder) in done.stderr or "not complete" in done.stderr else "no"
    return f"| {case} | {steps_in(done.folder)} of {n_steps} | {said} | {done.code} |"


def full_disk(folder: Path) -> str:
    """A run into a disk of 400 KB, 32 of which are taken."""
    replies = [*(typing("true\n", analysis="x" * 4_000) for _ in range(30)), DONE, DONE]
    with small_disk(folder / "disk", "400k") as (disk, _):
        program = Program(folder)
        logs = disk / "run"
        done = program("--logs-dir", str(logs), replies=replies)
        return row("the disk is full", Done(done.code, done.stdout, done.stderr, logs), len(replies) + 1)


def main() -> None:
    """Damage and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--smoke", action="store_true", help="two rows: does it run at all?")
    arguments = options.parse_args()
    cases = [*MENDED.items(), *SAID.items()]
    print("| what happens to the folder | steps on disk | said on stderr | exit code |\n|---|---|---|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for number, (case, command) in enumerate(cases[:: len(cases) - 1] if arguments.smoke else cases):
            print(row(case, damaged_run(Path(folder, str(number)), command), N_STEPS), flush=True)
        if not arguments.smoke:
            print(full_disk(Path(folder)))


if __name__ == "__main__":
    main()
