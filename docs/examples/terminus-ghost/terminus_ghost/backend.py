"""Opens sessions: ``script`` gives the shell a pseudo-terminal, over any environment's byte stream."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ClassVar

import anyio
from pydantic import BaseModel, ConfigDict, Field
from terminus_core import SessionBackend

from terminus_ghost.screen import GhostScreen
from terminus_ghost.session import GhostSession

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from terminus_core import Environment, Session, SessionOptions

VARIABLES = {
    "TERM": "screen",
    "SHELL": "/bin/sh",  # by which `script` starts ours; a user of the system may have none
    "LC_CTYPE": "C.UTF-8",
    # Marks that no terminal shows: which shell is at a prompt, with how many jobs. In PS2: it wants the rest.
    "PROMPT_COMMAND": (
        r'case $PS1 in *"133;B"*) ;; *) PS1="$PS1\[\e]133;B;$$;\j\a\]"; PS2="$PS2\[\e]133;K;$$\a\]";; esac'
    ),
}
# An agent under `nohup` ignores hangups, one in the background Ctrl-C too; what runs in a terminal must not.
DEFAULT_SIGNALS = 'reset="env --default-signal"; $reset true 2>/dev/null || reset='


class GhostBackend(SessionBackend):
    """See :class:`terminus_core.SessionBackend`."""

    name: ClassVar[str] = "ghost"

    class Config(BaseModel):
        """``[session.ghost]``."""

        model_config = ConfigDict(extra="forbid")

        pane_width: int = Field(default=160, ge=2, le=1000, description="columns of the terminal")
        pane_height: int = Field(default=40, ge=2, le=1000, description="rows of the terminal")
        history_rows: int = Field(default=10_000, ge=0, description="rows kept above the screen")
        start_timeout_sec: float = Field(default=60.0, gt=0, description="seconds that the shell may take to start")

    def __init__(self, config: Config) -> None:
        self._config = config

    @asynccontextmanager
    async def open(self, environment: Environment, options: SessionOptions) -> AsyncGenerator[Session, None]:
        """Start a login shell and wait for its prompt."""
        config = self._config
        size = f"rows {config.pane_height} cols {config.pane_width}"
        shell = rf"""stty sane {size}; printf '\033]133;T;%s\007' "$(tty)"; exec bash --login"""
        command = f"{DEFAULT_SIGNALS}; exec $reset script -qefc {shlex.quote(shell)} /dev/null"
        session = GhostSession(environment, GhostScreen(config.pane_width, config.pane_height, config.history_rows))
        env = {**VARIABLES, **options.env}
        # An exception of the body must not pass through the task group: it would come out as an ExceptionGroup.
        failure: BaseException | None = None
        async with (
            environment.open_process(command, cwd=options.cwd, env=env, user=options.user) as process,
            anyio.create_task_group() as group,
        ):
            group.start_soon(session.read, process)
            try:
                await session.wait_until_ready(config.start_timeout_sec)
                yield session
            except BaseException as error:  # noqa: BLE001 - raised again below
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
