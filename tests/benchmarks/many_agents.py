"""Many agents in one process: whether they wait for each other, and what an episode costs.

    python tests/benchmarks/many_agents.py [--smoke]

Prints a Markdown table. Each agent has a terminal of its own, a scripted model and the trajectory on disk. The clock
runs from the moment when all of them have asked for their first answer until the last of them has its last. The last
row is as many bare control-mode clients, with the same calls and nothing else: how fast the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

import anyio

from terminus_core import LLM, Agent, LLMRequest, LLMResponse, Message, Usage

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks import _bare_client

STARTING_AT_ONCE = 10


class Race:
    """Lets all agents go at the same time.

    Attributes:
        seconds: wall time from the start to the last answer.
        cpu: seconds of this process's CPU time in it.
    """

    def __init__(self, agents: int) -> None:
        self.started = anyio.Event()
        self.seconds = self.cpu = 0.0
        self._waiting = agents
        self._begin = (0.0, 0.0)

    async def arrive(self, slots: anyio.Semaphore) -> None:
        """Wait for the others."""
        slots.release()
        self._waiting -= 1
        if not self._waiting:
            self._begin = (time.perf_counter(), time.process_time())
            self.started.set()
        await self.started.wait()

    def finish(self) -> None:
        """An agent has its last answer; the last agent's counts."""
        self.seconds, self.cpu = time.perf_counter() - self._begin[0], time.process_time() - self._begin[1]


class RacingModel(LLM):
    """Asks for an echo, again and again."""

    name: ClassVar[str] = "racing"
    model_name = "racing"
    context_limit: int | None = None
    output_limit: int | None = None

    def __init__(self, race: Race, slots: anyio.Semaphore, episodes: int, duration: float) -> None:
        self._race = race
        self._slots = slots
        self._episodes = episodes
        self._duration = duration
        self._number = 0

    async def call(self, request: LLMRequest) -> LLMResponse:
        """The next reply."""
        request.on_attempt(1)
        if not self._number:
            await self._race.arrive(self._slots)
        self._number += 1
        reply: dict[str, object] = {"analysis": "The last command worked.", "plan": f"Echo number {self._number}."}
        if self._number <= self._episodes:
            reply["commands"] = [{"keystrokes": f"echo {self._number}\n", "duration": self._duration}]
        else:
            self._race.finish()
            reply |= {"commands": [], "task_complete": True}
        usage = Usage(prompt_tokens=1000, completion_tokens=50)
        return LLMResponse(content=json.dumps(reply), model_name=self.model_name, usage=usage)

    def count_tokens(self, messages: list[Message]) -> int:
        """A guess."""
        return len(messages)


async def measure(agents: int, episodes: int, duration: float, folder: Path) -> Race:
    """Run so many agents at once."""
    race, slots = Race(agents), anyio.Semaphore(STARTING_AT_ONCE)

    async def one(number: int) -> None:
        agent = Agent(
            llm=RacingModel(race, slots, episodes, duration),
            settings={"session": {"tmux": {"wait": "fixed"}}},
            logs_dir=folder / f"run-{number}",
        )
        result = await agent.run("Count.")
        if result.status != "completed":
            raise SystemExit(f"a run ended as {result.status}: {result.reason}")

    async with anyio.create_task_group() as group:
        for number in range(agents):
            await slots.acquire()
            group.start_soon(one, number)
    return race


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--smoke", action="store_true", help="few agents, few episodes: does it run at all?")
    few, many, episodes = (3, 6, 5) if options.parse_args().smoke else (20, 200, 50)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536) if hard > 0 else 65_536, hard))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        alone = 0.0
        for agents, duration in ((1, 0.1), (few, 0.1), (1, 0.0), (many, 0.0)):
            race = anyio.run(measure, agents, episodes, duration, Path(folder) / f"{agents}-{duration}")
            if duration and agents == 1:
                alone = race.seconds
            count = agents * episodes
            rows.append(
                f"| {agents} | {duration:g} | {race.seconds / episodes * 1000:.1f} | "
                f"{f'{race.seconds / alone:.2f}' if duration else ''} | {count / race.seconds:,.0f} | "
                f"{race.cpu / count * 1000:.2f} |"
            )
        _, seconds, cpu = anyio.run(_bare_client.measure, many, episodes, Path(folder))
        count = many * episodes
        rows.append(
            f"| {many} bare clients | 0 | {seconds / episodes * 1000:.1f} |  | {count / seconds:,.0f} | "
            f"{cpu / count * 1000:.2f} |"
        )
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, {episodes} episodes each\n")
    print("| agents | wait, s | ms per round of episodes | ratio to one | episodes/s | Python CPU per episode, ms |")
    print("|--:|--:|--:|--:|--:|--:|")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
