"""A real SSH server on a port of its own, with keys of its own, and ways to make it fail."""

import getpass
import os
import pwd
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.places import children, need, need_root, program_of

START_SEC = 10


class Sshd:
    """Listens from :meth:`start` to :meth:`stop`. Its connections are processes of their own and outlive it."""

    def __init__(self, folder, user=None, **options):
        self._sshd = need("sshd", "openssh-server")
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.user = user or getpass.getuser()
        self.port = _free_port()
        self.key = self.folder / "user_key"
        self.known_hosts = self.folder / "known_hosts"
        self.log = self.folder / "sshd.log"
        self._process = None
        make_key(self.key)
        (self.folder / "authorized_keys").write_text(Path(f"{self.key}.pub").read_text())
        self.new_host_key()
        self.trust()
        settings = {
            "ListenAddress": "127.0.0.1",
            "Port": self.port,
            "HostKey": self.folder / "host_key",
            "AuthorizedKeysFile": self.folder / "authorized_keys",
            "PidFile": self.folder / "pid",
            "StrictModes": "no",
            "UsePAM": "no",
            "UseDNS": "no",
            "PermitRootLogin": "yes",
            "PasswordAuthentication": "no",
            "LogLevel": "VERBOSE",
            **options,
        }
        (self.folder / "sshd_config").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)

    def new_host_key(self):
        for path in self.folder.glob("host_key*"):
            path.unlink()
        make_key(self.folder / "host_key")

    @property
    def home(self):
        return Path(pwd.getpwnam(self.user).pw_dir)

    def trust(self, port=None):
        """Make the key that it has now the known one, of another port if it is reached by that."""
        kind, blob, *_ = (self.folder / "host_key.pub").read_text().split()
        self.known_hosts.write_text(f"[127.0.0.1]:{port or self.port} {kind} {blob}\n")

    def settings(self, **more):
        """For ``[environment.ssh]``."""
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "user": self.user,
            "key": str(self.key),
            "known_hosts": str(self.known_hosts),
            "ssh_config": "/dev/null",
            **more,
        }

    def start(self):
        with self.log.open("ab") as log:
            words = [self._sshd, "-D", "-e", "-f", self.folder / "sshd_config"]
            self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SEC
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)) as probe:
                probe.recv(1)
                return self
            time.sleep(0.02)
        raise AssertionError(f"sshd does not start: {self.log.read_text()}")

    def stop(self):
        """Listen no more; connections live on."""
        if self._process is not None:
            self._serving = self.serving()
            self._process.terminate()
            self._process.wait()
            self._process = None

    def serving(self):
        """The server's processes for its connections; not what users started."""
        if self._process is None:
            return [pid for pid in self._serving if program_of(pid).startswith("sshd")]
        return [pid for pid in children(self._process.pid) if program_of(pid).startswith("sshd")]

    def signal(self, number):
        """Send a signal to every process that serves a connection."""
        for pid in self.serving():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def cut(self):
        """Break every connection, as when the server's process is killed."""
        self.signal(signal.SIGKILL)

    def close(self):
        self.signal(signal.SIGCONT)
        self.cut()
        self.stop()


@contextmanager
def running(folder, **options):
    """A server that is gone in the end."""
    server = Sshd(folder, **options)
    server.start()
    try:
        yield server
    finally:
        server.close()


@contextmanager
def user_with_empty_home(folder, *, as_root=False):
    """A user whose shell starts at once. As root: a second name for it."""
    need_root("make a user")
    name, home = f"terminus-{'root' if as_root else 'user'}-{os.getpid()}", Path(folder) / "home"
    for parent in home.parents:  # pytest's folders are for their owner alone
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    identity = ["-o", "-u", "0", "-g", "0"] if as_root else ["-U"]
    words = ["useradd", "-p", "*", "-M", "-s", "/bin/bash", "-d", home, *identity, name]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    try:
        home.mkdir(mode=0o700)
        subprocess.run(["chown", f"{name}:", home], check=True)
        yield name
    finally:
        if not as_root:
            subprocess.run(["pkill", "-KILL", "-u", name], check=False)
        # Forced, because root's processes never end.
        subprocess.run(["userdel", "-f", name], check=True, stderr=subprocess.DEVNULL)


def make_key(path, passphrase=""):
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", path]
    subprocess.run([need(words[0], "openssh-client"), *words[1:]], check=True, stdin=subprocess.DEVNULL)


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
