"""Opens tmux sessions: finds tmux, starts a server of its own, and leaves nothing behind."""

from __future__ import annotations

import json
import logging
import os
import platform
import secrets
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import anyio

from terminus_core import (
    EnvironmentFailedError,
    SessionBackend,
    StreamsUnsupportedError,
    TerminusError,
    describe_process,
    is_process_there,
)
from terminus_plugins.sessions.tmux.config import TmuxConfig
from terminus_plugins.sessions.tmux.control_channel import ControlChannel
from terminus_plugins.sessions.tmux.exec_channel import ExecChannel
from terminus_plugins.sessions.tmux.session import TmuxSession
from terminus_plugins.sessions.tmux.shell import MISSING, Place, find, pane_argv, session_name, sweep

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from terminus_core import Environment, EnvironmentProcess, ExecResult, SessionOptions
    from terminus_plugins.sessions.tmux.channel import Channel

logger = logging.getLogger(__name__)

STRANGER_SEC = 86_400
"""A terminal whose agent is on another machine is left alone for a day."""
CLOSE_SEC = 2.0
SETUP_SEC = 30.0
AGAIN_SEC = 0.5


class TmuxBackend(SessionBackend):
    """One persistent control-mode client on a tmux server of its own, with a private socket."""

    name: ClassVar[str] = "tmux"
    Config = TmuxConfig

    def __init__(self, config: TmuxConfig | None = None) -> None:
        self.config = config or TmuxConfig()

    @asynccontextmanager
    async def open(self, environment: Environment, options: SessionOptions) -> AsyncIterator[TmuxSession]:
        """See :class:`terminus_core.SessionBackend`. With a ``resume_token``: attach to the session that lived on."""
        tmux, base = await self._find(environment, options)
        if options.resume_token:
            folder, _, name = options.resume_token.rpartition(" ")
        else:
            name = session_name(options.session_id)
            folder = f"{base}/{name}-{secrets.token_hex(4)}"
        session = TmuxSession(Place(tmux, folder, name), self.config)
        # An exception of the body must not pass through the task group: it would come out as an ExceptionGroup.
        failure: BaseException | None = None
        patience = SETUP_SEC
        try:
            async with self._channel(environment, options, session) as channel:
                try:
                    await session.begin(channel, resumed=bool(options.resume_token))
                    yield session
                except BaseException as error:  # noqa: BLE001 - raised again below
                    failure = error
                if channel.ended == "lost":
                    patience = CLOSE_SEC
        finally:
            last = (
                session.place.leave()
                if self._leaves(session)
                else session.place.remove(session.server, session.sessions)
            )
            with anyio.CancelScope(shield=True):
                await self._try(environment, options, last, patience)
        if failure is not None:
            raise failure

    @asynccontextmanager
    async def _channel(
        self, environment: Environment, options: SessionOptions, session: TmuxSession
    ) -> AsyncIterator[Channel]:
        """The way to the server: a stream where the environment has them, else one exec for each round."""
        where: dict[str, Any] = {"cwd": options.cwd, "env": options.env, "user": options.user}
        async with AsyncExitStack() as stack:
            try:
                stream = await self._first_client(stack, environment, self._command(session, options), where)
            except StreamsUnsupportedError:
                session.place = replace(session.place, by_exec=True)
                yield await self._by_exec(environment, options, session)
                return
            group = await stack.enter_async_context(anyio.create_task_group())

            def another(was_there: bool) -> AbstractAsyncContextManager[EnvironmentProcess]:
                return environment.open_process(
                    session.place.attach() if was_there else self._command(session, options), **where
                )

            channel = ControlChannel(
                stream,
                another,
                partial(environment.exec, "true", timeout_sec=SETUP_SEC, **where),
                answer_timeout=self.config.answer_timeout_sec,
                repair_timeout=self.config.reconnect_timeout_sec,
                on_output=session.on_output,
                on_gap=session.on_gap,
                on_repair=session.on_repair,
                on_end=session.on_end,
            )
            group.start_soon(channel.run)
            yield channel
            with anyio.CancelScope(shield=True):
                channel.end("detach-client" if self._leaves(session) else "kill-server")
                await _close(channel, stream)

    def _leaves(self, session: TmuxSession) -> bool:
        return self.config.leave_running and session.exit_status is None

    async def _first_client(
        self, stack: AsyncExitStack, environment: Environment, command: str, where: dict[str, Any]
    ) -> EnvironmentProcess:
        """Start a client; once more if the connection is lost meanwhile."""
        deadline = anyio.current_time() + self.config.reconnect_timeout_sec
        while True:
            try:
                return await stack.enter_async_context(environment.open_process(command, **where))
            except StreamsUnsupportedError:
                raise
            except EnvironmentFailedError:
                await environment.exec("true", timeout_sec=SETUP_SEC, **where)  # raises if the fault is for good
                if anyio.current_time() > deadline:
                    raise
            await anyio.sleep(AGAIN_SEC)

    async def _by_exec(self, environment: Environment, options: SessionOptions, session: TmuxSession) -> Channel:
        if not options.resume_token:
            result = await environment.exec(
                self._command(session, options),
                cwd=options.cwd,
                env=options.env,
                user=options.user,
                timeout_sec=SETUP_SEC,
            )
            if result.return_code != 0:
                told = result.stderr.strip() or result.stdout.strip() or f"status {result.return_code}"
                raise EnvironmentFailedError(f"tmux does not start: {told}")
        return ExecChannel(
            environment,
            session.place,
            user=options.user,
            answer_timeout=self.config.answer_timeout_sec,
            on_marks=session.on_marks,
            on_end=session.on_end,
        )

    def _command(self, session: TmuxSession, options: SessionOptions) -> str:
        return session.place.attach() if options.resume_token else self._start(session)

    def _start(self, session: TmuxSession) -> str:
        owner = {"keep_sec": self.config.keep_sec, "pid": os.getpid(), **describe_process()}
        return session.place.start(
            pane_argv(session.place, self.config.shell, session.token),
            f"{platform.node() or '-'} {json.dumps(owner)}",
            width=self.config.pane_width,
            height=self.config.pane_height,
            history_limit=self.config.history_limit * (2 if session.place.by_exec else 1),
        )

    async def _find(self, environment: Environment, options: SessionOptions) -> tuple[str, str]:
        """Path of tmux, and the folder for private folders. Sweeps that folder.

        tmux is asked for before the stream is opened, so that its absence is told as such.
        """
        result = await self._run(environment, options, find(self.config.tmux_path))
        told = [line.partition(" ")[::2] for line in result.stdout.splitlines()]
        found = dict(told)
        if result.return_code == MISSING:
            raise EnvironmentFailedError(self._missing(found.get("login", "")))
        if result.return_code != 0 or "now" not in found:
            if "base" in found:
                raise EnvironmentFailedError(f"cannot make a private folder for tmux: {found['base']}")
            why = result.stderr.strip() or f"status {result.return_code}"
            raise EnvironmentFailedError(f"no command runs in environment {environment.name!r}: {why}")
        wanted = (options.resume_token or "").rpartition(" ")[0].rpartition("/")[2]
        old = [rest for kind, rest in told if kind == "old" and rest.partition(" ")[0] != wanted]
        if gone := self._gone(int(found["now"]), old):
            await self._try(environment, options, sweep(found["base"], gone))
        return found["tmux"], found["base"]

    def _missing(self, login: str) -> str:
        if self.config.tmux_path:
            return f"there is no tmux at {self.config.tmux_path!r}: correct tmux_path in [session.tmux]"
        if login:
            return (
                f"tmux is at {login}, which only a login shell has on its PATH: "
                f'set tmux_path = "{login}" in [session.tmux]'
            )
        return (
            "tmux is not installed: apt-get install tmux (Debian, Ubuntu), dnf install tmux (Fedora), "
            "apk add tmux (Alpine), brew install tmux (macOS)"
        )

    def _gone(self, now: int, old: list[str]) -> list[str]:
        """What killed agents have left behind.

        An agent of this machine is proven dead by its process; of one elsewhere only time can tell.
        """
        gone = []
        for line in old:
            folder, _, owner = line.partition(" ")
            started, _, owner = owner.partition(" ")
            host, _, process = owner.partition(" ")
            age = now - int(started) if started.isdigit() else 0
            limit = _keep_sec(process) if host == platform.node() else STRANGER_SEC
            if limit is not None and age > limit:
                gone.append(folder)
        return gone

    async def _run(self, environment: Environment, options: SessionOptions, command: str) -> ExecResult:
        """Run a command that does no harm when it is run twice: once more if the connection is lost meanwhile."""
        deadline = anyio.current_time() + self.config.reconnect_timeout_sec
        while True:
            result = await environment.exec(command, user=options.user, timeout_sec=SETUP_SEC)
            if result.return_code is not None or anyio.current_time() > deadline:
                return result
            await anyio.sleep(AGAIN_SEC)

    async def _try(
        self, environment: Environment, options: SessionOptions, command: str, patience: float = SETUP_SEC
    ) -> None:
        """Tidy up; where that fails there is nothing better to do, and more important things are told."""
        try:
            with anyio.fail_after(patience):
                await self._run(environment, options, command)
        except (TimeoutError, TerminusError) as error:
            logger.debug("Cannot tidy up after tmux: %s", error)


def _keep_sec(process: str) -> float | None:
    """How long the terminal of a dead agent wants to be left alone, in its own words; ``None`` while it lives."""
    try:
        described = json.loads(process)
        return None if is_process_there(described.pop("pid"), described) else float(described["keep_sec"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


async def _close(channel: ControlChannel, stream: EnvironmentProcess) -> None:
    """Read to the end of its words, then end the client."""
    with anyio.move_on_after(CLOSE_SEC):
        await channel.finished.wait()
    await stream.aclose()
    channel.stop()
