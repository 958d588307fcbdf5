"""Environments that are reached through byte streams: what they share beyond the way a stream is opened."""

from __future__ import annotations

import shlex
from abc import abstractmethod
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import to_thread

from terminus_core import Environment, EnvironmentFailedError, EnvironmentProcess, ExecResult, TerminusError
from terminus_plugins.environments.common.starter import Start, end_script, find_mark, start

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from anyio.abc import TaskGroup

CHUNK = 65536
TAIL_BYTES = 4096
NOISE_BYTES = 1_000_000
"""What a login profile may write before the command's own output begins."""
GRACE_SEC = 1.0
"""How long pipes held by background children may stay open, and a process may take to end by itself."""
SLOW_LINE_ROUNDS = 30
"""How often more may arrive in that time after the end of a command, before a child in the background is at it."""
END_SEC = 5.0
"""How long ending a process may take before it is given up."""
BIG_OUTPUT_BYTES = 500_000
"""From here on decoding leaves the event loop's thread."""
NOT_THERE = 44


class Channel(Protocol):
    """A :data:`~terminus_plugins.environments.common.starter.STARTER` running in a place."""

    ended: anyio.Event
    """Set when the process has ended or the connection is lost."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection broke: nobody knows how far the process has got. The place may answer again."""
        ...

    @property
    def return_code(self) -> int | None:
        """``None`` while it runs, or if no status was received."""

    @property
    def loss(self) -> str:
        """Why there is no status of its own, in one line, once it has ended; ``""`` if there is one."""
        ...

    async def send(self, data: bytes) -> None:
        """Write to stdin; :class:`anyio.BrokenResourceError` when nobody reads."""

    async def send_eof(self) -> None:
        """Close stdin; nothing if nobody reads any more."""

    async def receive(self) -> bytes:
        """Read stdout; :class:`anyio.EndOfStream` at its end, by when ``return_code`` stands if it ever will."""
        ...


class _LostError(EnvironmentFailedError):
    """The connection broke before the command's own output began."""


class StreamedEnvironment(Environment):
    """A place that can run a starter: everything else follows."""

    @abstractmethod
    def _connect(self, user: str | None, on_stderr: Callable[[bytes], None]) -> AbstractAsyncContextManager[Channel]:
        """Start a starter as ``user``. ``on_stderr`` may be called in another thread; leaving does not wait.

        Raises:
            EnvironmentFailedError: the place does not answer.
        """

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_sec: float | None = None,
    ) -> ExecResult:
        """Run a shell command to its end; children that it left in the background are not waited for."""
        stdout, stderr = bytearray(), bytearray()
        with anyio.fail_after(timeout_sec):
            try:
                async with self._started(start(command, cwd=cwd, env=env), user, stderr, politely=False) as process:
                    await process.send_eof()
                    await _read_until_ended(process, stdout, stderr)
            except _LostError as error:  # no other than a loss a moment later
                return ExecResult(stderr=str(error), return_code=None)
        return ExecResult(await _decode(stdout), await _decode(stderr), process.return_code)

    @asynccontextmanager
    async def open_process(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> AsyncIterator[EnvironmentProcess]:
        """Start a shell command and talk to it."""
        async with self._started(start(command, cwd=cwd, env=env), user, Tail(), politely=True) as process:
            yield process

    async def upload_file(self, source: Path, target: str) -> None:
        """Copy a file with its permissions."""
        async with await anyio.open_file(source, "rb") as file:
            mode = (await anyio.Path(source).stat()).st_mode & 0o7777
            command = (
                f't={shlex.quote(target)}; [ -d "$t" ] && t="${{t%/}}/"{shlex.quote(source.name)}\n'
                f'umask 077; cat >"$t" && chmod {mode:o} "$t"'
            )
            async with self.open_process(command) as process:
                with suppress(anyio.BrokenResourceError):  # the status tells why
                    while data := await file.read(CHUNK):
                        await process.send(data)
                    await process.send_eof()
                await _read_all(process, bytearray())
                if process.return_code != 0:
                    raise EnvironmentFailedError(f"cannot write {target!r}: {_last_words(process)}")

    async def download_file(self, source: str, target: Path) -> None:
        """Copy a file with its permissions."""
        command = (
            f's={shlex.quote(source)}; [ -e "$s" ] || exit {NOT_THERE}\n'
            '[ -r "$s" ] && stat -c %a -- "$s" 2>/dev/null || echo; cat -- "$s"'
        )
        async with self.open_process(command) as process:
            head = b""
            with suppress(anyio.EndOfStream):
                while b"\n" not in head:
                    head += await process.receive()
            if process.return_code == NOT_THERE:
                raise FileNotFoundError(f"there is no file {source!r} in environment {self.name!r}")
            mode, _, data = head.partition(b"\n")
            if await anyio.Path(target).is_dir():
                target /= Path(source).name
            async with await anyio.open_file(target, "wb") as file:
                await file.write(data)
                async for chunk in process:
                    await file.write(chunk)
            if process.return_code != 0:
                raise EnvironmentFailedError(f"cannot read {source!r}: {_last_words(process)}")
        if mode:
            await anyio.Path(target).chmod(int(mode, 8) & 0o777)

    @asynccontextmanager
    async def _started(
        self, told: Start, user: str | None, stderr: bytearray, *, politely: bool
    ) -> AsyncIterator[StreamedProcess]:
        """Run a command; what still runs at the end, or when the body fails, is ended."""
        async with self._connect(user, stderr.extend) as channel:
            number, output = await _begin(channel, told, stderr)
            process = StreamedProcess(channel, output, stderr)
            try:
                yield process
            finally:
                process.is_open = False
                if not channel.ended.is_set():
                    with anyio.move_on_after(END_SEC, shield=True):
                        await self._end(channel, number, user, politely=politely)

    async def _end(self, channel: Channel, number: int, user: str | None, *, politely: bool) -> None:
        """End what was started, first by the end of its input, then by signals."""
        if politely:
            await channel.send_eof()
            with anyio.move_on_after(GRACE_SEC / 4):
                await channel.ended.wait()
                return
        told = start(end_script(number, politely=politely))
        with suppress(TerminusError):  # a place that is gone has ended it
            async with self._connect(user, lambda _: None) as other:
                await _begin(other, told, b"")
                await other.ended.wait()


class StreamedProcess(EnvironmentProcess):
    """A command in the place as a byte stream."""

    def __init__(self, channel: Channel, output: bytes, stderr: bytearray) -> None:
        self.channel = channel
        self.is_open = True
        self._output = output
        self._stderr = stderr

    @property
    def return_code(self) -> int | None:  # type: ignore[override]  # read-only here: the process decides
        """Exit status, ``None`` while it runs or if none was received."""
        return self.channel.return_code

    @property
    def stderr_tail(self) -> str:  # type: ignore[override]  # read-only here
        """The last kilobytes of stderr; if no status was received at the end, the reason is its last line."""
        words = bytes(self._stderr[-TAIL_BYTES:]).decode(errors="replace").strip()
        if self.channel.ended.is_set() and self.channel.return_code is None:
            words = f"{words}\n{self.channel.loss}".strip()
        return words

    async def receive(self, max_bytes: int = CHUNK) -> bytes:
        """Read stdout."""
        self._check_open()
        if not self._output:
            self._output = await self.channel.receive()
        chunk, self._output = self._output[:max_bytes], self._output[max_bytes:]
        return chunk

    async def send(self, item: bytes) -> None:
        """Write to stdin."""
        self._check_open()
        await self.channel.send(item)

    async def send_eof(self) -> None:
        """Close stdin."""
        self._check_open()
        await self.channel.send_eof()

    async def aclose(self) -> None:
        """Close the stream; leaving the context manager ends the process."""
        if self.is_open:
            self.is_open = False
            await self.channel.send_eof()

    def _check_open(self) -> None:
        if not self.is_open:
            raise anyio.ClosedResourceError


class Tail(bytearray):
    """The end of what was added to it."""

    def extend(self, data: bytes) -> None:  # type: ignore[override]  # only ever given bytes
        """Keep the last :data:`TAIL_BYTES`."""
        super().extend(data)
        del self[:-TAIL_BYTES]


@asynccontextmanager
async def helper_tasks() -> AsyncIterator[TaskGroup]:
    """A task group for helpers, cancelled at the end; an error of the body comes out as it is, not as a group."""
    failure: BaseException | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group
        except BaseException as error:  # noqa: BLE001 - raised again below
            failure = error
        finally:
            group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _begin(channel: Channel, told: Start, stderr: bytes | bytearray) -> tuple[int, bytes]:
    """Send a starter its lines and wait for the mark: its number, and what the command has written since."""
    output = b""
    with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
        await channel.send(told.lines)
        while len(output) < NOISE_BYTES:
            output += await channel.receive()
            if (found := find_mark(output, told.mark)) is not None:
                return found
    with anyio.move_on_after(GRACE_SEC):
        await channel.ended.wait()
    if channel.is_lost:
        raise _LostError(channel.loss)
    words = bytes(stderr or output)[-TAIL_BYTES:].decode(errors="replace").strip()
    raise EnvironmentFailedError(channel.loss or words.rpartition("\n")[2])


def _last_words(process: EnvironmentProcess) -> str:
    return process.stderr_tail.rpartition("\n")[2] or f"status {process.return_code}"


async def _read_until_ended(process: StreamedProcess, stdout: bytearray, stderr: bytearray) -> None:
    """Read what a command says until it has ended, and what is on its way then, but no longer."""
    async with anyio.create_task_group() as group:
        finished = anyio.Event()

        async def read() -> None:
            await _read_all(process, stdout)
            finished.set()

        group.start_soon(read)
        await process.channel.ended.wait()
        for _ in range(SLOW_LINE_ROUNDS):
            seen = len(stdout) + len(stderr)
            with anyio.move_on_after(GRACE_SEC):
                await finished.wait()
            if finished.is_set() or seen == len(stdout) + len(stderr):
                break
        group.cancel_scope.cancel()


async def _read_all(process: EnvironmentProcess, into: bytearray) -> None:
    async for chunk in process:
        into += chunk


async def _decode(data: bytearray) -> str:
    if len(data) < BIG_OUTPUT_BYTES:
        return data.decode(errors="replace")
    return await to_thread.run_sync(partial(data.decode, errors="replace"))
