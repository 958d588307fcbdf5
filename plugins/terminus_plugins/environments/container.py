"""Environment ``container``: commands run in a container of docker or podman."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import anyio
from pydantic import BaseModel, ConfigDict, Field, model_validator

from terminus_core import Environment, EnvironmentFailedError, hookimpl
from terminus_plugins.environments.common.clients import open_client, run_client
from terminus_plugins.environments.common.starter import STARTER
from terminus_plugins.environments.common.streamed import StreamedEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from terminus_plugins.environments.common.streamed import Channel

ENGINES = ("docker", "podman")
ADVICE = ("Usage:", "Run '", "See '")
"""How the lines of a client begin that say what one might do, not what is wrong."""
ANSWER_SEC = 30.0
"""How long an engine may take for what is not the start of a container."""
INSTALL_SEC = 600.0
KILLED, LOST = 128 + 9, 255
"""What a client says when the command was killed; when the engine has gone."""
# The first process of the container: does nothing, and reaps what others leave.
HOLD = "trap 'exit 0' TERM INT; while :; do sleep 86400 & wait $!; done"
INSTALL_TMUX = """\
command -v tmux >/dev/null && exit
if command -v apt-get; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update && apt-get install -y --no-install-recommends tmux
elif command -v apk; then apk add --no-cache tmux
elif command -v dnf; then dnf install -y tmux
elif command -v microdnf; then microdnf install -y tmux
elif command -v yum; then yum install -y tmux
elif command -v zypper; then zypper --non-interactive install tmux
elif command -v pacman; then pacman -Sy --noconfirm tmux
else echo 'the image has no package manager' >&2; exit 1
fi >/dev/null && command -v tmux >/dev/null
"""


class ContainerConfig(BaseModel):
    """The table ``[environment.container]``: either an image to start, or a running container."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    image: str | None = Field(None, description="image to start a container from; it is removed at the end")
    container: str | None = Field(None, description="name or id of a running container to work in; it is left running")
    engine: str | None = Field(None, description="docker or podman, or a path; unset: the first that answers")
    user: str | None = Field(None, description="user inside; unset: the image's own")
    workdir: str | None = Field(None, description="working folder inside; unset: the image's own")
    env: dict[str, str] = Field(default_factory=dict, description="variables inside")
    network: str | None = Field(None, description="network of a new container, such as none or host")
    memory: str | None = Field(None, description="memory limit of a new container, such as 2g")
    cpus: float | None = Field(None, gt=0, description="CPU limit of a new container")
    mounts: list[str] = Field(default_factory=list, description="mounts of a new container, SOURCE:TARGET[:ro] each")
    read_only: bool = Field(default=False, description="a new container whose root cannot be written, except /tmp")
    install_tmux: bool = Field(
        default=False, description="install tmux by the image's package manager if it is missing"
    )
    start_timeout: float = Field(
        600.0, gt=0, description="seconds until the container runs, a pull of its image included"
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.image is None) == (self.container is None):
            raise ValueError("set either image or container")
        return self


class ContainerEnvironment(StreamedEnvironment):
    """A container, started from an image or found running."""

    name: ClassVar[str] = "container"
    Config = ContainerConfig

    def __init__(self, config: ContainerConfig) -> None:
        self._config = config
        self._engine = ""
        self._id = ""

    async def __aenter__(self) -> Self:
        """Find the engine; start the container, or see that it runs.

        Raises:
            EnvironmentFailedError: there is no engine, image or container, or no shell in it.
        """
        config = self._config
        self._engine = await self._find_engine()
        if config.container is not None:
            self._id = config.container
            if (why := await self._fault()) is not None:
                raise EnvironmentFailedError(why)
        try:
            if config.image is not None:
                await self._start(config.image)
            if config.install_tmux:
                await self._install_tmux()
        except BaseException:
            await self._remove()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the container that was started."""
        await self._remove()

    def command_to_reach(self, command: str) -> str:
        """By the engine's ``exec``."""
        user = ["-u", self._config.user] if self._config.user else []
        return shlex.join([Path(self._engine).name, "exec", "-it", *user, self._id, "sh", "-c", command])

    @asynccontextmanager
    async def _connect(self, user: str | None, on_stderr: Callable[[bytes], None]) -> AsyncIterator[Channel]:
        config = self._config
        words = [self._engine, "exec", "-i"]
        if who := user or config.user:
            words += ["-u", who]
        if config.workdir is not None:
            words += ["-w", config.workdir]
        for name in config.env:  # values go by the client's own variables: a list of processes shows no secret
            words += ["-e", name]
        async with open_client(
            [*words, self._id, *STARTER], env={**os.environ, **config.env}, on_stderr=on_stderr, explain=self._explain
        ) as channel:
            yield channel

    async def _explain(self, status: int, has_spoken: bool) -> str | None:
        if has_spoken and status not in (KILLED, LOST):
            return None
        return await self._fault()

    async def _fault(self) -> str | None:
        """Why the container can run nothing; ``None`` if it can."""
        form = "{{.State.Running}} {{.State.OOMKilled}} {{.State.ExitCode}}"
        status, told, words = await self._ask("container", "inspect", "-f", form, self._id)
        if status != 0:
            if "no such container" in words.lower():
                return f"there is no container {self._id!r}: it was removed, or never was"
            return f"{self._engine} does not answer: {_last_line(words)}"
        running, out_of_memory, ended = told.split()
        if running == "true":
            return None
        why = " (out of memory)" if out_of_memory == "true" else ""
        return f"container {self._id!r} does not run: it has ended with status {ended}{why}"

    async def _find_engine(self) -> str:
        faults = []
        for engine in [self._config.engine] if self._config.engine else ENGINES:
            if shutil.which(engine) is None:
                faults.append(f"{engine} is not installed")
                continue
            # `version` of podman needs no server, that of docker fails without one.
            status, _, words = await run_client([engine, "version"], env=os.environ, timeout_sec=ANSWER_SEC)
            if status == 0:
                return engine
            faults.append(f"{engine} does not answer: {_last_line(words)}")
        raise EnvironmentFailedError(
            f"there is no container engine: {'; '.join(faults)}. Install docker or podman, start it, or set engine"
        )

    async def _start(self, image: str) -> None:
        config = self._config
        name = f"terminus-{secrets.token_hex(6)}"
        words = [self._engine, "run", "-d", "--name", name, "--label", "terminus", "--entrypoint", "/bin/sh"]
        for option, value in (
            ("--user", config.user),
            ("--network", config.network),
            ("--memory", config.memory),
            ("--cpus", config.cpus),
        ):
            if value is not None:
                words += [option, str(value)]
        for mount in config.mounts:
            words += ["-v", mount]
        if config.read_only:
            words += ["--read-only", "--tmpfs", "/tmp"]  # noqa: S108 - the container's own
        self._id = name  # from here on there may be something to remove
        status, _, told = await run_client(
            [*words, image, "-c", HOLD], env=os.environ, timeout_sec=config.start_timeout
        )
        if status != 0:
            raise EnvironmentFailedError(f"cannot start a container from {image!r}: {_last_line(told)}")

    async def _install_tmux(self) -> None:
        result = await self.exec(INSTALL_TMUX, user="0", timeout_sec=INSTALL_SEC)
        if result.return_code != 0:
            why = _last_line(result.stderr) or f"status {result.return_code}"
            raise EnvironmentFailedError(f"cannot install tmux in {self._id!r}: {why}")

    async def _remove(self) -> None:
        if self._config.image is not None and self._id:
            with anyio.CancelScope(shield=True):
                await self._ask("rm", "-f", "-v", self._id)

    async def _ask(self, *words: str) -> tuple[int, str, str]:
        try:
            return await run_client([self._engine, *words], env=os.environ, timeout_sec=ANSWER_SEC)
        except EnvironmentFailedError as error:
            return LOST, "", str(error)


def _last_line(words: str) -> str:
    """The line of a client's words that says what is wrong, without advice."""
    lines = [line.strip() for line in words.splitlines() if line.strip() and not line.startswith(ADVICE)]
    return lines[-1] if lines else ""


@hookimpl
def terminus_register_environments() -> list[type[Environment]]:
    """The environment of this module."""
    return [ContainerEnvironment]
