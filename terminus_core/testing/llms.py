"""The conformance suite of LLMs.

An author's whole test file, for an LLM that speaks to a server of the test's own::

    class TestGhost(LLMTests):
        @pytest.fixture
        def make_llm(self, server):
            def make(*script):
                server.script = script
                return GhostLLM(GhostLLM.Config(api_base=server.url))
            return make
"""

# ruff: noqa: S101, PLR2004 - a suite asserts

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

import anyio
import pytest

from terminus_core import (
    LLM,
    ContentPart,
    ContextLengthExceededError,
    LLMError,
    LLMRequest,
    LLMResponse,
    Message,
    Usage,
)
from terminus_core.testing.suite import ConformanceSuite, needs

Says: TypeAlias = LLMResponse | Literal["fault", "too_long", "silence"]
"""What the provider does: gives this answer; fails for good; refuses the request as too long; never answers."""

PROMPT_SEC = 15.0
"""What must come at once has this long: the machine may be busy."""
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
CALL = {"id": "call_7", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at something.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
    },
}


class LLMTests(ConformanceSuite):
    """What every LLM must do, by capability."""

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "faults": "the provider of the tests can be made to fail for good",
        "silence": "the provider of the tests can be made not to answer",
        "too_long": "a request that is too long is told apart",
        "tools": "native tool calls pass",
        "usage": "tokens are told",
    }

    @pytest.fixture
    def make_llm(self) -> Callable[..., LLM]:
        """Makes the LLM under test, in front of a provider that does what it is told. Override this one.

        It is called as ``make_llm(*script)``, once in a test, with a :data:`Says` for each request to come.
        """
        raise NotImplementedError("override the fixture `make_llm`")

    # -- what is known before ------------------------------------------------------------------------------------------

    def test_names_and_limits(self, make_llm: Callable[..., LLM]) -> None:
        """A name to show; limits are tokens, or unknown."""
        llm = make_llm(LLMResponse("ready"))
        assert llm.model_name
        for limit in (llm.context_limit, llm.output_limit):
            assert limit is None or limit > 0

    def test_counting_is_about_right(self, make_llm: Callable[..., LLM]) -> None:
        """Of anything that a chat holds; more text is more tokens."""
        llm = make_llm(LLMResponse("ready"))
        short, long = user("one two three"), user("one two three " * 1000)
        assert llm.count_tokens([]) >= 0
        assert 1 <= llm.count_tokens([short]) < 100
        assert 1_500 < llm.count_tokens([long]) < 15_000
        assert llm.count_tokens([short, long]) > llm.count_tokens([long])
        image = ContentPart(type="image_url", image_url={"url": PIXEL})
        asked = Message(role="assistant", content="", tool_calls=[CALL])
        answered = Message(role="tool", tool_call_id="call_7", content="seen")
        looked = Message(role="user", content=[ContentPart(type="text", text="look"), image])
        assert llm.count_tokens([asked, answered, looked]) > 0

    # -- answers -------------------------------------------------------------------------------------------------------

    async def test_an_answer_is_the_providers(self, make_llm: Callable[..., LLM]) -> None:
        """The text as it is, one answer for each request."""
        texts = ["plain", "two\nlines and a tab\t", 'é✓日本 "quoted" {x} </a>', " blanks around "]
        llm = await prepared(make_llm(*[LLMResponse(text) for text in texts]))
        for text in texts:
            answer = await llm.call(LLMRequest([user("say it")]))
            assert answer.content == text

    async def test_each_request_is_told_before_it_is_sent(self, make_llm: Callable[..., LLM]) -> None:
        """Counted from 1, anew for each call."""
        attempts: list[int] = []
        llm = await prepared(make_llm(LLMResponse("one"), LLMResponse("two")))
        for _ in range(2):
            attempts.clear()
            await llm.call(LLMRequest([user("say it")], on_attempt=attempts.append))
            assert attempts == list(range(1, len(attempts) + 1))
            assert attempts

    async def test_the_chat_is_left_alone(self, make_llm: Callable[..., LLM]) -> None:
        """The request's messages are the chat's own."""
        messages = [user("first"), Message(role="assistant", content="answer"), user("second")]
        before = copy.deepcopy(messages)
        llm = await prepared(make_llm(LLMResponse("said")))
        await llm.call(LLMRequest(messages))
        assert messages == before

    @needs("usage")
    async def test_usage_is_the_providers(self, make_llm: Callable[..., LLM]) -> None:
        """Tokens of this call alone."""
        usages = [Usage(prompt_tokens=31, completion_tokens=7), Usage(prompt_tokens=40, completion_tokens=3)]
        llm = await prepared(make_llm(*[LLMResponse("said", usage=usage) for usage in usages]))
        for usage in usages:
            told = (await llm.call(LLMRequest([user("say it")]))).usage
            assert told is not None
            assert (told.prompt_tokens, told.completion_tokens) == (usage.prompt_tokens, usage.completion_tokens)

    @needs("tools")
    async def test_tool_calls_keep_ids_and_names(self, make_llm: Callable[..., LLM]) -> None:
        """And the answers to them can be sent."""
        said = LLMResponse("", tool_calls=[copy.deepcopy(CALL)], finish_reason="tool_calls")
        llm = await prepared(make_llm(said, LLMResponse("seen")))
        answer = await llm.call(LLMRequest([user("look")], tools=[TOOL]))
        assert answer.content == ""
        assert answer.tool_calls
        (call,) = answer.tool_calls
        assert (call["id"], call["function"]) == (CALL["id"], CALL["function"])
        asked = Message(role="assistant", content="", tool_calls=answer.tool_calls)
        answered = Message(role="tool", tool_call_id=call["id"], content="a screen")
        assert (await llm.call(LLMRequest([user("look"), asked, answered], tools=[TOOL]))).content == "seen"

    async def test_calls_at_the_same_time(self, make_llm: Callable[..., LLM]) -> None:
        """Each has an answer of its own."""
        texts = {f"text {number}" for number in range(5)}
        said = []
        llm = await prepared(make_llm(*[LLMResponse(text) for text in sorted(texts)]))

        async def ask() -> None:
            said.append((await llm.call(LLMRequest([user("say it")]))).content)

        async with anyio.create_task_group() as group:
            for _ in texts:
                group.start_soon(ask)
        assert sorted(said) == sorted(texts)

    # -- faults --------------------------------------------------------------------------------------------------------

    @needs("faults")
    async def test_a_fault_is_an_error_in_one_line(self, make_llm: Callable[..., LLM]) -> None:
        """Of its own type; the next call can work."""
        llm = await prepared(make_llm("fault", LLMResponse("better")))
        with pytest.raises(LLMError) as caught:
            await llm.call(LLMRequest([user("say it")]))
        assert not isinstance(caught.value, ContextLengthExceededError)
        assert str(caught.value).strip()
        assert "\n" not in str(caught.value)
        assert (await llm.call(LLMRequest([user("say it")]))).content == "better"

    @needs("too_long")
    async def test_a_request_that_is_too_long(self, make_llm: Callable[..., LLM]) -> None:
        """Its type is what the context strategy waits for."""
        llm = await prepared(make_llm("too_long", LLMResponse("shorter")))
        with pytest.raises(ContextLengthExceededError):
            await llm.call(LLMRequest([user("say it " * 1000)]))
        assert (await llm.call(LLMRequest([user("say it")]))).content == "shorter"

    @needs("silence")
    async def test_waiting_blocks_nobody_and_ends_with_a_cancel(self, make_llm: Callable[..., LLM]) -> None:
        """Other tasks go on; a cancel does not wait for the provider."""
        llm = await prepared(make_llm("silence"))
        asked = anyio.Event()
        ticks = 0
        with anyio.fail_after(PROMPT_SEC):
            async with anyio.create_task_group() as group:
                group.start_soon(llm.call, LLMRequest([user("say it")], on_attempt=lambda _: asked.set()))
                while ticks < 20 or not asked.is_set():
                    await anyio.sleep(0.01)
                    ticks += 1
                group.cancel_scope.cancel()


def user(text: str) -> Message:
    """A message of the user."""
    return Message(role="user", content=text)


async def prepared(llm: LLM) -> LLM:
    """An LLM that is ready to be called."""
    if prepare := getattr(llm, "prepare", None):
        await prepare()
    return llm
