"""A place of Harbor's without a container engine: bubblewrap, this machine's programs, folders of the trial's own.

Harbor loads it by name: ``harbor run --env bubblewrap:Bubblewrap`` with this folder on ``PYTHONPATH``. Processes of one
command see the files of the others, and go on after it, as in a container.
"""

import asyncio
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from harbor.environments.base import BaseEnvironment, ExecResult

SYSTEM = ("usr", "bin", "sbin", "lib", "lib64", "etc")
OWN = ("app", "logs", "tests", "solution", "tmp", "root", "skills")


class Bubblewrap(BaseEnvironment):
    """Everything below one folder of the trial."""

    @staticmethod
    def type() -> str:
        return "bubblewrap"

    def _validate_definition(self) -> None:
        pass

    @property
    def root(self) -> Path:
        return self.trial_paths.trial_dir.resolve() / "place"

    async def start(self, force_build: bool) -> None:
        for name in OWN:
            (self.root / name).mkdir(parents=True, exist_ok=True)
        await self.ensure_dirs(["/logs/agent", "/logs/verifier", "/logs/artifacts"])

    async def stop(self, delete: bool) -> None:
        for number in self.processes():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def processes(self) -> dict[int, str]:
        """What runs with our folder in its view of the file system: number and command line."""
        found = {}
        for mounts in Path("/proc").glob("[0-9]*/mountinfo"):
            with suppress(OSError):
                if str(self.root) in mounts.read_text():
                    words = (mounts.parent / "cmdline").read_text().split("\0")
                    found[int(mounts.parent.name)] = " ".join(words).strip()
        return found

    def _inside(self, folder: str, env: dict[str, str]) -> list[str]:
        words = ["bwrap", "--clearenv", "--proc", "/proc", "--dev", "/dev", "--chdir", folder]
        for path in (Path("/", name) for name in SYSTEM):
            if path.is_symlink():
                words += ["--symlink", str(path.readlink()), str(path)]
            elif path.is_dir():
                words += ["--ro-bind", str(path), str(path)]
        for name in OWN:
            words += ["--bind", str(self.root / name), f"/{name}"]
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "TERM": "xterm"}
        for name, value in {**variables, **env}.items():
            words += ["--setenv", name, value]
        return words

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None) -> ExecResult:
        words = self._inside(cwd or "/app", self._merge_env(env) or {})
        with TemporaryFile() as stdout, TemporaryFile() as stderr:  # what goes on in the background may keep them open
            process = await asyncio.create_subprocess_exec(
                *words,
                *("bash", "-c", command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            try:
                await asyncio.wait_for(process.wait(), timeout_sec)
            except TimeoutError:
                raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from None
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
            return ExecResult(stdout=_all(stdout), stderr=_all(stderr), return_code=process.returncode)

    def _host(self, path) -> Path:
        return self.root / str(path).lstrip("/")

    async def upload_file(self, source_path, target_path) -> None:
        shutil.copy(source_path, self._host(target_path))

    async def upload_dir(self, source_dir, target_dir) -> None:
        shutil.copytree(source_dir, self._host(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path, target_path) -> None:
        shutil.copy(self._host(source_path), target_path)

    async def download_dir(self, source_dir, target_dir) -> None:
        shutil.copytree(self._host(source_dir), target_dir, dirs_exist_ok=True)


def _all(file) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
