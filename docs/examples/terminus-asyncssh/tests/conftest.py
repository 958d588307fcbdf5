"""A real sshd on a port of its own, with keys of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["terminus_core.testing.pytest_plugin"]

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") or ""
START_SEC = 20.0


@dataclass
class Server:
    """Where it listens, and what a client needs."""

    port: int
    folder: Path

    def settings(self, **more: object) -> dict[str, object]:
        """The environment's settings."""
        key, known = self.folder / "user_key", self.folder / "known_hosts"
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "user": getuser(),
            "key": str(key),
            "known_hosts": str(known),
            **more,
        }


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server; it is gone in the end."""
    if not SSHD:
        pytest.skip("sshd is not installed: apt-get install openssh-server")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    kind, key, *_ = (folder / "host_key.pub").read_text().split()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    settings = {
        "ListenAddress": "127.0.0.1",
        "Port": port,
        "HostKey": folder / "host_key",
        "AuthorizedKeysFile": folder / "user_key.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "MaxSessions": 100,
        "Subsystem": "sftp internal-sftp",
    }
    (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + START_SEC
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
                connection.recv(1)
                break
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail("sshd does not start")
            time.sleep(0.02)
        yield Server(port, folder)
        process.terminate()
