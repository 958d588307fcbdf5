"""Own time per episode: scripted model, one echo, no waits, a real tmux.

    python tests/benchmarks/own_time.py [--episodes 1000] [--smoke]

Prints a Markdown table. "Own time" is the wall time of an episode minus nothing: the model answers at once and the
command waits for nothing, so all of it is the agent, tmux and the disk. Beside it: what the same calls cost a bare
control-mode client, which tells how fast the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from terminus_core import Agent, hookimpl

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks import _bare_client


class Stopwatch:
    """Seconds of each episode, from request to request."""

    name = "stopwatch"

    def __init__(self) -> None:
        self.times: list[float] = []
        self._last: float | None = None

    @hookimpl
    def terminus_request_started(self) -> None:
        now = time.perf_counter()
        if self._last is not None:
            self.times.append(now - self._last)
        self._last = now


def replies(episodes: int) -> list[dict[str, object]]:
    """Echoes, then a claim and its confirmation."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 50}
    work = [
        {
            "analysis": "The last command worked.",
            "plan": f"Echo number {number}.",
            "commands": [{"keystrokes": f"echo {number}\n", "duration": 0}],
        }
        for number in range(episodes - 2)
    ]
    done = {"analysis": "Done.", "plan": "", "commands": [], "task_complete": True}
    return [{"content": json.dumps(each), "usage": usage} for each in [*work, done, done]]


async def one_run(episodes: int, logs_dir: Path) -> tuple[list[float], float]:
    """Milliseconds of each episode, and seconds of the whole run."""
    watch = Stopwatch()
    agent = Agent(
        llm="scripted",
        observers=["atif", watch],
        settings={"llm": {"scripted": {"replies": replies(episodes)}}},
        logs_dir=logs_dir,
    )
    begin = time.perf_counter()
    result = await agent.run("Count.")
    if result.status != "completed":
        raise SystemExit(f"the run ended as {result.status}: {result.reason}")
    return [seconds * 1000 for seconds in watch.times], time.perf_counter() - begin


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--episodes", type=int, default=1000)
    options.add_argument("--smoke", action="store_true", help="60 episodes: does it run at all?")
    arguments = options.parse_args()
    episodes = 60 if arguments.smoke else arguments.episodes
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        bare, _, _ = anyio.run(_bare_client.measure, 1, episodes, Path(folder))
        times, seconds = anyio.run(one_run, episodes, Path(folder) / "run")
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(
        f"Python {sys.version.split()[0]}, {tmux}, {platform.machine()}, {episodes} episodes in {seconds:.2f} s, "
        f"RSS {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB\n"
    )
    print("| episodes | median ms | ratio to the first row | bare client, ms | ratio to it |\n|---|--:|--:|--:|--:|")
    first = statistics.median(times[1:10])
    for begin, end in ((2, 10), (episodes // 2, episodes // 2 + 49), (episodes - 50, episodes - 1)):
        median, least = (statistics.median(each[begin - 1 : end]) for each in (times, bare))
        print(f"| {begin}–{end} | {median:.2f} | {median / first:.2f} | {least:.2f} | {median / least:.1f} |")


if __name__ == "__main__":
    main()
