"""Environment ``sandbox``: commands run on this machine, behind bubblewrap.

One sandbox stands for the whole run, and every command enters its namespaces: a server that one command starts is
there for the next. The system is read-only; what commands may write is one folder, and a private ``/tmp``. They see
neither the user's home nor the program's variables. Inside they are called root and have none of root's powers.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, ClassVar, Self

import anyio
from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from terminus_core import Environment, EnvironmentFailedError, hookimpl
from terminus_plugins.environments.common.clients import kill_client, open_client, start_client
from terminus_plugins.environments.common.starter import READ_LINE
from terminus_plugins.environments.common.streamed import StreamedEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import TracebackType

    from anyio.abc import Process

    from terminus_plugins.environments.common.streamed import Channel

TRIES = 5
"""How often a sandbox is built while the files of /etc change."""
NOTICE_SEC = 0.5
START_SEC = 10.0
HOME = "/tmp/home"  # noqa: S108 - the sandbox's own
KEPT_VARIABLES = ("LANG", "LC_ALL", "LC_CTYPE", "PATH", "TERM", "TZ")
PACKAGES = {"bwrap": "bubblewrap", "nsenter": "util-linux", "setpriv": "util-linux"}
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt")
"""Beside /usr and /etc; links on most systems."""
NAMESPACES = {"user": "user", "mount": "mnt", "pid": "pid", "net": "net", "ipc": "ipc", "uts": "uts"}
HOLD = "echo ready; exec sleep 2147483647"


class SandboxConfig(BaseModel):
    """The table ``[environment.sandbox]``."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    folder: str | None = Field(
        None, description="the folder that commands may write; unset: the one that the program was started in"
    )
    network: bool = Field(default=False, description="let commands use the network of this machine")
    read_only: list[str] = Field(default_factory=list, description="further paths that commands may read")
    env: dict[str, str] = Field(default_factory=dict, description="variables inside")


class SandboxEnvironment(StreamedEnvironment):
    """A part of this machine in which little can be broken. Commands start in its writable folder."""

    name: ClassVar[str] = "sandbox"
    Config = SandboxConfig

    def __init__(self, config: SandboxConfig | None = None) -> None:
        self._config = config or SandboxConfig()
        self._folder = Path(self._config.folder).expanduser().absolute() if self._config.folder else Path.cwd()
        self._holder: Process | None = None
        self._doors: dict[str, int] = {}

    async def __aenter__(self) -> Self:
        """Build the sandbox.

        Raises:
            EnvironmentFailedError: a program is missing, the kernel refuses, or the folder is not one to be written.
        """
        for program, package in PACKAGES.items():
            if shutil.which(program) is None:
                raise EnvironmentFailedError(f"environment sandbox needs {program}: apt-get install {package}")
        for tries_left in reversed(range(TRIES)):
            words = await to_thread.run_sync(lambda: list(_walls(self._folder, self._config)))
            try:
                await self._build(words)
            except BaseException as error:
                await self._tear_down()
                # Programs that add users make files in /etc and remove them: one that was listed may be gone.
                if not (isinstance(error, EnvironmentFailedError) and "/etc/" in str(error) and tries_left):
                    raise
            else:
                break
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End everything in it."""
        await self._tear_down()

    def command_to_reach(self, command: str) -> str:
        """Through the namespaces, as long as this process is there."""
        words = ["nsenter", *self._namespace_options(), "--preserve-credentials", "sh", "-c", command]
        return shlex.join(words)

    def _namespace_options(self) -> list[str]:
        # Entered by what was opened when it was built: a number of a process may be somebody else's by now.
        return [f"--{kind}=/proc/{os.getpid()}/fd/{door}" for kind, door in self._doors.items()]

    @asynccontextmanager
    async def _connect(self, user: str | None, on_stderr: Callable[[bytes], None]) -> AsyncIterator[Channel]:
        if user not in (None, "root"):
            raise EnvironmentFailedError(f"there is no user {user!r} in a sandbox: everything in it is one user's")
        starter = ["/bin/sh", "-c", f"cd {shlex.quote(str(self._folder))} && {READ_LINE}"]
        powerless = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        async with open_client(
            ["nsenter", *self._namespace_options(), "--preserve-credentials", *powerless, *starter],
            env=self._variables(),
            on_stderr=on_stderr,
            explain=self._explain,
        ) as channel:
            yield channel

    async def _explain(self, status: int, _has_spoken: bool) -> str | None:
        if status < 0 and self._holder is not None:  # killed: with the sandbox, whose end may not have been noticed yet
            with anyio.move_on_after(NOTICE_SEC):
                await self._holder.wait()
        if self._holder is None or self._holder.returncode is not None:
            return "the sandbox has ended"
        return None

    async def _build(self, words: list[str]) -> None:
        reading, writing = os.pipe()
        try:
            with open(reading, "rb", closefd=True) as info:  # noqa: ASYNC230, PTH123 - a pipe; read in a thread
                try:
                    self._holder = holder = await start_client(
                        ["bwrap", *words, "--info-fd", str(writing), "/bin/sh", "-c", HOLD],
                        {"PATH": os.environ.get("PATH", os.defpath)},
                        stdin=DEVNULL,
                        pass_fds=[writing],
                    )
                finally:
                    os.close(writing)
                assert holder.stdout is not None  # noqa: S101 - opened with pipes
                with anyio.fail_after(START_SEC):
                    await holder.stdout.receive()
                    told = json.loads(await to_thread.run_sync(info.read))
        except (TimeoutError, anyio.EndOfStream) as error:
            with anyio.CancelScope(shield=True):
                await kill_client(holder)
                assert holder.stderr is not None  # noqa: S101 - as above
                why = b"".join([chunk async for chunk in holder.stderr]).decode(errors="replace").strip()
            raise EnvironmentFailedError(f"cannot build a sandbox: {why or 'bwrap says nothing'}") from error
        for kind, file in NAMESPACES.items():
            self._doors[kind] = os.open(f"/proc/{told['child-pid']}/ns/{file}", os.O_RDONLY | os.O_CLOEXEC)

    async def _tear_down(self) -> None:
        holder, self._holder = self._holder, None
        if holder is not None:
            with anyio.CancelScope(shield=True):
                await kill_client(holder)
                await holder.aclose()
        while self._doors:
            os.close(self._doors.popitem()[1])

    def _variables(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        return {"PATH": os.defpath, **kept, "HOME": HOME, "USER": "root", "LOGNAME": "root", **self._config.env}


def _walls(folder: Path, config: SandboxConfig) -> Iterator[str]:
    """The arguments of bubblewrap."""
    if not folder.is_dir():
        raise EnvironmentFailedError(f"the sandbox's folder {str(folder)!r} is not there")
    system = any(folder.is_relative_to(f"/{name}") for name in ("usr", "etc", *SYSTEM))
    if system or Path.home().is_relative_to(folder):
        raise EnvironmentFailedError(
            f"{str(folder)!r} is no folder to be written by a sandbox: set folder in [environment.sandbox]"
        )
    yield from ("--unshare-all", "--unshare-user", "--uid", "0", "--gid", "0", "--cap-drop", "ALL")
    yield from ("--die-with-parent", "--clearenv", "--hostname", "sandbox")
    yield from _system()
    if config.network:
        resolver = str(Path("/etc/resolv.conf").resolve())
        yield from ("--share-net", "--ro-bind-try", resolver, resolver)
    yield from ("--tmpfs", "/tmp", "--dir", HOME, "--dir", "/var/tmp")  # noqa: S108 - the sandbox's own
    for name in config.read_only:
        path = str(Path(name).expanduser().absolute())
        yield from ("--ro-bind", path, path)
    yield from ("--bind", str(folder), str(folder), "--remount-ro", "/")


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc")
    for name in SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        else:
            yield from ("--ro-bind-try", str(path), str(path))
    if os.geteuid() == 0:  # what only root may read stays unread: by the numbers, this is root
        for secret in _secrets(Path("/etc")):
            yield from ("--tmpfs", str(secret)) if secret.is_dir() else ("--ro-bind", "/dev/null", str(secret))
    yield from ("--dev", "/dev", "--proc", "/proc")
    for name in ("sys", "sysrq-trigger", "irq", "bus"):  # and there, numbers are all that counts
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")


def _secrets(folder: Path) -> Iterator[Path]:
    """What is not for everybody's eyes."""
    for path in folder.iterdir():
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(mode):
            continue
        if not mode & (0o001 if path.is_dir() else 0o004):
            yield path
        elif path.is_dir():
            yield from _secrets(path)


@hookimpl
def terminus_register_environments() -> list[type[Environment]]:
    """The environment of this module."""
    return [SandboxEnvironment]
