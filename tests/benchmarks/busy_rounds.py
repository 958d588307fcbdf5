"""Do the default tests fail on a busy machine? Runs them again and again beside two loops that take both cores.

python tests/benchmarks/busy_rounds.py [--rounds N] [--smoke]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOOPS = 2
_SUMMARY = re.compile(r"(\d+) (passed|failed|skipped|errors?)")


def round_of_tests(*words: str) -> tuple[int, dict[str, int], float]:
    """One run: its exit code, how many tests ended how, seconds."""
    started = time.monotonic()
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_RUN_MARK"}
    command = [sys.executable, "-m", "pytest", "-q", *words]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-5_000:], file=sys.stderr)
    counts = {kind.rstrip("s"): int(number) for number, kind in _SUMMARY.findall(done.stdout.splitlines()[-1])}
    return done.returncode, counts, time.monotonic() - started


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--smoke", action="store_true", help="one round of one file")
    arguments = options.parse_args()
    words = ("-n", "2", "tests/terminus_core/test_chat.py") if arguments.smoke else ()
    loops = [subprocess.Popen(["yes"], stdout=subprocess.DEVNULL) for _ in range(LOOPS)]
    print(f"{os.cpu_count()} cores, {LOOPS} loops of `yes` beside the tests\n")
    print("| round | passed | skipped | failed | seconds | exit code |\n|--:|--:|--:|--:|--:|--:|")
    try:
        for number in range(1, 2 if arguments.smoke else arguments.rounds + 1):
            code, counts, seconds = round_of_tests(*words)
            failed = counts.get("failed", 0) + counts.get("error", 0)
            print(f"| {number} | {counts.get('passed', 0):,} | {counts.get('skipped', 0)} | {failed} |", end="")
            print(f" {seconds:.0f} | {code} |", flush=True)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    main()
