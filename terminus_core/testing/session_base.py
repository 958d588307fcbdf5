"""What the tests of session backends share: a terminal with a known prompt, and ways to look at it."""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from terminus_core import Environment, PluginManager, Session, SessionBackend, SessionOptions, Settings, TerminalText
from terminus_core.testing.suite import ConformanceSuite

LONG = 20.0
"""Seconds that no test sits out."""
PROMPT = "$"
"""The prompt as it stands on the screen, its trailing blank left out."""
RC_FILES = (".bash_profile", ".bashrc", ".profile")


class Terminal:
    """Opens sessions of one backend in one environment, with a home folder of their own.

    Args:
        backend: opens them.
        environment: where; it sees the files of this machine. Entered with the first session.
        folder: working folder of the shells, and the run's folder.
    """

    def __init__(self, backend: SessionBackend, environment: Environment, folder: Path) -> None:
        self.folder = folder
        self.home: Path = folder / "home"
        self.home.mkdir()
        self.rc(f"PS1='{PROMPT} '\n")
        self._backend = backend
        self._environment = environment
        self._is_open = False

    def rc(self, text: str) -> None:
        """Set what shells read when they start."""
        for name in RC_FILES:
            (self.home / name).write_text(text)

    def options(self, session_id: str = "run-1", **more: Any) -> SessionOptions:
        """Options of a session in the test's own folder."""
        variables = {"HOME": str(self.home), "INPUTRC": "/dev/null", "ENV": str(self.home / ".profile")}
        env = {**variables, **more.pop("env", {})}
        return SessionOptions(session_id, self.folder, **{"cwd": str(self.folder), "env": env, **more})

    @asynccontextmanager
    async def open(self, options: SessionOptions | None = None) -> AsyncIterator[Session]:
        """One more session; the first one opens the environment."""
        if self._is_open:
            async with self._backend.open(self._environment, options or self.options()) as session:
                yield session
            return
        self._is_open = True
        try:
            async with self._environment, self._backend.open(self._environment, options or self.options()) as session:
                yield session
        finally:
            self._is_open = False


class SessionSuite(ConformanceSuite):
    """Fixtures and capabilities of the suite of session backends."""

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "exit_status": "`exit_status` tells how the shell ended",
        "history": "rows that have left the screen can still be read",
        "prompt": "a wait ends when the shell is back at its prompt",
        "resize": "`resize` gives the terminal another size",
        "restart": "`restart` gives a fresh shell in place",
        "resume": "a session outlives a killed agent, and `resume_token` leads back to it",
        "rows": "exactly the new rows are given wherever they can be told",
        "screen": "full-screen programs are drawn, and leave the screen as it was before them",
        "stream": "listeners get every byte that programs write",
        "users": "the shell can run as another user",
    }
    complete_capabilities: ClassVar[frozenset[str]] = frozenset(known_capabilities) - {"users"}
    session_capabilities: ClassVar[frozenset[str]] = frozenset(
        {"exit_status", "history", "prompt", "resize", "restart", "resume", "stream"}
    )
    """Those that a session tells of itself in `Session.capabilities`; plugins ask for them there."""
    history_rows: ClassVar[int] = 1000
    """Rows above the screen that the backend under test keeps."""
    other_user: ClassVar[str] = "nobody"

    @pytest.fixture
    def backend(self) -> SessionBackend:
        """The backend under test, with a history of :attr:`history_rows`. Override this one."""
        raise NotImplementedError("override the fixture `backend`")

    @pytest.fixture
    def environment(self) -> Environment:
        """Where the terminal is; it has to see the files of this machine. By default: this machine."""
        environment: Environment = PluginManager().build("environment", "local", Settings())
        return environment

    @pytest.fixture
    def terminal(self, backend: SessionBackend, environment: Environment, tmp_path: Path) -> Terminal:
        """Opens sessions."""
        return Terminal(backend, environment, tmp_path)


async def run(session: Session, *lines: str) -> TerminalText:
    """Run command lines one by one to their end, then look once."""
    for line in lines:
        await session.send_keys(line + "\n", block=True, max_timeout_sec=60)
    return await session.get_incremental_output()


async def look_until(session: Session, enough: Callable[[list[str]], bool]) -> list[str]:
    """Look until the rows that came are enough; the test's own time limit ends a vain wait."""
    rows: list[str] = []
    while not enough(rows):
        text = await session.get_incremental_output()
        if text.kind != "none":
            rows += text.split("\n")
        await session.send_keys("", min_timeout_sec=0.05)
    return rows


@contextmanager
def took(at_least: float = 0.0, less_than: float = LONG / 2) -> Iterator[None]:
    """Seconds that the body may take."""
    started = time.monotonic()
    yield
    assert at_least <= time.monotonic() - started < less_than
