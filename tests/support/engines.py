"""Real container engines with everything that they keep in a folder of the tests' own."""

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from tests.support.places import need, need_root

START_SEC = 30
PODMAN_CONF = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{folder}/tmp"
[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
"""
STORAGE_CONF = """\
[storage]
driver = "overlay"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""


class Engine:
    """An engine that runs; ``env`` makes its command talk to this one."""

    kind: str

    def __init__(self, command, folder):
        need_root("run a container engine")
        self._command = command
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.env = {}
        self.start()

    def start(self):
        raise NotImplementedError

    def run(self, *words, check=True, **options):
        """Run the engine's command."""
        env = {**os.environ, **self.env}
        return subprocess.run([self._command, *words], check=check, capture_output=True, text=True, env=env, **options)

    def add_image(self, name, root):
        """Make an image of a root file system."""
        with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
            self.run("import", "-", name, stdin=tar.stdout)
        assert tar.returncode == 0

    def containers(self):
        """Names of all containers, also of those that have ended."""
        return self.run("ps", "-a", "--format", "{{.Names}}").stdout.split()

    def close(self):
        for name in self.containers():
            self.run("rm", "-f", name, check=False)


class Podman(Engine):
    kind = "podman"

    def __init__(self, folder):
        need("runc", "runc")
        super().__init__(need("podman", "podman"), folder)

    def start(self):
        confs = {"CONTAINERS_CONF": PODMAN_CONF, "CONTAINERS_STORAGE_CONF": STORAGE_CONF}
        for variable, text in confs.items():
            path = self.folder / variable.lower()
            path.write_text(text.format(folder=self.folder))
            self.env[variable] = str(path)

    def close(self):
        super().close()
        # Its overlay mounts stay until it is told.
        self.run("system", "reset", "--force", check=False)


class Docker(Engine):
    kind = "docker"

    def __init__(self, folder):
        need("dockerd", "docker.io")
        super().__init__(need("docker", "docker.io"), folder)

    def start(self):
        self.env["DOCKER_HOST"] = f"unix://{self.folder}/d.sock"
        options = {
            "data-root": self.folder / "data",
            "exec-root": self.folder / "exec",
            "pidfile": self.folder / "pid",
            "host": self.env["DOCKER_HOST"],
            "bridge": "none",
            "iptables": "false",
            "ip6tables": "false",
        }
        words = [need("dockerd", "docker.io"), *(f"--{key}={value}" for key, value in options.items())]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SEC
        while self.run("version", check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"dockerd does not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)

    def stop(self, number=signal.SIGTERM):
        """End the daemon; with SIGKILL its containers live on for a while."""
        self.process.send_signal(number)
        self.process.wait()

    def close(self):
        super().close()
        self.stop()


@contextmanager
def running(kind, folder):
    """An engine (`docker` or `podman`) that is gone in the end."""
    engine = {"docker": Docker, "podman": Podman}[kind](folder)
    try:
        yield engine
    finally:
        engine.close()
