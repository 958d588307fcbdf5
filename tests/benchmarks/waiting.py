"""A job of 40 commands with the durations that models give: waits that end at the prompt against waits in full.

    python tests/benchmarks/waiting.py [--smoke]

Prints a Markdown table. Both runs type the same into a real tmux; what the model would read must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import chdir
from pathlib import Path

import anyio

from terminus_core import Agent

USUAL = [
    ("pwd | wc -l", 0.1),
    ("mkdir -p src && cd src", 0.1),
    ("printf 'all: a b\\n\\t@echo made\\na b:\\n\\t@sleep 0.2\\n' > Makefile", 0.5),
    ("cat Makefile", 0.5),
    ("seq 300 > numbers; tail -n 3 numbers", 1.0),
    ("grep -c 7 numbers", 1.0),
    ("for i in 1 2 3; do echo line $i; done", 1.0),
    ("sort -rn numbers | head -n 5", 1.5),
    ("python3 -c 'print(sum(range(100)))'", 2.0),
    ("tar cf all.tar numbers Makefile; tar tf all.tar", 3.0),
    ("true", 0.05),
]
SPECIAL = [
    ("(sleep 0.5; echo from the background) &", 1.0),
    ("sleep 0.4; echo late", 0.8),
    ("python3 -q", 0.8),
    ("print(6 * 7)", 0.5),
    ("exit()", 1.0),
    ("PS1='> ' bash --norc", 0.5),
    ("echo nested", 0.5),
    ("exit", 1.0),
    ("make -j2 -s", 1.5),
    ("sleep 0.2\necho second", 1.0),
]
COMMANDS = [*USUAL, *SPECIAL[:5], *USUAL, *SPECIAL[5:], *USUAL][:40]


def replies(commands: list[tuple[str, float]]) -> list[dict[str, str]]:
    """One command a reply, then a claim and its confirmation."""
    work: list[dict[str, object]] = [
        {"commands": [{"keystrokes": f"{text}\n", "duration": seconds}]} for text, seconds in commands
    ]
    done: dict[str, object] = {"commands": [], "task_complete": True}
    return [{"content": json.dumps({"analysis": "", "plan": "", **each})} for each in [*work, done, done]]


async def one_run(wait: str, commands: list[tuple[str, float]], folder: Path) -> tuple[float, list[str]]:
    """Seconds of the run, and what the model reads."""
    with chdir(folder):
        agent = Agent(
            llm="scripted",
            settings={"llm": {"scripted": {"replies": replies(commands)}}, "session": {"tmux": {"wait": wait}}},
            logs_dir=folder / "run",
        )
        begin = time.perf_counter()
        result = await agent.run("Do the job.")
        seconds = time.perf_counter() - begin
    if result.status != "completed":
        raise SystemExit(f"the run ended as {result.status}: {result.reason}")
    steps = json.loads((folder / "run" / "trajectory.json").read_text(encoding="utf-8"))["steps"]
    seen = [answer["content"] for step in steps for answer in step.get("observation", {}).get("results", [])]
    return seconds, [re.sub(r"^(\[\d\]) \d+$", r"\1 PID", text, flags=re.MULTILINE) for text in seen]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--smoke", action="store_true", help="12 commands: does it run at all?")
    commands = [*USUAL[:2], *SPECIAL] if options.parse_args().smoke else COMMANDS
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        (home / ".bash_profile").write_text("PS1='$ '\n")
        os.environ["HOME"] = str(home)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for name in ("fixed", "prompt"):
            (Path(folder) / name).mkdir()
        fixed, expected = anyio.run(one_run, "fixed", commands, Path(folder) / "fixed")
        prompt, seen = anyio.run(one_run, "prompt", commands, Path(folder) / "prompt")
    differing = [pair for pair in zip(expected, seen, strict=True) if pair[0] != pair[1]]
    if differing:
        print(*(f"--- fixed\n{one}\n--- prompt\n{other}" for one, other in differing), sep="\n", file=sys.stderr)
        raise SystemExit(f"{len(differing)} observations differ")
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{tmux}, {len(commands)} commands, {sum(seconds for _, seconds in commands):.0f} s of durations\n")
    print("| `session.tmux.wait` | seconds | ratio | equal observations |\n|---|--:|--:|--:|")
    print(f"| `fixed` | {fixed:.1f} | 1.00 | {len(seen)} |")
    print(f"| `prompt` | {prompt:.1f} | {prompt / fixed:.2f} | {len(seen)} |")


if __name__ == "__main__":
    main()
