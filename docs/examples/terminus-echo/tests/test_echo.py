"""The parser passes the suite of its role."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from terminus_core import Agent, LLMResponse
from terminus_core.testing import ResponseParserTests

from terminus_echo import EchoParser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from terminus_core import Command
    from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM, FakeSession


class TestEcho(ResponseParserTests):
    """A claim stands alone, so ``claims``, which wants commands beside one, is not declared."""

    capabilities = frozenset({"trio"})

    @pytest.fixture
    def parser(self) -> EchoParser:
        """The parser under test."""
        return EchoParser()

    def answer(self, commands: Sequence[Command], *, claim: bool = False) -> LLMResponse:  # noqa: ARG002 - not declared
        """What a model would write."""
        return LLMResponse(commands[0].keystrokes.removesuffix("\n"))


@pytest.mark.anyio
async def test_a_run(
    fake_llm: Callable[..., FakeLLM],
    fake_session: FakeSession,
    fake_backend: FakeBackend,
    fake_environment: FakeEnvironment,
    tmp_path: Path,
) -> None:
    """Two commands and two claims, found by the entry point's name."""
    agent = Agent(
        parser="echo",
        llm=fake_llm("ls", "cat <<E\nx\nE\n", "DONE", "DONE"),
        session=fake_backend,
        environment=fake_environment,
        context="none",
        observers=[],
        logs_dir=tmp_path / "run",
    )
    result = await agent.run("Look around.")
    assert result.status == "completed"
    assert [keystrokes for keystrokes, _ in fake_session.sent] == ["ls\n", "cat <<E\nx\nE\n"]
