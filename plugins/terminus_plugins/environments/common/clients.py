"""Programs of this machine that lead into a place: ``docker exec``, ``nsenter``."""

from __future__ import annotations

import os
import signal
from contextlib import asynccontextmanager, suppress
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING

import anyio

from terminus_core import EnvironmentFailedError
from terminus_plugins.environments.common.streamed import CHUNK, GRACE_SEC, helper_tasks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from anyio.abc import ByteReceiveStream, Process

    Explain = Callable[[int, bool], Awaitable[str | None]]


class ClientChannel:
    """What runs behind a client; see :class:`~terminus_plugins.environments.common.streamed.Channel`.

    Args:
        process: the client.
        explain: says why a status is not the command's own; ``None`` if it is. Is given the status, and whether
            anything came out of the place at all.
    """

    def __init__(self, process: Process, explain: Explain) -> None:
        self.ended = anyio.Event()
        self.return_code: int | None = None
        self.loss = ""
        self.is_lost = False
        self._process = process
        self._explain = explain
        self._has_spoken = False

    async def send(self, data: bytes) -> None:
        """Write to stdin."""
        assert self._process.stdin is not None  # noqa: S101 - opened with a pipe
        try:
            await self._process.stdin.send(data)
        except (OSError, anyio.ClosedResourceError) as error:
            raise anyio.BrokenResourceError from error

    async def send_eof(self) -> None:
        """Close stdin."""
        assert self._process.stdin is not None  # noqa: S101 - as above
        with suppress(OSError):
            await self._process.stdin.aclose()

    async def receive(self) -> bytes:
        """Read stdout."""
        assert self._process.stdout is not None  # noqa: S101 - as above
        try:
            data = await self._process.stdout.receive(CHUNK)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            with anyio.move_on_after(GRACE_SEC):
                await self.ended.wait()
            raise anyio.EndOfStream from None
        self._has_spoken = True
        return data

    async def watch(self) -> None:
        """Wait for the end and take down the status."""
        status = await self._process.wait()
        loss = await self._explain(status, self._has_spoken)
        if loss is None:
            self.return_code = status
        else:
            self.loss = loss
        self.ended.set()


@asynccontextmanager
async def open_client(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    on_stderr: Callable[[bytes], None],
    explain: Explain,
) -> AsyncIterator[ClientChannel]:
    """Run a client in a process group of its own, which is killed in the end.

    Raises:
        EnvironmentFailedError: the program is not there.
    """
    process = await start_client(words, env, stdin=PIPE)
    channel = ClientChannel(process, explain)
    try:
        async with helper_tasks() as group:
            assert process.stderr is not None  # noqa: S101 - as above
            group.start_soon(_read_all, process.stderr, on_stderr)
            group.start_soon(channel.watch)
            try:
                yield channel
            finally:
                await kill_client(process)
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def run_client(words: Sequence[str], *, env: Mapping[str, str], timeout_sec: float) -> tuple[int, str, str]:
    """Run a client to its end: status, stdout, stderr.

    Raises:
        EnvironmentFailedError: the program is not there, or has not ended in time.
    """
    process = await start_client(words, env, stdin=DEVNULL)
    assert process.stdout is not None  # noqa: S101 - as above
    assert process.stderr is not None  # noqa: S101 - as above
    stdout, stderr = bytearray(), bytearray()
    try:
        with anyio.fail_after(timeout_sec):
            async with anyio.create_task_group() as group:
                group.start_soon(_read_all, process.stdout, stdout.extend)
                group.start_soon(_read_all, process.stderr, stderr.extend)
            status = await process.wait()
    except TimeoutError as error:
        raise EnvironmentFailedError(f"{words[0]} {words[1]} has not ended in {timeout_sec:g} s") from error
    finally:
        await kill_client(process)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return status, stdout.decode(errors="replace").strip(), stderr.decode(errors="replace").strip()


async def start_client(
    words: Sequence[str], env: Mapping[str, str], *, stdin: int, pass_fds: Sequence[int] = ()
) -> Process:
    """Start a client in a process group of its own.

    Raises:
        EnvironmentFailedError: the program is not there.
    """
    try:
        return await anyio.open_process(
            words,
            stdin=stdin,
            stdout=PIPE,
            stderr=PIPE,
            env=env,
            start_new_session=True,
            cwd="/",
            pass_fds=pass_fds,
        )
    except OSError as error:
        raise EnvironmentFailedError(f"cannot start {words[0]}: {error.strerror}") from error


async def kill_client(process: Process) -> None:
    """End the client and what is still in its process group."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.move_on_after(GRACE_SEC, shield=True):
            await process.wait()


async def _read_all(stream: ByteReceiveStream, take: Callable[[bytes], None]) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async for chunk in stream:
            take(chunk)
