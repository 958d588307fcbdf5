"""Killed agents with real terminals: what of them is left after the next start?

    python tests/benchmarks/killed_terminals.py [--kills 200] [--smoke]

Prints a Markdown table. Agents with environment ``local`` are started ten at a time and killed (SIGKILL) while they
type. Then one more agent starts and ends. Only folders are counted whose owner is a process that this script killed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

from terminus_core import Agent, hookimpl
from terminus_core.testing import FakeLLM

BASE = Path(f"/tmp/terminus-{os.getuid()}")
AT_ONCE = 10


def reply(*keystrokes: str, done: bool = False) -> str:
    """An answer in the format ``json``."""
    commands = [{"keystrokes": each, "duration": 60} for each in keystrokes]
    return json.dumps({"analysis": "", "plan": "", "commands": commands, "task_complete": done})


class Teller:
    """Writes a line when something has been typed."""

    name = "teller"

    @hookimpl
    def terminus_command_sent(self) -> None:
        """The terminal is there."""
        os.write(1, b"typed\n")


def start(folder: Path, *, ends: bool) -> subprocess.Popen[bytes]:
    """An agent in a process of its own."""
    command = [sys.executable, __file__, "--agent", str(folder), *(["--ends"] if ends else [])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)


async def be_agent(folder: Path, *, ends: bool) -> None:
    """Type, and end or wait to be killed."""
    replies = [reply("true\n"), *[reply(done=True)] * 2] if ends else [reply("true\n", "cat\n")]
    agent = Agent(llm=FakeLLM(replies), environment="local", observers=["atif", Teller()], logs_dir=folder)
    await agent.run("Stay.")


def folders_of(agents: set[int]) -> set[Path]:
    """Session folders that belong to these agents."""
    found = set()
    for owner in BASE.glob("*/owner"):
        try:
            process = json.loads(owner.read_text().split(" ", 2)[2])
        except (FileNotFoundError, NotADirectoryError):  # another agent's start has just removed it
            continue
        if process["pid"] in agents:
            found.add(owner.parent)
    return found


def processes_of(folders: set[Path]) -> int:
    """How many processes name one of these folders in their command lines."""
    count = 0
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().decode(errors="replace")
        except OSError:
            continue
        count += any(str(folder) in line for folder in folders)
    return count


def measure(kills: int) -> None:
    """Kill, start once more, count and print."""
    seen: set[Path] = set()
    with tempfile.TemporaryDirectory() as home:
        for first in range(0, kills, AT_ONCE):
            agents = [start(Path(home, str(n)), ends=False) for n in range(first, min(first + AT_ONCE, kills))]
            for agent in agents:
                assert agent.stdout is not None
                if agent.stdout.readline() != b"typed\n":
                    raise SystemExit("an agent has not begun")
            seen |= folders_of({agent.pid for agent in agents})
            for agent in agents:
                agent.kill()
                agent.communicate()
        with start(Path(home, "last"), ends=True) as last:
            last.communicate()
    if len(seen) < kills:
        raise SystemExit(f"{kills} agents were killed, but only {len(seen)} terminals were found in {BASE}")
    left = {folder for folder in seen if folder.exists()}
    print("| what | number |\n|---|--:|")
    print(f"| agents killed | {kills} |")
    print(f"| terminals that they had | {len(seen)} |")
    print(f"| tmux processes left after the next start | {processes_of(seen)} |")
    print(f"| sockets left after it | {sum((folder / 'socket').exists() for folder in left)} |")
    print(f"| folders left after it | {len(left)} |")


def main() -> None:
    """Measure and print, or be an agent."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--smoke", action="store_true", help="three kills: does it run at all?")
    options.add_argument("--agent", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--ends", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.agent:
        anyio.run(lambda: be_agent(arguments.agent, ends=arguments.ends))
    else:
        measure(3 if arguments.smoke else arguments.kills)


if __name__ == "__main__":
    main()
