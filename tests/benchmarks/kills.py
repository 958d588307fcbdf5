"""Kills: a process that records steps of 12 kB is killed at random instants; are its files valid, is a step lost?

    python tests/benchmarks/kills.py [--kills 200] [--seed 1] [--smoke]

Prints a Markdown table. Each round starts a new process in a new folder, lets it record for up to half a second, and
sends SIGKILL. The process tells each step through a pipe when its observer ``atif`` has saved it: a step that was told
and is not in the file is lost. The terminal is a double, so that nearly all of the time goes into recording.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from terminus_core import Agent, LLMResponse, Step, TerminalText, Trajectory, Usage, hookimpl
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM, FakeSession

SHOWN = "a row of what a command has written, long enough to matter\n" * 200
"""What each look shows: about 12 kB, which makes steps of about that size."""
REPLY = json.dumps({"analysis": "All well.", "plan": "Go on.", "commands": [{"keystrokes": "next\n", "duration": 0}]})
RECORDING_SEC = 0.5
START_SEC = 60.0


class Terminal(FakeSession):
    """Always has something new."""

    async def get_incremental_output(self) -> TerminalText:
        """The same rows again."""
        await anyio.lowlevel.checkpoint()
        return TerminalText(SHOWN)


class Endless(FakeLLM):
    """Goes on for ever."""

    async def call(self, request: Any) -> LLMResponse:
        """The same answer again."""
        await anyio.lowlevel.checkpoint()
        return LLMResponse(REPLY, usage=Usage(100, 10))


class Teller:
    """Tells each step through stdout, after the observers before it have saved it."""

    name = "teller"

    @hookimpl(trylast=True)
    def terminus_step_recorded(self, step: Step) -> None:
        """Write its number."""
        os.write(1, f"{step.step_id}\n".encode())


async def record(logs_dir: Path) -> None:
    """Record until killed."""
    agent = Agent(
        llm=Endless(),
        environment=FakeEnvironment(),
        session=FakeBackend(Terminal()),
        context="none",
        observers=["atif", Teller()],
        output_limit_bytes=len(SHOWN),
        logs_dir=logs_dir,
    )
    await agent.run("Go on.")


@dataclass
class Found:
    """What one kill left."""

    told: int
    """Steps that the process had told."""
    kept: int
    """Steps in the trajectory."""
    invalid: list[str]
    """Files that are not what they should be."""


def kill_once(folder: Path, delay: float) -> Found:
    """Start a process, kill it ``delay`` seconds after its first step, and read what is there."""
    logs_dir = folder / "run"
    command = [sys.executable, __file__, "--record", str(logs_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], START_SEC)[0]:
            process.kill()
            raise SystemExit("the recording process has not begun")
        told = process.stdout.readline()
        deadline = time.perf_counter() + delay
        while (left := deadline - time.perf_counter()) > 0:
            if select.select([process.stdout], [], [], left)[0]:
                told += os.read(process.stdout.fileno(), 65536)
        process.send_signal(signal.SIGKILL)
        process.wait()
        told += process.stdout.read()
    numbers = told.decode().rpartition("\n")[0].split()
    return Found(int(numbers[-1]), *_read(logs_dir))


def _read(logs_dir: Path) -> tuple[int, list[str]]:
    invalid: list[str] = []
    kept = 0
    try:
        kept = len(Trajectory.model_validate_json((logs_dir / "trajectory.json").read_bytes()).steps)
    except (OSError, ValueError) as error:
        invalid.append(f"trajectory.json: {error}")
    try:
        for line in (logs_dir / "replies.jsonl").read_text().split("\n")[:-1]:  # a last line may be unfinished
            json.loads(line)
        json.loads((logs_dir / "run.json").read_text())
    except (OSError, ValueError) as error:
        invalid.append(str(error))
    return kept, invalid


def measure(kills: int, seed: int) -> None:
    """Kill again and again, and print what was found."""
    dice = random.Random(seed)
    found = []
    for _ in range(kills):
        with tempfile.TemporaryDirectory() as folder:
            found.append(kill_once(Path(folder), dice.uniform(0, RECORDING_SEC)))
    for each in found:
        for reason in each.invalid:
            print(f"invalid after {each.told} steps: {reason}", file=sys.stderr)
    n_steps = sum(each.told for each in found)
    print(f"Python {sys.version.split()[0]}, {platform.system()} {platform.machine()}, seed {seed}\n")
    print("| what | number |\n|---|--:|")
    print(f"| kills | {len(found)} |")
    print(f"| steps recorded before them | {n_steps:,} |")
    print(f"| runs with a file that is not valid | {sum(bool(each.invalid) for each in found)} |")
    print(f"| steps that had been recorded and are lost | {sum(max(0, each.told - each.kept) for each in found)} |")


def main() -> None:
    """Measure and print, or be the process that is killed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--smoke", action="store_true", help="three kills: does it run at all?")
    options.add_argument("--record", type=Path, metavar="DIR", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.record:
        anyio.run(record, arguments.record)
    measure(3 if arguments.smoke else arguments.kills, arguments.seed)


if __name__ == "__main__":
    main()
