"""A command that writes 50 MB: what the model reads of it, what it costs, and whether another terminal suffers.

    python tests/benchmarks/flood.py [--smoke]

Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path

import anyio

from terminus_core import Environment, Session, SessionEvent, SessionOptions
from terminus_plugins.environments.local import LocalEnvironment
from terminus_plugins.sessions.tmux import TmuxBackend

LINE = "The quick brown fox jumps over the lazy dog, and over the next one"


class Echo:
    """Presses a key in a terminal and waits until it is shown, over and over."""

    def __init__(self, session: Session) -> None:
        self.times: list[float] = []
        self._session = session
        self._shown = anyio.Event()
        session.listen(self._take)

    def _take(self, event: SessionEvent) -> None:
        if event.kind == "output":
            self._shown.set()

    async def press(self, pause: float) -> None:
        """Milliseconds from the key to its echo, for ever."""
        while True:
            self._shown = anyio.Event()
            begin = time.perf_counter()
            await self._session.send_keys("x")
            await self._shown.wait()
            self.times.append((time.perf_counter() - begin) * 1000)
            await self._session.send_keys("BSpace")
            await anyio.sleep(pause)


def peak() -> float:
    """MB that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure(megabytes: int, folder: Path) -> list[str]:
    """Rows of the table."""
    environment: Environment = LocalEnvironment()
    options = [SessionOptions(f"run-{name}", folder, env={"HOME": str(folder)}) for name in ("flood", "other")]
    async with (
        TmuxBackend().open(environment, options[0]) as flood,
        TmuxBackend().open(environment, options[1]) as other,
    ):
        await flood.send_keys("seq 20000\n", block=True)
        await flood.get_incremental_output()
        before = peak()
        rows = []
        for name, command in (("nothing", "sleep 2"), ("flood", f"yes '{LINE}' | head -c {megabytes * 1_000_000}")):
            echo = Echo(other)
            begin = time.perf_counter()
            async with anyio.create_task_group() as group:
                group.start_soon(echo.press, 0.02)
                await flood.send_keys(f"{command}\n", block=True, max_timeout_sec=600)
                text = await flood.get_incremental_output()
                group.cancel_scope.cancel()
            seconds = time.perf_counter() - begin
            figures = (
                f"{seconds:.1f}",
                f"{len(text.splitlines()):,}",
                f"{text.rows_left_out:,}",
                f"{peak() - before:.0f}",
                f"{statistics.median(echo.times):.1f}",
                f"{max(echo.times):.0f}",
            )
            rows.append(f"| {' | '.join((name, *figures))} |")
    return rows


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--smoke", action="store_true", help="2 MB: does it run at all?")
    megabytes = 2 if options.parse_args().smoke else 50
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        rows = anyio.run(measure, megabytes, Path(folder))
    print(f"{megabytes} MB in one command\n")
    heads = ("one writes", "s", "rows seen", "rows left out", "peak RSS, MB more", "key to echo, ms", "longest, ms")
    print(f"| {' | '.join(heads)} |\n|---|{'--:|' * (len(heads) - 1)}")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
