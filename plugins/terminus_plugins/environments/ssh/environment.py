"""Environment ``ssh``: as many connections as its channels need, made anew when they are lost."""

from __future__ import annotations

import math
import shlex
import threading
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import anyio
from anyio import to_thread

from terminus_core import EnvironmentFailedError
from terminus_plugins.environments.ssh.config import SshConfig
from terminus_plugins.environments.starter import READ_LINE, STARTER, line
from terminus_plugins.environments.streamed import GRACE_SEC, StreamedEnvironment, helper_tasks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from types import ModuleType, TracebackType

    from terminus_core import ExecResult
    from terminus_plugins.environments.ssh.connection import Connection
    from terminus_plugins.environments.ssh.target import Target
    from terminus_plugins.environments.streamed import Channel

Made = TypeVar("Made")

FIRST_PAUSE_SEC = 0.05
LONGEST_PAUSE_SEC = 5.0
MAX_REFUSALS = 6
"""Of channels, one after the other."""
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
        self._threads = anyio.CapacityLimiter(math.inf)  # as many as there are channels
        self._commands = anyio.CapacityLimiter(max(1, self._config.max_channels - SPARE_CHANNELS))
        await self._in_thread(_library)
        self._target: Target = await self._in_thread(self._find_target)
        try:
            await self._take_connection(self._config.connect_timeout, first=True)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        self._connections[0].room += 1
        return self
