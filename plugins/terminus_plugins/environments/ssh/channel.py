"""A channel of an SSH connection on the event loop."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from anyio import from_thread, to_thread

from terminus_plugins.environments.common.streamed import CHUNK, GRACE_SEC

if TYPE_CHECKING:
    from collections.abc import Callable

    from terminus_plugins.environments.ssh.connection import Bell, Connection

BUFFERED_CHUNKS = 16
"""Read ahead; more stays in SSH's own window, which slows the sender down."""


class SshChannel:
    """What runs in a channel; see :class:`~terminus_plugins.environments.common.streamed.Channel`.

    Args:
        channel: paramiko's.
        bell: rings when it has something to say.
        on_stderr: is given what comes on stderr, in a thread.
        limiter: of the threads.
        connection: what it belongs to.
    """

    def __init__(
        self,
        channel: Any,
        bell: Bell,
        on_stderr: Callable[[bytes], None],
        limiter: anyio.CapacityLimiter,
        connection: Connection,
    ) -> None:
        self.ended = anyio.Event()
        self._channel = channel
        self._bell = bell
        self._on_stderr = on_stderr
        self._limiter = limiter
        self._connection = connection
        self._sending = threading.Lock()
        self._outlet, self._output = anyio.create_memory_object_stream[bytes](BUFFERED_CHUNKS)

    @property
    def return_code(self) -> int | None:
        """Exit status; ``None`` while there is none, and for good if a signal or a lost connection ended it."""
        status: int = self._channel.exit_status
        return status if status >= 0 else None

    @property
    def loss(self) -> str:
        """Why there is no status."""
        return self._connection.loss if self.return_code is None else ""

    @property
    def is_lost(self) -> bool:
        """Whether the connection broke before a status came."""
        return self.return_code is None and not self._connection.is_alive

    async def send(self, data: bytes) -> None:
        """Write to stdin."""
        await self._in_thread(self._send, data)

    async def send_eof(self) -> None:
        """Close stdin, unless the process was faster."""
        with suppress(anyio.BrokenResourceError):
            await self._in_thread(self._channel.shutdown_write)

    async def receive(self) -> bytes:
        """Read stdout."""
        return await self._output.receive()

    async def pump(self) -> None:
        """Move output to the event loop until there is no more. Not to be cancelled: it ends with the channel."""
        with anyio.CancelScope(shield=True):
            with self._outlet:
                await to_thread.run_sync(self._pump, limiter=self._limiter)
            await to_thread.run_sync(self._channel.status_event.wait, limiter=self._limiter)
            self.ended.set()

    async def aclose(self) -> None:
        """Close the channel; the pump ends."""
        self._output.close()
        with suppress(anyio.BrokenResourceError):  # the connection is lost, and the channel with it
            await self._in_thread(self._channel.close)

    async def _in_thread(self, function: Callable[..., None], *args: Any) -> None:
        try:
            await to_thread.run_sync(function, *args, limiter=self._limiter, abandon_on_cancel=True)
        except (OSError, EOFError) as error:
            raise anyio.BrokenResourceError from error

    def _send(self, data: bytes) -> None:
        with self._sending:  # the thread of a send that was cancelled may still be at it
            self._channel.sendall(data)

    def _pump(self) -> None:
        channel = self._channel
        while True:
            self._bell.wait_for_ring()
            # Asked before the buffers are: what comes later rings again.
            over = channel.eof_received or channel.closed
            if channel.exit_status_ready():
                from_thread.run_sync(self.ended.set)
            try:
                while channel.recv_ready() or channel.recv_stderr_ready():
                    if channel.recv_stderr_ready():
                        self._on_stderr(channel.recv_stderr(CHUNK))
                    if channel.recv_ready():
                        self._hand_over(channel.recv(CHUNK))
            except anyio.BrokenResourceError:  # nobody wants it any more
                return
            if over:
                channel.status_event.wait(GRACE_SEC)
                return

    def _hand_over(self, data: bytes) -> None:
        try:
            from_thread.run_sync(self._outlet.send_nowait, data)
        except anyio.WouldBlock:
            from_thread.run(self._outlet.send, data)
