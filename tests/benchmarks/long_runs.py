"""Long runs with the strategy ``summarize``: own time, disk and memory as the episodes go by.

    python tests/benchmarks/long_runs.py [--tmux] [--smoke]

Two runs, both with observations of 10 kB and the trajectory on disk: 1,000 episodes in a window of one million tokens,
and 10,000 episodes in a window that makes 30 summaries. Prints Markdown tables. "Own time" is what passes between an
answer of the model and the next request to it. By default the terminal is a double, so that all of it is the agent's;
with ``--tmux`` a real shell makes the 10 kB. CPU time is this process's, and tells more on a machine with other work.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import anyio

from terminus_core import LLM, Agent, LLMRequest, LLMResponse, Message, TerminalText, Usage
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeSession
from terminus_plugins.context.summarize.strategy import SummarizeStrategy

OBSERVED = "".join(f"row {i:05} of what a command has written\n" for i in range(240))[:9_900]
BYTES_PER_TOKEN = 4


class Model(LLM):
    """Answers at once, says how many tokens it was asked with, and keeps the time."""

    name: ClassVar[str] = "clocked"
    model_name = "clocked"
    output_limit = None

    def __init__(self, episodes: int, context_limit: int, command: str) -> None:
        self.context_limit = context_limit
        self.own_times: list[float] = []
        self.cpu_times: list[float] = []
        self.memory: list[int] = []
        self.n_asides = 0
        self._episodes = episodes
        self._command = command
        self._last: tuple[float, float] | None = None
        self._since_turn = (0.0, 0.0)

    async def call(self, request: LLMRequest) -> LLMResponse:
        now = time.perf_counter(), time.process_time()
        await anyio.lowlevel.checkpoint()
        if self._last is not None:
            passed = [new - old + sum_ for new, old, sum_ in zip(now, self._last, self._since_turn, strict=True)]
            self._since_turn = passed[0], passed[1]
        tokens = sum(len(message["content"]) for message in request.messages) // BYTES_PER_TOKEN
        newest = str(request.messages[-1]["content"])
        if any(
            words in newest for words in ("Write the summary now", "at least five questions", "Answer each question")
        ):
            self.n_asides += 1
            text = "What matters is that all rows were read. " * 20
        else:
            self.own_times.append(self._since_turn[0])
            self.cpu_times.append(self._since_turn[1])
            self.memory.append(resident_bytes())
            self._since_turn = (0.0, 0.0)
            text = self._reply()
        self._last = time.perf_counter(), time.process_time()
        return LLMResponse(text, usage=Usage(tokens, len(text) // BYTES_PER_TOKEN))

    def _reply(self) -> str:
        done = len(self.own_times) > self._episodes - 2
        commands = [] if done else [{"keystrokes": self._command, "duration": 0}]
        return json.dumps({"analysis": "All well.", "plan": "Go on.", "commands": commands, "task_complete": done})

    def count_tokens(self, messages: list[Message]) -> int:
        return sum(len(message["content"]) for message in messages) // BYTES_PER_TOKEN


class Terminal(FakeSession):
    """Shows 10 kB at each look and remembers nothing."""

    async def get_incremental_output(self) -> TerminalText:
        await anyio.lowlevel.checkpoint()
        self.sent.clear()
        return TerminalText(OBSERVED)


def resident_bytes() -> int:
    """Memory of this process now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def run(model: Model, logs_dir: Path, *, tmux: bool, linear: bool = False) -> None:
    """One run to its end."""
    terminal: dict[str, Any] = {} if tmux else {"environment": FakeEnvironment(), "session": FakeBackend(Terminal())}
    agent = Agent(
        llm=model,
        context=SummarizeStrategy(SummarizeStrategy.Config()),
        observers=["atif"],
        settings={"trajectory": {"linear_history": linear}},
        logs_dir=logs_dir,
        max_episodes=model._episodes + 10,
        **terminal,
    )
    result = await agent.run("Read all rows.")
    if result.status != "completed":
        raise SystemExit(f"the run ended as {result.status}: {result.reason}")


def table(model: Model, blocks: list[tuple[int, int]]) -> None:
    """Medians of some blocks of episodes, counted from 1, and the memory at their end."""
    print("| episodes | own time ms | CPU ms | CPU to the first row | memory MB |\n|---|--:|--:|--:|--:|")
    first: float | None = None
    for begin, end in blocks:
        wall, cpu = (statistics.median(times[begin - 1 : end]) * 1000 for times in (model.own_times, model.cpu_times))
        first = first or cpu
        print(f"| {begin}–{end} | {wall:.3f} | {cpu:.3f} | {cpu / first:.2f} | {model.memory[end - 1] / 2**20:.0f} |")


def measure(folder: Path, *, tmux: bool, smoke: bool) -> None:
    """Both runs, and their tables."""
    command = "head -c 9900 /dev/zero | tr '\\0' x; echo\n" if tmux else "read\n"
    episodes = 60 if smoke else 1_000
    model = Model(episodes, 1_000_000, command)
    anyio.run(lambda: run(model, folder / "one", tmux=tmux))
    print(f"\n{episodes} episodes, window of {model.context_limit:,} tokens, {model.n_asides // 3} summaries\n")
    table(model, [(2, 10), (episodes // 2, episodes // 2 + 9), (episodes - 49, episodes)])

    episodes, summaries = (100, 3) if smoke else (10_000, 30)
    window = 8_000 + episodes // summaries * (len(OBSERVED) + 200) // BYTES_PER_TOKEN
    model = Model(episodes, window, command)
    begin = time.perf_counter()
    anyio.run(lambda: run(model, folder / "two", tmux=tmux, linear=True))
    seconds = time.perf_counter() - begin
    size = sum(path.stat().st_size for path in (folder / "two").iterdir()) / 2**20
    print(f"\n{episodes} episodes, window of {window:,} tokens, {model.n_asides // 3} summaries, linear history: ")
    print(f"{seconds:.1f} s, {size:.0f} MB on disk, slowest episode {max(model.own_times[1:]) * 1000:.1f} ms\n")
    step = episodes // 10
    table(model, [(max(i, 1) + 1, i + step) for i in range(0, episodes, step)])


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tmux", action="store_true", help="a real shell instead of a double")
    options.add_argument("--smoke", action="store_true", help="few episodes: does it run at all?")
    arguments = options.parse_args()
    print(f"Python {sys.version.split()[0]}, {platform.machine()}, {'tmux' if arguments.tmux else 'a double'}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        measure(Path(folder), tmux=arguments.tmux, smoke=arguments.smoke)


if __name__ == "__main__":
    main()
