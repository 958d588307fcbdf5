"""Opens tmux sessions: finds tmux, starts a server of its own, and leaves nothing behind."""

from __future__ import annotations

import logging
import platform
import secrets
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import anyio

from terminus_core import EnvironmentFailedError, SessionBackend, TerminusError
from terminus_plugins.tmux.channel import ControlChannel
from terminus_plugins.tmux.config import TmuxConfig
from terminus_plugins.tmux.session import TmuxSession
from terminus_plugins.tmux.shell import MISSING, Place, pane_argv, prepare, session_name, sweep

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from terminus_core import Environment, EnvironmentProcess, SessionOptions

logger = logging.getLogger(__name__)

NOTE = "tmux-session"
"""File in the run's folder that names the living terminal of the run."""
SWEPT_AT_ONCE = 20
"""Folders looked at when a session starts, the oldest first."""
CLOSE_SEC = 2.0
SETUP_SEC = 30.0


class TmuxBackend(SessionBackend):
    """See :class:`terminus_core.SessionBackend`."""

    name: ClassVar[str] = "tmux"
    Config = TmuxConfig

    def __init__(self, config: TmuxConfig | None = None) -> None:
        self.config = config or TmuxConfig()

    @asynccontextmanager
    async def open(self, environment: Environment, options: SessionOptions) -> AsyncIterator[TmuxSession]:
        """See :class:`terminus_core.SessionBackend`. With a ``resume_token``: attach to the session that lived on."""
        if options.resume_token:
            session = self._resumed(await self._prepare(environment, options), options.resume_token)
            command = session.place.attach()
        else:
            session = TmuxSession(await self._prepare(environment, options), self.config)
            command = session.place.start(
                pane_argv(session.place, self.config.shell, session.token),
                width=self.config.pane_width,
                height=self.config.pane_height,
                history_limit=self.config.history_limit,
            )
        # An exception of the body must not pass through the task group: it would come out as an ExceptionGroup.
        failure: BaseException | None = None
        try:
            async with (
                environment.open_process(command, cwd=options.cwd, env=options.env, user=options.user) as stream,
                anyio.create_task_group() as group,
            ):
                channel = ControlChannel(
                    stream,
                    answer_timeout=self.config.answer_timeout_sec,
                    on_output=session.on_output,
                    on_end=session.on_change,
                )
                channel.start(group)
                try:
                    await session.begin(channel, resumed=bool(options.resume_token))
                    await _note(options.logs_dir, session.place)
                    yield session
                except BaseException as error:  # noqa: BLE001 - raised again below
                    failure = error
                with anyio.CancelScope(shield=True):
                    await _close(channel, stream)
        finally:
            with anyio.CancelScope(shield=True):
                await self._remove(environment, options, session)
        if failure is not None:
            raise failure

    async def _prepare(self, environment: Environment, options: SessionOptions) -> Place:
        """Ask for tmux before the stream is opened, so that its absence is told as such."""
        name = session_name(options.session_id)
        folder = f"{name}-{secrets.token_hex(4)}"
        owner = f"{platform.node() or '-'} {options.logs_dir.absolute()}"
        result = await environment.exec(
            prepare(self.config.tmux_path, folder, owner, SWEPT_AT_ONCE),
            user=options.user,
            timeout_sec=SETUP_SEC,
        )
        told = [line.partition(" ")[::2] for line in result.stdout.splitlines()]
        found = dict(told)
        if result.return_code == MISSING:
            raise EnvironmentFailedError(self._missing(found))
        if result.return_code != 0 or "folder" not in found:
            where = found.get("base") or result.stderr.strip() or f"status {result.return_code}"
            raise EnvironmentFailedError(f"cannot make a private folder for tmux: {where}")
        await self._sweep(environment, options, found, [rest for kind, rest in told if kind == "old"])
        return Place(found["tmux"], found["folder"], name)

    def _missing(self, found: dict[str, str]) -> str:
        if self.config.tmux_path:
            return f"there is no tmux at {self.config.tmux_path!r}: correct tmux_path in [session.tmux]"
        if found.get("login"):
            return (
                f"tmux is at {found['login']}, which only a login shell has on its PATH: "
                f'set tmux_path = "{found["login"]}" in [session.tmux]'
            )
        return (
            "tmux is not installed: apt-get install tmux (Debian, Ubuntu), dnf install tmux (Fedora), "
            "apk add tmux (Alpine), brew install tmux (macOS)"
        )

    async def _sweep(
        self, environment: Environment, options: SessionOptions, found: dict[str, str], old: list[str]
    ) -> None:
        """End what killed agents left behind: their run is over, its folder gone, or its time up."""
        base = found["folder"].rpartition("/")[0]
        now = int(found["now"])
        gone = []
        for line in old:
            folder, _, owner = line.partition(" ")
            started, _, place = owner.partition(" ")
            host, _, logs_dir = place.partition(" ")
            if started.isdigit() and (
                now - int(started) > self.config.keep_sec
                or (host == platform.node() and await _noted(Path(logs_dir)) != folder)
            ):
                gone.append(f"{base}/{folder}")
        if gone:
            try:
                await environment.exec(sweep(found["tmux"], gone), user=options.user, timeout_sec=SETUP_SEC)
            except (TimeoutError, TerminusError) as error:
                logger.debug("Cannot sweep old tmux servers: %s", error)

    def _resumed(self, found: Place, token: str) -> TmuxSession:
        folder, _, name = token.rpartition(" ")
        return TmuxSession(Place(found.tmux, folder, name), self.config)

    async def _remove(self, environment: Environment, options: SessionOptions, session: TmuxSession) -> None:
        try:
            await environment.exec(session.place.remove(session.server), user=options.user, timeout_sec=SETUP_SEC)
        except (TimeoutError, TerminusError) as error:
            logger.debug("Cannot take the folder of tmux away: %s", error)
        await anyio.Path(options.logs_dir / NOTE).unlink(missing_ok=True)


async def _note(logs_dir: Path, place: Place) -> None:
    """Note in the run's folder which terminal is the run's own; without a folder there is nothing to resume."""
    if await anyio.Path(logs_dir).is_dir():
        await anyio.Path(logs_dir / NOTE).write_text(place.folder.rpartition("/")[2])


async def _noted(logs_dir: Path) -> str:
    try:
        return await anyio.Path(logs_dir / NOTE).read_text()
    except OSError:
        return ""


async def _close(channel: ControlChannel, stream: EnvironmentProcess) -> None:
    """End the server, read to the end of its words, then end the client."""
    channel.post("kill-server")
    with anyio.move_on_after(CLOSE_SEC):
        await channel.finished.wait()
    await stream.aclose()
    channel.stop()
