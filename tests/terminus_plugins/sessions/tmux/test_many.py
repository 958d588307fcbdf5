"""Many sessions in one process, and one that floods."""

from __future__ import annotations

import statistics
import time

import anyio
import pytest

pytestmark = pytest.mark.anyio


async def test_many_sessions_at_once(terminal, say):
    async def one(number) -> None:
        async with terminal.open() as session:
            await session.get_incremental_output()
            for turn in range(5):
                assert await session.is_session_alive()
                command = f"echo {number}-{turn}"
                assert await say(session, command) == f"$ {command}\n{number}-{turn}\n$"

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(one, number)


async def test_flooding_session_does_not_slow_another(terminal, say):
    """100,000 rows in one command: the observation is bounded, and another session answers meanwhile."""
    async with terminal.open() as flooding, terminal.open() as other:
        await flooding.get_incremental_output()
        times = []
        async with anyio.create_task_group() as group:

            async def probe() -> None:
                while True:
                    started = time.monotonic()
                    assert await other.is_session_alive()
                    times.append(time.monotonic() - started)
                    await anyio.sleep(0.02)

            group.start_soon(probe)
            text = await say(flooding, "yes 'The quick brown fox jumps over the lazy dog' | head -n 100000")
            group.cancel_scope.cancel()
        rows = text.split("\n")
        assert rows[-2:] == ["The quick brown fox jumps over the lazy dog", "$"]
        assert len(rows) <= 5100
        assert text.rows_left_out + len(rows) == 1 + 100_000 + 1
        assert len(times) > 5
        assert statistics.median(times) < 0.5
