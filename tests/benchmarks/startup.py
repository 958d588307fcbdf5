"""Start-up: the help text, the time from the command to the first model request, and memory without litellm.

    python tests/benchmarks/startup.py [--rounds 10] [--smoke]

Runs with an empty HOME. Prints a Markdown table; a bare `python -c pass` stands beside it, because machines differ.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLUGIN = """
import os, resource, sys, time
from terminus_core import hookimpl
asked = []
@hookimpl
def terminus_request_started(run):
    if not asked:
        asked.append(time.time())
@hookimpl
def terminus_run_finished(run):
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with open(os.environ["FIRST_REQUEST_FILE"], "w") as file:
        print(asked[0], rss, "litellm" in sys.modules, file=file)
"""
DONE = json.dumps({"content": json.dumps({"analysis": "", "plan": "", "commands": [], "task_complete": True})})


def seconds(command: list[str], env: dict[str, str]) -> float:
    """Wall time of a command."""
    begin = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--smoke", action="store_true", help="one round: does it run at all?")
    arguments = options.parse_args()
    rounds = 1 if arguments.smoke else arguments.rounds
    terminus = [sys.executable, "-m", "terminus_core"]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "first_request.py").write_text(PLUGIN)
        (home / "replies.jsonl").write_text(f"{DONE}\n{DONE}\n")
        note = home / "first"
        env = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "FIRST_REQUEST_FILE": str(note)}
        python = [seconds([sys.executable, "-c", "pass"], env) for _ in range(rounds)]
        seconds([*terminus, "--help"], env)
        helped = [seconds([*terminus, "--help"], env) for _ in range(rounds)]
        first, memory = [], []
        for number in range(rounds):
            begin = time.time()
            seconds(
                [
                    *terminus,
                    "run",
                    "Nothing.",
                    "--llm",
                    "scripted",
                    "--set",
                    f"llm.scripted.replies={home}/replies.jsonl",
                    "-p",
                    str(home / "first_request.py"),
                    "--logs-dir",
                    str(home / f"run-{number}"),
                    "--quiet",
                ],
                env,
            )
            asked, rss, heavy = note.read_text().split()
            if heavy != "False":
                raise SystemExit("litellm was imported")
            first.append(float(asked) - begin)
            memory.append(float(rss))
    print("| what | median | worst |\n|---|--:|--:|")
    for name, values in (("python -c pass", python), ("terminus --help", helped), ("to the first request", first)):
        print(f"| {name} | {statistics.median(values):.2f} s | {max(values):.2f} s |")
    print(f"| memory (RSS) without litellm | {statistics.median(memory):.0f} MB | {max(memory):.0f} MB |")


if __name__ == "__main__":
    main()
