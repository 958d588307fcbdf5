"""Side by side with Harbor's terminal session and its Terminus 2, in one run on one machine.

    PYTHON tests/benchmarks/against_harbor.py [--episodes 1000] [--calls 30] [--smoke]

PYTHON is one that has Harbor 0.26 and Terminus (``pip install 'terminus-agent[harbor]'``, Python 3.12 or newer); any
other passes the work on to the one that ``TERMINUS_HARBOR_PYTHON`` names, and says so where there is none. Prints a
Markdown table. Each side has a process of its own and an empty home folder; both run commands on this machine, with the
same keystrokes and a model that answers at once.

*Session calls* are alive? + keys + read, with 0.1 s between keys and read, which do not count. *Own time* is the wall
time from request to request; the commands wait for nothing.
"""

# ruff: noqa: PLC0415 - Harbor may not be there

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from terminus_core import Agent, LLMRequest, PluginManager, SessionOptions, Settings, Usage
from terminus_core import LLMResponse as OurResponse
from terminus_core.testing import FakeLLM

WAIT_SEC = 0.1
WARM_UP = 3
HEAD = "| | Terminus 2, ms | Terminus, ms | ratio |\n|---|--:|--:|--:|"
COMMANDS = {"session calls, one row": "echo one", "session calls, 1,000 rows": "seq 1000"}


def reply(number: int) -> str:
    """What the model says at a request, counted from 0."""
    command = {"keystrokes": f"echo {number}\n", "duration": 0}
    return json.dumps({"analysis": "The last command worked.", "plan": "Go on.", "commands": [command]})


class Watch:
    """Milliseconds from request to request."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.requests = 0
        self._last: float | None = None

    def request(self) -> str:
        """Note a request, and give its answer."""
        now = time.perf_counter()
        if self._last is not None:
            self.times.append((now - self._last) * 1000)
        self._last = now
        self.requests += 1
        return reply(self.requests)

    def medians(self) -> dict[str, float]:
        """Of the first ten episodes and the last fifty; the very last has no request behind it."""
        end = len(self.times) + 1
        return {
            "own time, episodes 1–10": statistics.median(self.times[:10]),
            f"own time, episodes {end - 49}–{end}": statistics.median(self.times[-49:]),
        }


# -- the other side ----------------------------------------------------------------------------------------------------


def harbor_place(folder: Path) -> Any:
    """An environment of Harbor's that runs commands on this machine."""
    from harbor.environments.base import BaseEnvironment, ExecResult
    from harbor.models.task.config import EnvironmentConfig
    from harbor.models.trial.paths import TrialPaths

    class Here(BaseEnvironment):  # type: ignore[misc]  # Harbor is not installed where types are checked
        @staticmethod
        def type() -> str:
            return "here"

        def _validate_definition(self) -> None:
            pass

        async def start(self, force_build: bool) -> None:
            pass

        async def stop(self, delete: bool) -> None:
            await self.exec("tmux kill-server")

        async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            process = await asyncio.create_subprocess_exec("bash", "-c", command, cwd=folder, env=variables, **pipes)
            stdout, stderr = await process.communicate()
            return ExecResult(stdout=stdout.decode(), stderr=stderr.decode(), return_code=process.returncode)

        async def upload_file(self, source_path, target_path) -> None:
            shutil.copy(source_path, target_path)

        upload_dir = download_file = download_dir = upload_file

    variables = {**os.environ, "TMUX_TMPDIR": str(folder)}
    paths = TrialPaths(folder / "trial")
    paths.mkdir()
    return Here(folder, "benchmark", "benchmark", paths, EnvironmentConfig())


async def harbor_session(place: Any, folder: Path) -> Any:
    """Harbor's own session, started."""
    from harbor.agents.terminus_2.tmux_session import TmuxSession

    session = TmuxSession("benchmark", place, folder / "pane", None, None)
    await session.start()
    await session.get_incremental_output()
    return session


async def harbor_run(place: Any, folder: Path, watch: Watch, episodes: int) -> None:
    """Harbor's whole agent, with a model of ours."""
    from harbor.agents.terminus_2.terminus_2 import Terminus2
    from harbor.llms.base import BaseLLM, LLMResponse
    from harbor.models.agent.context import AgentContext
    from harbor.models.metric import UsageInfo

    class Scripted(BaseLLM):  # type: ignore[misc]  # Harbor is not installed where types are checked
        async def call(self, prompt: str, **_: Any) -> Any:
            usage = UsageInfo(prompt_tokens=1000, completion_tokens=50, cache_tokens=0, cost_usd=0.0)
            return LLMResponse(content=watch.request(), usage=usage)

        def get_model_context_limit(self) -> int:
            return 10**9

        def get_model_output_limit(self) -> int | None:
            return None

    class Peer(Terminus2):  # type: ignore[misc]  # as above
        def _init_llm(self, **_: Any) -> Any:
            return Scripted()

    options = {"max_turns": episodes, "suppress_max_turns_warning": True, "record_terminal_session": False}
    agent = Peer(folder, "openai/scripted", **options)
    agent._session = await harbor_session(place, folder)
    await agent.run("Count.", place, AgentContext())


async def theirs(folder: Path, episodes: int, calls: int) -> dict[str, float]:
    """Milliseconds of Harbor's side."""
    place = harbor_place(folder)
    found = {}
    try:
        for name, command in COMMANDS.items():
            found[name] = await session_calls(await harbor_session(place, folder), command, calls)
            await place.stop(delete=True)
        watch = Watch()
        await harbor_run(place, folder, watch, episodes)
    finally:
        await place.stop(delete=True)
    return found | watch.medians()


# -- this side ---------------------------------------------------------------------------------------------------------


async def ours(folder: Path, episodes: int, calls: int) -> dict[str, float]:
    """Milliseconds of this side."""
    settings = Settings()
    plugins = PluginManager()
    place, backend = plugins.build("environment", "local", settings), plugins.build("session", "tmux", settings)
    found = {}
    for name, command in COMMANDS.items():
        async with place, backend.open(place, SessionOptions("benchmark", folder)) as session:
            await session.get_incremental_output()
            found[name] = await session_calls(session, command, calls)
    watch = Watch()

    class Scripted(FakeLLM):
        async def call(self, request: LLMRequest) -> OurResponse:
            return OurResponse(content=watch.request(), usage=Usage(1000, 50, 0))

    await Agent(llm=Scripted(), max_episodes=episodes, logs_dir=folder / "run").run("Count.")
    return found | watch.medians()


# -- both --------------------------------------------------------------------------------------------------------------


async def session_calls(session: Any, command: str, calls: int) -> float:
    """Median milliseconds of alive? + keys + read; between the two the command has time to end."""
    times = []
    for _ in range(WARM_UP + calls):
        begin = time.perf_counter()
        if not await session.is_session_alive():
            raise SystemExit("a session has ended")
        await session.send_keys(f"{command}\n")
        sent = time.perf_counter()
        await asyncio.sleep(WAIT_SEC)
        read = time.perf_counter()
        await session.get_incremental_output()
        times.append((time.perf_counter() - read + sent - begin) * 1000)
    return statistics.median(times[WARM_UP:])


def measured(side: str, episodes: int, calls: int) -> dict[str, float]:
    """Milliseconds of one side, in a process and with a home folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "home").mkdir()
        own = {"HOME": f"{folder}/home", "HARBOR_TELEMETRY": "0", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        words = [sys.executable, __file__, "--side", side, folder, "--episodes", str(episodes), "--calls", str(calls)]
        done = subprocess.run(words, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{side}: {done.stderr}")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--episodes", type=int, default=1000)
    options.add_argument("--calls", type=int, default=30)
    options.add_argument("--smoke", action="store_true", help="few calls and episodes: does it run at all?")
    options.add_argument("--side", nargs=2, metavar=("SIDE", "FOLDER"), help="one side, for the script's own use")
    arguments = options.parse_args()
    if find_spec("harbor") is None:
        python = os.environ.get("TERMINUS_HARBOR_PYTHON")
        if python:
            raise SystemExit(subprocess.run([python, *sys.argv], check=False).returncode)
        why = "this Python has no Harbor, and TERMINUS_HARBOR_PYTHON is not set"
        print(f"{HEAD}\n| not available: {why} | – | – | – |")
        return
    episodes, calls = (60, 3) if arguments.smoke else (arguments.episodes, arguments.calls)
    if arguments.side:
        logging.disable(logging.CRITICAL)
        side = ours if arguments.side[0] == "ours" else theirs
        print(json.dumps(asyncio.run(side(Path(arguments.side[1]), episodes, calls))))
        return
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(
        f"Python {sys.version.split()[0]}, {tmux}, {platform.machine()}, {episodes} episodes, {calls} calls\n\n{HEAD}"
    )
    peer, own = (measured(side, episodes, calls) for side in ("theirs", "ours"))
    for name, milliseconds in own.items():
        print(f"| {name} | {peer[name]:.2f} | {milliseconds:.2f} | {peer[name] / milliseconds:.1f} |")


if __name__ == "__main__":
    main()
