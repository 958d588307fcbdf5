"""The conformance suite of context strategies.

An author's whole test file::

    class TestForgetful(ContextStrategyTests):
        @pytest.fixture
        def strategy(self):
            return ForgetfulStrategy()
"""

# ruff: noqa: S101, PLR2004 - a suite asserts

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from terminus_core import (
    LLM,
    Command,
    ContextLengthExceededError,
    ContextStrategy,
    LLMError,
    LLMRequest,
    LLMResponse,
    Message,
    ParseResult,
    Usage,
)
from terminus_core.testing.suite import ConformanceSuite, needs
from terminus_core.testing.trial import TASK, FakeParser, Trial

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "type", "description": "Type.", "parameters": {"type": "object", "properties": {}}},
}


class StrictProvider(LLM):
    """A model with a window of ``window`` tokens, four characters each, that insists on the form of a chat.

    Args:
        window: tokens; what is longer is refused as too long. ``None``: no limit.
        tells_window: whether the limit is known before.
        tells_usage: whether answers have usage.
        native: whether answers are tool calls.
    """

    name: ClassVar[str] = "strict"

    def __init__(
        self, window: int | None, *, tells_window: bool = True, tells_usage: bool = True, native: bool = False
    ) -> None:
        self.model_name = "strict-model"
        self.context_limit: int | None = window if tells_window else None
        self.output_limit: int | None = None
        self.requests: list[list[Message]] = []
        self.refused: int = 0
        self.counted_characters: int = 0
        self._window = window
        self._tells_usage = tells_usage
        self._native = native

    async def call(self, request: LLMRequest) -> LLMResponse:
        """Check, and answer something short."""
        await anyio.lowlevel.checkpoint()
        request.on_attempt(1)
        _check_form(request.messages)
        tokens = size(request.messages) // 4
        if self._window is not None and tokens + 20 > self._window:
            self.refused += 1
            raise ContextLengthExceededError(f"{tokens} tokens are too many for {self._window}")
        self.requests.append(list(request.messages))
        number = len(self.requests)
        usage = Usage(prompt_tokens=tokens, completion_tokens=10) if self._tells_usage else None
        calls: list[dict[str, Any]] | None = None
        if self._native and request.tools:
            function = {"name": "type", "arguments": "{}"}
            calls = [{"id": f"call_{number}", "type": "function", "function": function}]
        return LLMResponse(f"answer {number}: I go on.", model_name="strict-model", usage=usage, tool_calls=calls)

    def count_tokens(self, messages: list[Message]) -> int:
        """A quarter of the characters."""
        self.counted_characters += size(messages)
        return size(messages) // 4


class ContextStrategyTests(ConformanceSuite):
    """What every strategy must do, by capability."""

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "makes_room": "a run can go on for ever in a window of `window` tokens",
        "native_tools": "it can do so where answers are native tool calls",
    }
    window: ClassVar[int] = 10_000
    """Tokens of the model's window in the tests of ``makes_room``, where an observation is about 500."""

    @pytest.fixture
    def strategy(self) -> ContextStrategy:
        """The strategy under test, for one run. Override this one."""
        raise NotImplementedError("override the fixture `strategy`")

    @pytest.mark.parametrize("window", [None, 1_000_000])
    async def test_with_room_enough_nothing_changes(
        self, strategy: ContextStrategy, tmp_path: Path, window: int | None
    ) -> None:
        """The history only grows, whether the limit is known or not; nothing is asked beside it."""
        llm = StrictProvider(window)
        trial = long_run(llm, strategy, tmp_path, turns=12)
        result = await trial.run()
        assert result.status == "max_episodes"
        assert len(llm.requests) == 12
        for earlier, later in zip(llm.requests, llm.requests[1:], strict=False):
            assert later[: len(earlier)] == earlier
        assert not trial.recorder.values("subagent_finished")
        assert not trial.recorder.values("history_replaced")

    async def test_counting_costs_what_is_new(self, strategy: ContextStrategy, tmp_path: Path) -> None:
        """No history is counted again in each episode."""
        llm = StrictProvider(1_000_000, tells_usage=False)
        await long_run(llm, strategy, tmp_path, turns=60).run()
        assert llm.counted_characters <= 4 * size(llm.requests[-1])

    async def test_a_task_that_is_too_long_ends_the_run(self, strategy: ContextStrategy, tmp_path: Path) -> None:
        """Nothing can be done; the run says so and does not ask for ever."""
        llm = StrictProvider(100)
        result = await long_run(llm, strategy, tmp_path, turns=12).run("x" * 2_000)
        assert (result.status, result.reason) == ("limit_reached", "context")
        assert llm.refused < 20

    @needs("makes_room")
    @pytest.mark.parametrize("tells_usage", [True, False], ids=["usage", "no usage"])
    async def test_a_run_that_is_longer_than_the_window(
        self, strategy: ContextStrategy, tmp_path: Path, tells_usage: bool
    ) -> None:
        """Every turn is answered; the model knows its task and sees what its last commands did."""
        await self._run_on(strategy, tmp_path, StrictProvider(self.window, tells_usage=tells_usage))

    @needs("makes_room", "native_tools")
    async def test_a_run_with_tool_calls_that_is_longer_than_the_window(
        self, strategy: ContextStrategy, tmp_path: Path
    ) -> None:
        """No call is parted from its answer."""
        await self._run_on(strategy, tmp_path, StrictProvider(self.window, native=True))

    async def _run_on(self, strategy: ContextStrategy, tmp_path: Path, llm: StrictProvider) -> None:
        turns = 4 * self.window // 500
        trial = long_run(llm, strategy, tmp_path, turns=turns)
        result = await trial.run()
        assert (result.status, result.reason, result.n_episodes) == ("max_episodes", "", turns)
        assert TASK in str(llm.requests[-1])
        assert f"seen {turns - 1}:" in str(llm.requests[-1])

    @needs("makes_room")
    async def test_a_window_that_nobody_told(self, strategy: ContextStrategy, tmp_path: Path) -> None:
        """The provider's refusal is all that there is to go by."""
        llm = StrictProvider(self.window, tells_window=False)
        turns = 4 * self.window // 500
        result = await long_run(llm, strategy, tmp_path, turns=turns).run()
        assert (result.status, result.reason, result.n_episodes) == ("max_episodes", "", turns)
        assert llm.refused
        assert TASK in str(llm.requests[-1])

    @needs("makes_room")
    async def test_asides_are_counted(self, strategy: ContextStrategy, tmp_path: Path) -> None:
        """Every answer of the provider is in the totals, once."""
        llm = StrictProvider(self.window)
        result = await long_run(llm, strategy, tmp_path, turns=4 * self.window // 500).run()
        assert result.totals.prompt_tokens == sum(size(messages) // 4 for messages in llm.requests)
        assert result.totals.completion_tokens == 10 * len(llm.requests)


def long_run(llm: StrictProvider, strategy: ContextStrategy, folder: Path, *, turns: int) -> Trial:
    """A run with an observation of about 500 tokens in each turn."""
    results = [ParseResult([Command(f"echo {n}\n", 0.0)], plan="I go on.") for n in range(turns)]
    parser = FakeParser(results)
    parser.tools = [TOOL]
    outputs = [f"seen {n}: " + "x y " * 500 for n in range(turns + 1)]
    return Trial(results, logs_dir=folder / "run", llm=llm, parser=parser, context=strategy, outputs=outputs)


def size(messages: list[Message]) -> int:
    """Characters of what is sent."""
    return sum(len(str(message["content"])) + len(str(message.get("tool_calls", ""))) for message in messages)


def _check_form(messages: list[Message]) -> None:
    """What providers insist on: turns alternate, and each tool call is answered right after it.

    Raises:
        LLMError: they do not; the run would end.
    """
    roles = [message["role"] for message in messages if message["role"] not in {"system", "tool"}]
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                raise LLMError(f"a tool message answers no call: {message.get('tool_call_id')!r}")
            waiting.remove(message["tool_call_id"])
        elif waiting:
            raise LLMError(f"calls are not answered: {sorted(waiting)}")
        waiting |= {call["id"] for call in message.get("tool_calls", ())}
    if waiting or not roles or roles[0] != "user" or messages[-1]["role"] == "assistant":
        raise LLMError(f"this is no request for an answer: {roles[:1]} … {messages[-1]['role']}, {sorted(waiting)}")
    for before, after in itertools.pairwise(messages):
        if before["role"] == after["role"] != "tool":
            raise LLMError(f"two messages of {after['role']} in a row")
