"""The terminal in other places, against one ``exec`` for each call; distance; many sessions on one host.

    python tests/benchmarks/places.py [--smoke]

As root, with sshd, and podman or dockerd; what is missing is left out and said so. Prints Markdown tables. The SSH host
is this machine, with a user whose home is empty. The container is made of this machine's own programs.

*Session calls* are alive? + keys + read. *One exec per call* sends the same three as tmux commands, each in an exec of
its own, over the same connection. *Own time* is the wall time from request to request; the commands wait for nothing.
The delay is added by a proxy in front of the SSH server.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream

from terminus_core import Agent, Environment, PluginManager, SessionOptions, Settings

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.own_time import Stopwatch
from tests.support import engines, images, sshd

WARM_UP = 3
DELAY_SEC = 0.05
MANY = 50
PLUGINS = PluginManager()
SETTINGS = Settings()


def place(name: str, values: dict[str, Any]) -> Environment:
    """An environment."""
    made: Environment = PLUGINS.build("environment", name, Settings.check({"environment": {name: values}}))
    return made


# -- session calls -----------------------------------------------------------------------------------------------------


async def session_calls(environment: Environment, folder: Path, calls: int) -> float:
    """Median milliseconds through the session."""
    times = []
    backend = PLUGINS.build("session", "tmux", SETTINGS)
    async with backend.open(environment, SessionOptions("benchmark", folder)) as session:
        for number in range(WARM_UP + calls):
            begin = time.perf_counter()
            await session.is_session_alive()
            await session.send_keys(f"echo {number}\n")
            await session.get_incremental_output()
            times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times[WARM_UP:])


async def round_trip(environment: Environment, folder: Path) -> float:
    """Median milliseconds of one question to the terminal."""
    times = []
    async with (
        environment,
        PLUGINS.build("session", "tmux", SETTINGS).open(environment, SessionOptions("benchmark", folder)) as session,
    ):
        for _ in range(WARM_UP + 20):
            begin = time.perf_counter()
            await session.is_session_alive()
            times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times[WARM_UP:])


async def exec_calls(environment: Environment, calls: int) -> float:
    """Median milliseconds with an exec for each call."""
    tmux = "tmux -L benchmark -f /dev/null"
    times = []
    await environment.exec(f"{tmux} new-session -d -x 160 -y 40 -s one sh")
    for number in range(WARM_UP + calls):
        begin = time.perf_counter()
        for command in ("has-session -t one", f"send-keys -t one 'echo {number}' Enter", "capture-pane -p -t one"):
            result = await environment.exec(f"{tmux} {command}")
            if result.return_code != 0:
                raise SystemExit(f"tmux {command}: {result.stderr}")
        times.append((time.perf_counter() - begin) * 1000)
    await environment.exec(f"{tmux} kill-server")
    return statistics.median(times[WARM_UP:])


# -- own time ----------------------------------------------------------------------------------------------------------


async def own_time(environment: Environment, folder: Path, episodes: int) -> float:
    """Median milliseconds of an episode of one echo."""
    replies = [
        {"content": json.dumps({"analysis": "", "plan": "", "commands": [{"keystrokes": "echo 1\n", "duration": 0}]})}
        for _ in range(episodes)
    ]
    watch = Stopwatch()
    agent = Agent(
        environment=environment,
        llm="scripted",
        observers=["atif", watch],
        max_episodes=episodes,
        settings={"llm": {"scripted": {"replies": replies}}},
        logs_dir=folder,
    )
    result = await agent.run("Count.")
    if result.status != "max_episodes":
        raise SystemExit(f"the run ended as {result.status}: {result.reason}")
    return statistics.median(watch.times[WARM_UP:]) * 1000


@asynccontextmanager
async def delayed(port: int, seconds: float) -> AsyncIterator[int]:
    """A port that leads to ``port`` and adds half of ``seconds`` each way."""

    async def pump(source: SocketStream, target: SocketStream) -> None:
        outlet, inlet = anyio.create_memory_object_stream[tuple[float, bytes]](10_000)

        async def deliver() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for due, data in inlet:
                    await anyio.sleep(max(0.0, due - time.monotonic()))
                    await target.send(data)

        async with anyio.create_task_group() as group, outlet:
            group.start_soon(deliver)
            with suppress(anyio.BrokenResourceError):  # one side has hung up with data under way
                async for data in source:
                    outlet.send_nowait((time.monotonic() + seconds / 2, data))

    async def serve(client: SocketStream) -> None:
        async with client, await anyio.connect_tcp("127.0.0.1", port) as host, anyio.create_task_group() as group:
            group.start_soon(pump, host, client)
            await pump(client, host)
            group.cancel_scope.cancel()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, serve)
        yield listener.extra(SocketAttribute.local_port)
        group.cancel_scope.cancel()


# -- the tables --------------------------------------------------------------------------------------------------------


async def ssh_rows(server: sshd.Sshd, folder: Path, calls: int, many: int) -> AsyncIterator[str]:
    """What is measured over SSH."""
    async with place("ssh", server.settings()) as environment:
        ours, theirs = await session_calls(environment, folder, calls), await exec_calls(environment, calls)
        yield row("ssh: session calls, one exec per call", theirs, "ms", ours, "ms", theirs / ours)
    near = await own_time(place("local", {}), folder / "local", calls)
    far = await own_time(place("ssh", server.settings()), folder / "ssh", calls)
    yield row("ssh: own time per episode, local", near, "ms", far, "ms", far / near)
    async with delayed(server.port, DELAY_SEC) as port:
        server.trust(port)
        slow = await own_time(place("ssh", server.settings(port=port)), folder / "delayed", max(10, calls // 5))
        long = await round_trip(place("ssh", server.settings(port=port)), folder)
    server.trust()
    short = await round_trip(place("ssh", server.settings()), folder)
    rounds = (slow - far) / (long - short)
    yield row(f"ssh: own time, {DELAY_SEC * 1000:g} ms away; in round trips more", far, "ms", slow, "ms", rounds)
    async with place("ssh", server.settings()) as environment, AsyncExitStack() as stack:
        begin = time.perf_counter()
        sessions = []
        for number in range(many):
            options = SessionOptions(f"session-{number}", folder)
            backend = PLUGINS.build("session", "tmux", SETTINGS)
            sessions.append(await stack.enter_async_context(backend.open(environment, options)))
        opened = time.perf_counter() - begin
        begin = time.perf_counter()
        for number, session in enumerate(sessions):
            await session.send_keys(f"echo {number}\n")
            await session.get_incremental_output()
        each = (time.perf_counter() - begin) / many * 1000
        yield f"| ssh: {many} sessions on one host: opened; keys and read | {opened:.1f} s | {each:.2f} ms | |"


async def container_rows(folder: Path, calls: int) -> AsyncIterator[str]:
    """What is measured in a container."""
    async with place("container", {"image": "localhost/base:1"}) as environment:
        ours, theirs = await session_calls(environment, folder, calls), await exec_calls(environment, calls)
        yield row("container: session calls, one exec per call", theirs, "ms", ours, "ms", theirs / ours)


def row(name: str, one: float, unit: str, other: float, other_unit: str, ratio: float) -> str:  # noqa: PLR0917
    """A row of the table."""
    return f"| {name} | {one:.2f} {unit} | {other:.2f} {other_unit} | {ratio:.1f} |"


async def listed(rows: AsyncIterator[str]) -> list[str]:
    """All of them."""
    return [each async for each in rows]


@contextmanager
def an_engine(folder: Path) -> Iterator[None]:
    """An engine with an image."""
    root = images.make_root(folder / "root")
    with engines.running("podman", folder / "engine") as engine:
        engine.add_image("localhost/base:1", root)
        os.environ.update(engine.env)
        yield


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--smoke", action="store_true", help="few calls, few sessions: does it run at all?")
    calls, many = (5, 3) if options.parse_args().smoke else (100, MANY)
    rows = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        os.environ["HOME"] = name
        folder.chmod(0o755)
        user = stack.enter_context(sshd.user_with_empty_home(folder, as_root=True))
        server = stack.enter_context(sshd.running(folder / "sshd", user=user))
        rows += anyio.run(listed, ssh_rows(server, folder, calls, many))
        stack.enter_context(an_engine(folder))
        rows += anyio.run(listed, container_rows(folder, calls))
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, {calls} calls\n")
    print("| | one | other | ratio |\n|---|--:|--:|--:|", *rows, sep="\n")


if __name__ == "__main__":
    main()
