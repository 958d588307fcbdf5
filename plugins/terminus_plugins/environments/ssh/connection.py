"""One SSH connection: blocking code, for threads."""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import paramiko

from terminus_core import EnvironmentFailedError
from terminus_plugins.environments.ssh.keys import log_in
from terminus_plugins.environments.ssh.known_hosts import check_host_key, known_types

if TYPE_CHECKING:
    from terminus_plugins.environments.ssh.config import SshConfig
    from terminus_plugins.environments.ssh.target import Target

# What it logs as errors, with tracebacks, reaches the user as ours: it stays quiet unless somebody asked for more.
if (_logger := logging.getLogger("paramiko")).level == logging.NOTSET:
    _logger.setLevel(logging.CRITICAL)

FAULTS = (paramiko.SSHException, OSError, EOFError)
"""What paramiko raises when a connection breaks."""


class UnreachableError(EnvironmentFailedError):
    """No connection now; trying again may help.

    Args:
        text: see :class:`TerminusError`.
        soon: the host did answer, and closed: it has too many newcomers at this moment.
    """

    def __init__(self, text: str, *, soon: bool = False) -> None:
        super().__init__(text)
        self.soon = soon


class ChannelRefusedError(EnvironmentFailedError):
    """The server opens no further channel on this connection."""


class Wire:
    """The socket under a connection: it knows when it last heard something, and ends when that was too long ago."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.alive_timeout: float | None = None
        self.last_heard = time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def recv(self, size: int) -> bytes:
        """Called by paramiko at least ten times a second."""
        try:
            data: bytes = self._inner.recv(size)
        except TimeoutError:
            if self.is_silent:
                return b""
            raise
        self.last_heard = time.monotonic()
        return data

    @property
    def is_silent(self) -> bool:
        """Nothing was heard for longer than a living peer would take."""
        return self.alive_timeout is not None and time.monotonic() - self.last_heard > self.alive_timeout


class Connection:
    """A connection that stands.

    Attributes:
        opened: how many channels are open or being opened; counted by its user.
        limit: how many there may be, as far as is known.
    """

    def __init__(self, target: Target, config: SshConfig, through: Connection | None = None) -> None:
        """Connect, check the host key, log in.

        Args:
            target: the host.
            config: the settings.
            through: a connection to reach it by; ``None``: the way that the target says.

        Raises:
            UnreachableError: no connection; it may be had later.
            EnvironmentFailedError: host key or login was refused.
        """
        self.target = target
        self.opened = 0
        self.limit = config.max_channels
        self._config = config
        self._below: list[Connection] = []
        self._proxy: subprocess.Popen[bytes] | None = None
        self._closing = threading.Event()
        self._transport: Any = None
        try:
            self._wire = Wire(self._open_socket(through))
            self._transport = paramiko.Transport(self._wire)
            self._shake_hands()
        except EnvironmentFailedError:
            self.close()
            raise
        except FAULTS as error:
            soon = self._transport is not None
            self.close()
            raise UnreachableError(f"cannot connect to {target}: {_reason(error)}", soon=soon) from error
        except BaseException:
            self.close()
            raise
        self._wire.alive_timeout = config.alive_timeout
        threading.Thread(target=self._ask_for_life, name=f"ssh {target}", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """Whether the connection still stands, as far as is known."""
        return bool(self._transport.is_active()) and not self._closing.is_set()

    @property
    def loss(self) -> str:
        """Why a command has no status."""
        if self.is_alive:
            return f"a signal ended the command on {self.target}"
        if self._wire.is_silent:
            return f"{self.target} has not answered for {self._config.alive_timeout:g} s"
        return f"the connection to {self.target} was lost"

    def open_channel(self, command: str) -> tuple[Any, Bell]:
        """Start ``command`` in a channel of its own; the bell rings whenever the channel has something to say.

        Raises:
            ChannelRefusedError: the server has no channel left, or this user may run nothing.
            paramiko.SSHException, OSError, EOFError: the connection broke.
        """
        try:
            return self._open_channel(command)
        except (OSError, EOFError):  # known here before the transport's own thread notices
            self._closing.set()
            raise

    def _open_channel(self, command: str) -> tuple[Any, Bell]:
        try:
            channel = self._transport.open_session(timeout=self._config.connect_timeout)
        except paramiko.SSHException as error:
            # When several are refused at the same time, paramiko says why only once.
            if self.is_alive:
                why = error.text if isinstance(error, paramiko.ChannelException) else error
                raise ChannelRefusedError(f"{self.target} opens no further channel: {why}") from error
            raise
        bell = Bell(channel)
        try:
            channel.exec_command(command)
        except paramiko.SSHException as error:
            channel.close()
            if self.is_alive:
                raise ChannelRefusedError(f"{self.target} lets {self.target.user} run no commands") from error
            raise
        return channel, bell

    def close(self) -> None:
        """Close it with all its channels."""
        self._closing.set()
        with suppress(*FAULTS):
            if self._transport is not None:
                self._transport.close()
        if self._proxy is not None:
            self._proxy.terminate()
            self._proxy.wait()
        for connection in reversed(self._below):
            connection.close()

    def _open_socket(self, through: Connection | None) -> Any:
        target = self.target
        if through is None:
            for jump in target.jumps:
                through = Connection(jump, self._config, through)
                self._below.append(through)
        if through is not None:
            return through.open_tunnel(target)
        if target.proxy_command is not None:
            ours, theirs = socket.socketpair()
            with theirs:
                words = ["/bin/sh", "-c", f"exec {target.proxy_command}"]
                self._proxy = subprocess.Popen(  # noqa: S603 - the user's own command
                    words, stdin=theirs.fileno(), stdout=theirs.fileno(), start_new_session=True
                )
            return ours
        wire = socket.create_connection((target.host, target.port), self._config.connect_timeout)
        # Without it each small packet waits for the answer to the one before.
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return wire

    def open_tunnel(self, target: Target) -> Any:
        """A channel that leads on from this host to ``target``."""
        try:
            return self._transport.open_channel(
                "direct-tcpip", (target.host, target.port), ("127.0.0.1", 0), timeout=self._config.connect_timeout
            )
        except paramiko.ChannelException as error:
            raise UnreachableError(f"{self.target} cannot connect to {target}: {error.text}") from error

    def _shake_hands(self) -> None:
        transport, timeout = self._transport, self._config.connect_timeout
        transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = timeout
        options = transport.get_security_options()
        known = known_types(self.target)
        options.key_types = tuple(
            sorted(options.key_types, key=lambda kind: ("ssh-rsa" if kind.startswith("rsa-") else kind) not in known)
        )
        transport.start_client(timeout=timeout)
        check_host_key(self.target, transport.get_remote_server_key())
        log_in(transport, self.target)

    def _ask_for_life(self) -> None:
        """Make the peer say something in good time before its silence would end the connection."""
        while not self._closing.wait(self._config.alive_timeout / 4) and self._transport.is_active():
            with suppress(*FAULTS):
                self._transport.global_request("keepalive@openssh.com", wait=True)


class Bell(threading.Event):
    """Rings when a channel has output, an exit status, or an end."""

    def __init__(self, channel: Any) -> None:
        super().__init__()
        channel.status_event = _Status(self)
        channel.in_buffer.set_event(self)
        channel.in_stderr_buffer.set_event(self)

    def clear(self) -> None:
        """Nothing: one empty buffer says nothing about the other."""

    def wait_for_ring(self) -> None:
        """Wait until it has rung since the last wait."""
        self.wait()
        super().clear()


class _Status(threading.Event):
    def __init__(self, bell: Bell) -> None:
        super().__init__()
        self._bell = bell

    def set(self) -> None:
        super().set()
        self._bell.set()


def _reason(error: BaseException) -> str:
    if isinstance(error, EOFError):
        return "it closed the connection"
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
