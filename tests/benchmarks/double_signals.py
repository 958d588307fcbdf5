"""Signals that come twice: ``timeout`` and terminals send some of them so. Does each run still end cleanly?

    python tests/benchmarks/double_signals.py [--runs 50] [--smoke]

Prints a Markdown table. Each run of ``terminus run`` gets the same signal twice while a command is being waited for.
Clean is: the exit code of the signal, a valid trajectory that says ``cancelled``, no traceback.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from terminus_core import Trajectory
from tests.support.scripted_run import Program, typing

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
START_SEC = 60.0


def is_clean(folder: Path, number: signal.Signals) -> bool:
    """One run that gets the signal twice."""
    program = Program(folder)
    arguments = program.arguments(replies=[typing("cat\n", duration=60.0)])
    options = {"cwd": folder, "env": program.variables, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options) as process:
        journal, deadline = program.logs / "journal.jsonl", time.monotonic() + START_SEC
        while not (journal.exists() and '"typing"' in journal.read_text()):
            if time.monotonic() > deadline:
                process.kill()
                raise SystemExit("a run has not begun")
            time.sleep(0.02)
        process.send_signal(number)
        process.send_signal(number)
        said = process.communicate()[1].decode()
    document = Trajectory.model_validate_json((program.logs / "trajectory.json").read_bytes())
    status = (document.final_metrics.extra or {}).get("status") if document.final_metrics else None
    clean = process.returncode == 128 + number and status == "cancelled" and "Traceback" not in said
    if not clean:
        print(f"{number.name}: exit code {process.returncode}, status {status}\n{said}", file=sys.stderr)
    return clean


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=50)
    options.add_argument("--smoke", action="store_true", help="three runs: does it run at all?")
    arguments = options.parse_args()
    counts = {number: [0, 0] for number in SIGNALS}
    with tempfile.TemporaryDirectory() as home:
        for n in range(3 if arguments.smoke else arguments.runs):
            number = SIGNALS[n % len(SIGNALS)]
            (folder := Path(home, str(n))).mkdir()
            counts[number][0] += 1
            counts[number][1] += is_clean(folder, number)
    print("| signal, twice | runs | ended cleanly |\n|---|--:|--:|")
    for number, (n_runs, n_clean) in counts.items():
        print(f"| {number.name} | {n_runs} | {n_clean} |")


if __name__ == "__main__":
    main()
