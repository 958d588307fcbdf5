"""This machine as from far away: what is sent to a process and what it says are on their way for a while."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio

from terminus_core import EnvironmentProcess
from terminus_plugins.environments.local import LocalEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class DelayedEnvironment(LocalEnvironment):
    """Processes whose streams take so many seconds each way."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    @asynccontextmanager
    async def open_process(self, command, **options) -> AsyncIterator[DelayedProcess]:
        async with super().open_process(command, **options) as process, anyio.create_task_group() as group:
            delayed = DelayedProcess(process, self._seconds)
            group.start_soon(delayed.carry_in)
            group.start_soon(delayed.carry_out)
            yield delayed
            group.cancel_scope.cancel()
            delayed.close()


class DelayedProcess(EnvironmentProcess):
    def __init__(self, process: EnvironmentProcess, seconds: float) -> None:
        self._process = process
        self._seconds = seconds
        self._in, self._arriving = anyio.create_memory_object_stream[tuple[float, bytes]](math.inf)
        self._out, self._leaving = anyio.create_memory_object_stream[tuple[float, bytes]](math.inf)

    @property
    def return_code(self) -> int | None:
        return self._process.return_code

    @property
    def stderr_tail(self) -> str:
        return self._process.stderr_tail

    async def carry_in(self) -> None:
        """Take what the process says, with the time of its arrival."""
        with self._in, suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                data = await self._process.receive()
                self._in.send_nowait((anyio.current_time() + self._seconds, data))

    async def carry_out(self) -> None:
        """Hand on what has been sent, when it arrives."""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for when, data in self._leaving:
                await anyio.sleep_until(when)
                await self._process.send(data)

    def close(self) -> None:
        for stream in (self._in, self._arriving, self._out, self._leaving):
            stream.close()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        when, data = await self._arriving.receive()
        await anyio.sleep_until(when)
        return data

    async def send(self, data: bytes) -> None:
        self._out.send_nowait((anyio.current_time() + self._seconds, bytes(data)))

    async def send_eof(self) -> None:
        await self._process.send_eof()

    async def aclose(self) -> None:
        await self._process.aclose()
