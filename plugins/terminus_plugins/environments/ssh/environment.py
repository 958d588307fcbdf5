"""Environment ``ssh``: as many connections as its channels need, made anew when they are lost."""

from __future__ import annotations

import math
import random
import shlex
import threading
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import anyio
from anyio import to_thread

from terminus_core import EnvironmentFailedError
from terminus_plugins.environments.common.starter import READ_LINE, STARTER, line
from terminus_plugins.environments.common.streamed import GRACE_SEC, StreamedEnvironment, helper_tasks
from terminus_plugins.environments.ssh.channel import SshChannel
from terminus_plugins.environments.ssh.config import SshConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from types import ModuleType, TracebackType

    from terminus_core import ExecResult
    from terminus_plugins.environments.common.streamed import Channel
    from terminus_plugins.environments.ssh.connection import Bell, Connection
    from terminus_plugins.environments.ssh.target import Target

Made = TypeVar("Made")

COMMAND = f"exec {shlex.join(STARTER)}"
# Root may be anybody; others only themselves, or whom sudo lets them be without a password.
AS_USER = f"""\
if [ "$(id -un)" = {{user}} ]; then {READ_LINE}
elif [ "$(id -u)" = 0 ]; then exec su -s /bin/sh -c '{READ_LINE}' -- {{user}}
else exec sudo -n -H -u {{user}} /bin/sh -c '{READ_LINE}'
fi
"""
FIRST_PAUSE_SEC = 0.05
LONGEST_PAUSE_SEC = 5.0
CLOSE_SEC = 2.0
MAX_ATTEMPTS = 6
"""To open a channel."""
SPARE_CHANNELS = 2
"""Kept free of commands, so that a terminal and the end of a command do not wait for them."""


class SshEnvironment(StreamedEnvironment):
    """A host that is reached over SSH. Commands start in the home folder of the user who logs in."""

    name: ClassVar[str] = "ssh"
    Config = SshConfig

    def __init__(self, config: SshConfig) -> None:
        self._config = config
        self._connections: list[Connection] = []

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            ConfigError: SSH's own settings cannot be understood.
            EnvironmentFailedError: the host does not answer, is not the one that is known, or lets nobody in.
        """
        self._connecting = anyio.Lock()
        self._threads = anyio.CapacityLimiter(math.inf)  # there are as many as channels need
        self._commands = anyio.CapacityLimiter(max(1, self._config.max_channels - SPARE_CHANNELS))
        self._lib, self._target = await to_thread.run_sync(_find, self._config)
        try:
            (await self._take_connection(first=True)).opened -= 1
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close every connection."""
        await self._close()

    def command_to_reach(self, command: str) -> str:
        """By ``ssh -t``, with the settings that are not SSH's own."""
        config = self._config
        options: list[str] = []
        if config.port is not None:
            options += ["-p", str(config.port)]
        if config.user is not None:
            options += ["-l", config.user]
        if config.key is not None:
            options += ["-i", str(Path(config.key).expanduser())]
        if config.known_hosts is not None:
            options += ["-o", f"UserKnownHostsFile={Path(config.known_hosts).expanduser()}"]
        if config.ssh_config != SshConfig.model_fields["ssh_config"].default:
            options += ["-F", str(Path(config.ssh_config).expanduser())]
        return shlex.join(["ssh", "-t", *options, config.host, command])

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_sec: float | None = None,
    ) -> ExecResult:
        """Run a shell command to its end; a few at the same time, the others wait."""
        with anyio.fail_after(timeout_sec):
            async with self._commands:
                return await super().exec(command, cwd=cwd, env=env, user=user)

    @asynccontextmanager
    async def _connect(self, user: str | None, on_stderr: Callable[[bytes], None]) -> AsyncIterator[Channel]:
        connection, raw, bell = await self._open_channel()
        channel = SshChannel(raw, bell, on_stderr, self._threads, connection)
        try:
            async with helper_tasks() as group:
                group.start_soon(channel.pump)
                try:
                    if user is not None:
                        await channel.send(line(AS_USER.format(user=shlex.quote(user))))
                    yield channel
                finally:
                    with anyio.move_on_after(GRACE_SEC, shield=True):
                        await channel.aclose()
        finally:
            connection.opened -= 1

    async def _open_channel(self) -> tuple[Connection, Any, Bell]:
        """A starter in a new channel. Refusals and losses are tried again, with growing pauses."""
        pause = FIRST_PAUSE_SEC
        for attempt in range(MAX_ATTEMPTS):
            connection = await self._take_connection()
            kept = False
            try:
                channel, bell = await self._make(
                    partial(connection.open_channel, COMMAND), undo=lambda made: made[0].close()
                )
                kept = True
            except self._lib.ChannelRefusedError:
                # A channel that was closed just now counts for the server a little longer.
                if attempt > 0:
                    connection.limit = max(1, connection.opened - 1)
                if attempt == MAX_ATTEMPTS - 1 or (attempt > 1 and connection.opened == 1):
                    raise
            except self._lib.FAULTS as error:
                if connection.is_alive or attempt == MAX_ATTEMPTS - 1:
                    raise EnvironmentFailedError(f"{self._target} opens no channel: {error}") from error
            else:
                return connection, channel, bell
            finally:
                connection.opened -= not kept
            await anyio.sleep(pause)
            pause *= 2
        raise AssertionError  # the last attempt returns or raises

    async def _take_connection(self, *, first: bool = False) -> Connection:
        """A connection with room for a channel, which counts as opened from here on."""
        async with self._connecting:
            for lost in [connection for connection in self._connections if not connection.is_alive]:
                self._connections.remove(lost)
                await to_thread.run_sync(lost.close, limiter=self._threads, abandon_on_cancel=True)
            for connection in self._connections:
                if connection.opened < connection.limit:
                    break
            else:
                connection = await self._new_connection(first=first)
                self._connections.append(connection)
            connection.opened += 1
            return connection

    async def _new_connection(self, *, first: bool) -> Connection:
        """Connect; again and again with growing pauses, unless a first attempt tells that it is no use."""
        patience = self._config.connect_timeout if first else self._config.reconnect_timeout
        deadline = anyio.current_time() + patience
        pause = FIRST_PAUSE_SEC
        while True:
            try:
                return await self._make(
                    partial(self._lib.Connection, self._target, self._config), undo=lambda made: made.close()
                )
            except self._lib.UnreachableError as error:
                if (first and not error.soon) or anyio.current_time() + pause > deadline:
                    raise
            await anyio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - so that many newcomers spread
            pause = min(2 * pause, LONGEST_PAUSE_SEC)

    async def _make(self, make: Callable[[], Made], undo: Callable[[Made], object]) -> Made:
        """Make something in a thread; if that is cancelled, it is undone as soon as it is there."""
        lock = threading.Lock()
        made: list[Made] = []
        wanted = True

        def run() -> Made:
            result = make()
            with lock:
                if wanted:
                    made.append(result)
                    return result
            undo(result)
            return result

        try:
            return await to_thread.run_sync(run, limiter=self._threads, abandon_on_cancel=True)
        except BaseException:
            with lock:
                wanted = False
            if made:
                with anyio.move_on_after(GRACE_SEC, shield=True):
                    await to_thread.run_sync(undo, made[0], limiter=self._threads, abandon_on_cancel=True)
            raise

    async def _close(self) -> None:
        connections, self._connections = self._connections, []
        with anyio.move_on_after(CLOSE_SEC, shield=True):
            async with anyio.create_task_group() as group:
                for connection in connections:
                    group.start_soon(partial(to_thread.run_sync, connection.close, abandon_on_cancel=True))


def _find(config: SshConfig) -> tuple[ModuleType, Target]:
    """Load what needs paramiko, and look up the host. For a thread: it takes a second the first time."""
    try:
        from terminus_plugins.environments.ssh import connection, target  # noqa: PLC0415 - heavy, and optional
    except ImportError as error:
        raise EnvironmentFailedError(
            f"environment ssh needs paramiko ({error}): pip install 'terminus-agent[ssh]'"
        ) from error
    return connection, target.find_target(config)
