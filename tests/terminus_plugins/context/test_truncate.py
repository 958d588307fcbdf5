"""Truncate where a provider's tokens are fewer characters than were counted on."""

import pytest

from terminus_core import (
    Agent,
    ContextLengthExceededError,
    LLMResponse,
    TerminalText,
    Usage,
)
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM, FakeSession
from terminus_plugins.context.truncate import TruncateStrategy
from tests.support.typed_parser import TypedParser


class Dense(FakeLLM):
    """A token is two characters, not the four that are counted."""

    def __init__(self, window):
        super().__init__()
        self.refused = 0
        self._window = window

    async def call(self, request):
        tokens = sum(len(message["content"]) for message in request.messages) // 2
        if tokens > self._window:
            self.refused += 1
            raise ContextLengthExceededError(f"{tokens} tokens")
        return LLMResponse("go", usage=Usage(tokens, 1))


class Screen(FakeSession):
    def __init__(self, size):
        super().__init__()
        self._size = size

    async def get_incremental_output(self):
        await super().get_incremental_output()
        return TerminalText("x" * self._size)


@pytest.mark.anyio
@pytest.mark.parametrize("size", [4_000, 5_000, 6_000, 7_000, 9_000])
async def test_the_waiting_observation_is_shortened_when_room_was_not_enough(tmp_path, size):
    llm = Dense(window=8_192)
    run = Agent(
        llm=llm,
        environment=FakeEnvironment(),
        session=FakeBackend(Screen(size)),
        parser=TypedParser(),
        observers=[],
        context=TruncateStrategy(TruncateStrategy.Config()),
        logs_dir=tmp_path / "run",
        max_episodes=20,
    )
    result = await run.run("w" * 6_000)
    assert (result.status, result.reason) == ("max_episodes", "")
    assert llm.refused
