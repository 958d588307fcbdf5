"""The environment ``asyncssh``: a host over SSH, by way of the library asyncssh; one connection for all commands."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import anyio
import asyncssh
from pydantic import BaseModel, ConfigDict, Field
from terminus_core import Environment, EnvironmentFailedError, EnvironmentProcess, ExecResult, hookimpl

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path
    from types import TracebackType

TAIL_BYTES = 4096
GRACE_SEC = 1.0
"""How long output may go on after a command has ended: a child in the background may hold it open."""
KILL_SEC = 5.0


class Channel(asyncssh.SSHClientProcess[bytes]):
    """One command on one channel, which tells when the command has ended: its output may go on after that."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = anyio.Event()

    @property
    def status(self) -> int | None:
        """The command's status; ``None`` while it runs, or if a signal or a lost connection has ended it."""
        return None if self.exit_signal else self.exit_status

    def exit_status_received(self, status: int) -> None:
        """Called by asyncssh: the command has ended."""
        super().exit_status_received(status)
        self.ended.set()

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        """Called by asyncssh: a signal has ended it."""
        super().exit_signal_received(signal, core_dumped, msg, lang)
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncssh: the channel is closed."""
        super().connection_lost(exc)
        self.ended.set()


class AsyncsshProcess(EnvironmentProcess):
    """A channel as a byte stream."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._tail = b""

    @property
    def return_code(self) -> int | None:  # type: ignore[override]  # read-only here
        """The command's status."""
        return self._channel.status

    @property
    def stderr_tail(self) -> str:  # type: ignore[override]  # read-only here
        """The last kilobytes of stderr."""
        return self._tail.decode(errors="replace").strip()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Read stdout."""
        data = await self._channel.stdout.read(max_bytes)
        if not data:
            raise anyio.EndOfStream
        return data

    async def send(self, item: bytes) -> None:
        """Write to stdin, and wait while the other side does not read."""
        try:
            self._channel.stdin.write(item)
            await self._channel.stdin.drain()
        except OSError as error:
            raise anyio.BrokenResourceError from error

    async def send_eof(self) -> None:
        """Close stdin."""
        with suppress(OSError):
            self._channel.stdin.write_eof()

    async def aclose(self) -> None:
        """Close the channel; leaving the context manager ends the command, too."""
        self._channel.close()

    async def drain_stderr(self) -> None:
        """Read stderr to its end, keeping the tail."""
        while data := await self._channel.stderr.read(65536):
            self._tail = (self._tail + data)[-TAIL_BYTES:]


class AsyncsshEnvironment(Environment):
    """A host. Entering connects; commands start in the home folder."""

    name: ClassVar[str] = "asyncssh"

    class Config(BaseModel):
        """``[environment.asyncssh]``."""

        model_config = ConfigDict(extra="forbid")

        host: str = Field(description="name or address")
        port: int = Field(default=22, ge=1, le=65535, description="where its sshd listens")
        user: str | None = Field(default=None, description="who to log in as")
        key: str | None = Field(default=None, description="file of the private key")
        known_hosts: str | None = Field(default=None, description="file of the keys of known hosts")

    def __init__(self, config: Config) -> None:
        self._config = config
        self._connection: asyncssh.SSHClientConnection | None = None

    async def __aenter__(self) -> Self:
        config = self._config
        options: dict[str, Any] = {"port": config.port, "keepalive_interval": 15}
        given = {"username": config.user, "client_keys": config.key, "known_hosts": config.known_hosts}
        options |= {name: value for name, value in given.items() if value is not None}
        try:
            self._connection = await asyncssh.connect(config.host, **options)
        except (OSError, ValueError, asyncssh.Error) as error:
            raise EnvironmentFailedError(f"cannot connect to {config.host}:{config.port}: {_line(error)}") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.abort()
            with anyio.CancelScope(shield=True):
                await self._connection.wait_closed()

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_sec: float | None = None,
    ) -> ExecResult:
        """Run a command to its end; children that it left in the background are not waited for."""
        out, err = bytearray(), bytearray()
        with anyio.fail_after(timeout_sec):
            async with self._started(command, cwd, env, user) as channel:
                await AsyncsshProcess(channel).send_eof()
                async with anyio.create_task_group() as group:
                    group.start_soon(_read_all, channel.stdout, out)
                    group.start_soon(_read_all, channel.stderr, err)
                    await channel.ended.wait()
                    group.cancel_scope.deadline = anyio.current_time() + GRACE_SEC
        return ExecResult(out.decode(errors="replace"), err.decode(errors="replace"), channel.status)

    @asynccontextmanager
    async def open_process(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> AsyncGenerator[EnvironmentProcess, None]:
        """Start a command and talk to it."""
        # An exception of the body must not pass through the task group: it would come out as an ExceptionGroup.
        failure: BaseException | None = None
        async with self._started(command, cwd, env, user) as channel, anyio.create_task_group() as group:
            process = AsyncsshProcess(channel)
            group.start_soon(process.drain_stderr)
            try:
                yield process
            except BaseException as error:  # noqa: BLE001 - raised again below
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def upload_file(self, source: Path, target: str) -> None:
        """Copy a file, with its permissions, to the host."""
        async with await anyio.open_file(source, "rb"):  # what is wrong with the source is its own error
            pass
        try:
            async with self._connected.start_sftp_client() as sftp:
                await sftp.put(str(source), target, preserve=True)
        except (OSError, asyncssh.Error) as error:
            raise EnvironmentFailedError(f"cannot write {target!r} on the host: {_line(error)}") from error

    async def download_file(self, source: str, target: Path) -> None:
        """Copy a file, with its permissions, from the host."""
        try:
            async with self._connected.start_sftp_client() as sftp:
                await sftp.get(source, str(target), preserve=True)
        except asyncssh.SFTPNoSuchFile:
            raise FileNotFoundError(source) from None
        except asyncssh.Error as error:
            raise EnvironmentFailedError(f"cannot read {source!r} on the host: {_line(error)}") from error

    # -- details -------------------------------------------------------------------------------------------------------

    @property
    def _connected(self) -> asyncssh.SSHClientConnection:
        if self._connection is None:
            raise EnvironmentFailedError("the connection is not open")
        return self._connection

    @asynccontextmanager
    async def _started(
        self, command: str, cwd: str | None, env: Mapping[str, str] | None, user: str | None
    ) -> AsyncGenerator[Channel, None]:
        """A command that runs; it is ended, with its children, if it has not ended when the body is left.

        The remote shell says its process id first, on a line of its own: sshd makes it the leader of a process group.
        """
        if user is not None:
            raise EnvironmentFailedError(f"commands cannot run as user {user!r} here")
        words = [f"cd -- {shlex.quote(cwd)} || exit", "echo $$"] if cwd else ["echo $$"]
        words += [f"export {name}={shlex.quote(value)}" for name, value in (env or {}).items()]
        script = "; ".join([*words, f"exec /bin/sh -c {shlex.quote(command)}"])
        try:
            _, session = await self._connected.create_session(
                Channel, f"exec /bin/sh -c {shlex.quote(script)}", encoding=None
            )
        except (OSError, asyncssh.Error) as error:
            raise EnvironmentFailedError(f"cannot start a command on the host: {_line(error)}") from error
        channel, group = cast("Channel", session), ""
        try:
            group = (await channel.stdout.readline()).decode().strip()
            if not group:
                told = (await channel.stderr.read()).decode(errors="replace")
                raise EnvironmentFailedError(f"the command was not started: {' '.join(told.split()) or 'no answer'}")
            yield channel
        finally:
            with anyio.move_on_after(KILL_SEC, shield=True):
                if group and not channel.ended.is_set():
                    with suppress(OSError, asyncssh.Error):
                        await self._connected.run(f"kill -KILL -- -{group}", stdin=asyncssh.DEVNULL)
                channel.close()
                await channel.wait_closed()


async def _read_all(stream: asyncssh.SSHReader[bytes], into: bytearray) -> None:
    while data := await stream.read(65536):
        into += data


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@hookimpl
def terminus_register_environments() -> list[type[Environment]]:
    """Bring ``asyncssh``."""
    return [AsyncsshEnvironment]
