"""The least that the same calls can cost on a machine: a control-mode client and asyncio, nothing around them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Self


class BareClient:
    """One tmux with a shell; asks what a session asks in each episode, and only counts the answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: asyncio.subprocess.Process

    async def __aenter__(self) -> Self:
        self._folder.mkdir()
        words = ["tmux", "-u", "-S", str(self._folder / "socket"), "-f", "/dev/null", "-C"]
        words += ["new-session", "-x", "160", "-y", "40", "bash"]
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe)
        await self._ask("display-message -p ready", 2)  # the first answer is new-session's
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"kill-server\n")
        await self._process.communicate()

    async def episode(self, number: int) -> None:
        """Alive? Keys. What is on the screen?"""
        await self._ask("has-session", 1)
        keys = f"copy-mode -q ; send-keys -l 'echo {number}' ; send-keys Enter ; set-option -s @done {number}\n"
        await self._ask(keys + "capture-pane -p -S -8 ; display-message -p '#{history_size} #{cursor_y}'", 6)

    async def _ask(self, commands: str, answers: int) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(commands.encode() + b"\n")
        said = b""
        while said.count(b"\n%end ") < answers:
            chunk = await self._process.stdout.read(65536)
            if not chunk:
                raise SystemExit("the bare tmux client has ended")
            said += chunk


async def measure(clients: int, episodes: int, folder: Path) -> tuple[list[float], float, float]:
    """Run so many clients at once.

    Returns the milliseconds of each of the first client's episodes, seconds of wall time and of CPU time for all.
    """
    times: list[float] = []

    async def race(client: BareClient, times: list[float]) -> None:
        for number in range(episodes):
            begin = time.perf_counter()
            await client.episode(number)
            times.append((time.perf_counter() - begin) * 1000)

    bare = [BareClient(folder / f"bare-{number}") for number in range(clients)]
    for client in bare:
        await client.__aenter__()
    try:
        await asyncio.sleep(1)  # the shells begin
        begin, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(race(client, [] if index else times) for index, client in enumerate(bare)))
        return times, time.perf_counter() - begin, time.process_time() - cpu
    finally:
        for client in bare:
            await client.__aexit__()
