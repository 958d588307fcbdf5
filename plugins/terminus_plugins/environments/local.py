"""Environment ``local``: commands run on this machine, in the folder that the program was started in."""

from __future__ import annotations

import logging
import os
import pwd
import shutil
import signal
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Any, ClassVar, Self

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint
from pydantic import BaseModel, ConfigDict, Field

from terminus_core import (
    Environment,
    EnvironmentFailedError,
    EnvironmentProcess,
    ExecResult,
    hookimpl,
    secret_names,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from anyio.abc import ByteReceiveStream, Process

logger = logging.getLogger(__name__)

STDERR_TAIL_BYTES = 4096
GRACE_SEC = 1.0
"""How long a process may take to end by itself, and pipes held by its background children may stay open."""
OURS = ("TERMINUS_", "LITELLM_")
"""How the names of the program's own variables begin."""
BIG_OUTPUT_BYTES = 500_000
"""From here on decoding leaves the event loop's thread."""


class LocalProcess(EnvironmentProcess):
    """A process of this machine as a byte stream.

    Args:
        process: it, with pipes for its output.
        stdin: where its stdin is written to: a file descriptor that does not block, closed with the stream.
    """

    def __init__(self, process: Process, stdin: int) -> None:
        self._process = process
        self._stdin: int | None = stdin
        self._stderr = b""

    @property
    def return_code(self) -> int | None:  # type: ignore[override]  # read-only here: the process decides
        """Exit status, negative for a signal, ``None`` while it runs."""
        return self._process.returncode

    @property
    def stderr_tail(self) -> str:  # type: ignore[override]  # read-only here
        """The last kilobytes of stderr."""
        return self._stderr.decode(errors="replace").strip()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Read stdout."""
        assert self._process.stdout is not None  # noqa: S101 - opened with a pipe
        return await self._process.stdout.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        """Write to stdin."""
        await checkpoint()
        left = memoryview(item)
        while left:
            if self._stdin is None:
                raise anyio.ClosedResourceError
            try:
                left = left[os.write(self._stdin, left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._stdin)
            except OSError as error:
                raise anyio.BrokenResourceError from error

    def send_nowait(self, item: bytes | bytearray) -> int:
        """Write to stdin what fits into the pipe."""
        if self._stdin is None:
            return 0
        try:
            return os.write(self._stdin, item)
        except OSError:  # full, or nobody reads any more
            return 0

    async def send_eof(self) -> None:
        """Close stdin."""
        if self._stdin is not None:
            anyio.notify_closing(self._stdin)
            os.close(self._stdin)
            self._stdin = None

    async def aclose(self) -> None:
        """End the process and whatever it started in its process group; at most :data:`GRACE_SEC` politely."""
        with anyio.CancelScope(shield=True):
            await self.send_eof()
            for number, limit in ((signal.SIGTERM, GRACE_SEC), (signal.SIGKILL, 10 * GRACE_SEC)):
                _signal_group(self._process, number)
                with anyio.move_on_after(limit):
                    await self._process.wait()
                    break

    async def drain_stderr(self) -> None:
        """Read stderr to its end, keeping the tail."""
        assert self._process.stderr is not None  # noqa: S101 - opened with a pipe
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in self._process.stderr:
                self._stderr = (self._stderr + chunk)[-STDERR_TAIL_BYTES:]


class LocalEnvironment(Environment):
    """This machine. Commands start in the program's own working folder.

    They get the program's own variables without those whose names are names of secrets, and without the program's own
    settings: what the model's shell shows is recorded, and sent to the model's provider.
    """

    name: ClassVar[str] = "local"

    class Config(BaseModel):
        """``[environment.local]``."""

        model_config = ConfigDict(extra="forbid")

        pass_env: list[str] = Field(
            default_factory=list, description="variables with names of secrets that commands get all the same"
        )

    def __init__(self, config: Config | None = None) -> None:
        self._folder = Path.cwd()
        kept = set((config or self.Config()).pass_env)
        self._left_out = {name for name in secret_names(os.environ) if name not in kept}
        self._variables = {name: value for name, value in os.environ.items() if name not in self._left_out}
        self._variables = {name: value for name, value in self._variables.items() if not name.startswith(OURS)}

    async def __aenter__(self) -> Self:
        """Say which variables are left out."""
        if self._left_out:
            names = ", ".join(sorted(self._left_out))
            logger.warning("not passed to the terminal: %s (environment.local.pass_env passes one)", names)
        return self

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_sec: float | None = None,
    ) -> ExecResult:
        """Run a shell command to its end; children that it left in the background are not waited for."""
        process = await self._start(command, cwd, env, user, stdin=DEVNULL)
        assert process.stdout is not None  # noqa: S101 - opened with pipes
        assert process.stderr is not None  # noqa: S101
        outputs = bytearray(), bytearray()
        try:
            with anyio.fail_after(timeout_sec):
                async with anyio.create_task_group() as group:
                    group.start_soon(_read_all, process.stdout, outputs[0])
                    group.start_soon(_read_all, process.stderr, outputs[1])
                    await process.wait()
                    group.cancel_scope.deadline = anyio.current_time() + GRACE_SEC
        except BaseException:
            _signal_group(process, signal.SIGKILL)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await process.aclose()
        return ExecResult(await _decode(outputs[0]), await _decode(outputs[1]), process.returncode)

    @asynccontextmanager
    async def open_process(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> AsyncIterator[EnvironmentProcess]:
        """Start a shell command and talk to it."""
        theirs, ours = os.pipe()
        os.set_blocking(ours, False)
        try:
            process = await self._start(command, cwd, env, user, stdin=theirs)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        stream = LocalProcess(process, ours)
        # An exception of the body must not pass through the task group: it would come out as an ExceptionGroup.
        error: BaseException | None = None
        async with anyio.create_task_group() as group:
            try:
                group.start_soon(stream.drain_stderr)
                yield stream
            except BaseException as raised:  # noqa: BLE001 - raised again below
                error = raised
            finally:
                await stream.aclose()
                group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await process.aclose()
        if error is not None:
            raise error

    async def upload_file(self, source: Path, target: str) -> None:
        """Copy a file with its permissions."""
        await to_thread.run_sync(_upload, source, self._folder / target)

    async def download_file(self, source: str, target: Path) -> None:
        """Copy a file with its permissions."""
        await to_thread.run_sync(shutil.copy, self._folder / source, target)

    async def _start(
        self, command: str, cwd: str | None, env: Mapping[str, str] | None, user: str | None, *, stdin: int
    ) -> Process:
        folder = self._folder / cwd if cwd else self._folder
        variables = {**self._variables}
        identity: dict[str, Any] = {}
        if user is not None:
            identity, own = await to_thread.run_sync(_identity, user)
            variables |= own
        start = partial(
            anyio.open_process,
            ["/bin/sh", "-c", command],
            stdin=stdin,
            stdout=PIPE,
            stderr=PIPE,
            cwd=folder,
            env=variables | dict(env or {}),
            start_new_session=True,
        )
        try:
            return await start(**identity)
        except (OSError, ValueError) as error:
            raise EnvironmentFailedError(f"cannot start a command in {str(folder)!r}: {error}") from error


def _identity(user: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What makes a process run as ``user``: arguments for the start, and variables."""
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise EnvironmentFailedError(f"there is no user {user!r} on this machine") from None
    own = {"HOME": entry.pw_dir, "USER": user, "LOGNAME": user, "SHELL": entry.pw_shell}
    if entry.pw_uid == os.geteuid():
        return {}, own
    if os.geteuid() != 0:
        raise EnvironmentFailedError(
            f"only root can run commands as user {user!r} here: start the program as {user!r} or as root"
        )
    groups = os.getgrouplist(user, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}, own


def _signal_group(process: Process, number: signal.Signals) -> None:
    """Signal the process and all it started, unless it has been reaped already."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


async def _read_all(stream: ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        into += chunk


async def _decode(data: bytearray) -> str:
    if len(data) < BIG_OUTPUT_BYTES:
        return data.decode(errors="replace")
    return await to_thread.run_sync(partial(data.decode, errors="replace"))


def _upload(source: Path, target: Path) -> None:
    with source.open("rb"):  # an unreadable source is an OSError, all that follows is the target's fault
        pass
    try:
        shutil.copy(source, target)
    except OSError as error:
        raise EnvironmentFailedError(f"cannot write {str(target)!r}: {error.strerror or error}") from error


@hookimpl
def terminus_register_environments() -> list[type[Environment]]:
    """The environment of this module."""
    return [LocalEnvironment]
