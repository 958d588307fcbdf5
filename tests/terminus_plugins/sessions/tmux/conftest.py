"""A real tmux session with a home folder of its own, and a prompt that tests know."""

from __future__ import annotations

import subprocess
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from terminus_core import SessionOptions, TerminalText
from terminus_plugins.environments.local import LocalEnvironment
from terminus_plugins.sessions.tmux import TmuxBackend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from terminus_core import Environment
    from terminus_plugins.sessions.tmux.session import TmuxSession


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request) -> str:
    return request.param


class Terminal:
    """Opens sessions that share one home folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.rc("PS1='$ '\n")

    def rc(self, text: str) -> None:
        (self.home / ".bash_profile").write_text(text)

    def options(self, session_id: str = "run-1", **options) -> SessionOptions:
        env = {"HOME": str(self.home), "INPUTRC": "/dev/null", **options.pop("env", {})}
        return SessionOptions(session_id, self.folder, cwd=str(self.folder), env=env, **options)

    @asynccontextmanager
    async def open(
        self, options: SessionOptions | None = None, *, place: Environment | None = None, **settings: object
    ) -> AsyncIterator[TmuxSession]:
        backend = TmuxBackend(TmuxBackend.Config.model_validate(settings))
        async with AsyncExitStack() as stack:
            place = place or await stack.enter_async_context(LocalEnvironment())
            yield await stack.enter_async_context(backend.open(place, options or self.options()))


@pytest.fixture
def terminal(tmp_path) -> Terminal:
    return Terminal(tmp_path)


async def run(session: TmuxSession, *lines: str) -> TerminalText:
    """Run command lines one by one to their end, then look once."""
    for line in lines:
        await session.send_keys(line + "\n", block=True, max_timeout_sec=30)
    return await session.get_incremental_output()


@pytest.fixture
def say() -> Callable[..., object]:
    return run


async def look_until(session: TmuxSession, enough: Callable[[list[str]], bool]) -> list[str]:
    """Look until the rows that came are enough; the test's own time limit ends a vain wait."""
    rows: list[str] = []
    while not enough(rows):
        text = await session.get_incremental_output()
        if text.kind != "none":
            rows += text.split("\n")
        await session.send_keys("", min_timeout_sec=0.05)
    return rows


@pytest.fixture
def until() -> Callable[..., object]:
    return look_until


@pytest.fixture
def bystander():
    """A process that has nothing to do with it."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()
