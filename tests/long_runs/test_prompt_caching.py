"""What a provider's prompt cache sees: bytes of consecutive requests, and marks where they are wanted."""

import json
from itertools import pairwise

import pytest

from terminus_plugins.observers.prompt_caching import PromptCaching

from .conftest import Model, ToolParser
from .prefixes import common, messages_bytes
from .test_native_tools import turns as tool_turns

pytestmark = pytest.mark.anyio

CLAUDE = "anthropic/claude-sonnet-4-5"


def caching(**settings):
    return PromptCaching(PromptCaching.Config(**settings))


def marks(body):
    """Which messages of a request carry a mark."""
    return [i for i, message in enumerate(body["messages"]) if "cache_control" in json.dumps(message)]


def turns(n):
    return [*(f"go {i}" for i in range(n)), "DONE", "DONE"]


async def test_without_marks_each_request_begins_with_the_one_before_byte_for_byte(journey):
    model = Model(turns(30), window=20_000)
    trip = journey(model, believes=20_000, observed=3_000, observers=[caching()])
    await trip.run()
    requests = list(zip(model.log, (messages_bytes(request.body) for request in trip.server.requests), strict=True))
    assert b"cache_control" not in b"".join(body for _, body in requests)
    breaks = [
        (before, after)
        for (before, one), (after, two) in pairwise(requests)
        if common(one, two) < len(one) and (before, after) != ("turn", "summary")
    ]
    assert breaks
    assert set(breaks) == {("summary", "questions"), ("questions", "answers"), ("answers", "turn")}


async def test_the_calls_of_a_summary_begin_like_the_chat(journey):
    """What the provider has cached of the history is read again, not paid again."""
    model = Model(turns(20), window=20_000)
    trip = journey(model, believes=20_000, observed=3_000)
    await trip.run()
    asked = model.log.index("summary")
    turn, summary, _, answers = (
        messages_bytes(request.body) for request in trip.server.requests[asked - 1 : asked + 3]
    )
    assert common(turn, summary) == len(turn)
    assert common(summary, answers) == len(summary)


@pytest.mark.parametrize("parser", [None, ToolParser()], ids=["text", "native tools"])
async def test_marks_move_and_the_rest_stays(journey, parser):
    """Anthropic's dialect, as the server received it: but for the marks the beginning never changes."""
    model = Model((tool_turns if parser else turns)(12))
    trip = journey(model, observed=600, llm_name=CLAUDE, observers=[caching()], parser=parser, believes=200_000)
    await trip.run()
    assert trip.ending == ("completed", "")
    requests = [messages_bytes(request.body, without_marks=True) for request in trip.server.requests]
    assert all(common(before, after) == len(before) for before, after in pairwise(requests))
    for before, body in pairwise(model.bodies):
        marked, n_before = marks(body), len(before["messages"])
        assert marked == sorted({0, n_before - 1, len(body["messages"]) - 1})
        assert json.dumps(body).count("cache_control") <= 4
    assert marks(model.bodies[0]) == [0]


@pytest.mark.parametrize(
    ("model_name", "marked"),
    [
        ("anthropic/claude-sonnet-4-5", True),
        ("claude-opus-4-1", True),
        ("bedrock/us.anthropic.claude-sonnet-4-5-v1:0", True),
        ("vertex_ai/claude-sonnet-4-5", True),
        ("openrouter/anthropic/claude-sonnet-4.5", True),
        ("openai/gpt-5", False),
        ("openai/my-claude-proxy", False),
        ("gemini/gemini-2.5-pro", False),
        ("openrouter/openai/gpt-5", False),
    ],
)
@pytest.mark.parametrize("enabled", ["auto", True, False])
def test_marks_are_on_where_they_are_known_to_work_or_asked_for(model_name, marked, enabled):
    class Run:
        class llm:  # noqa: N801 - stands for an instance
            pass

    Run.llm.model_name = model_name
    made = caching(enabled=enabled).terminus_prepare_messages(Run, [{"role": "user", "content": "hi"}])
    assert ("cache_control" in json.dumps(made)) == (marked if enabled == "auto" else enabled)


def test_other_models_can_be_named():
    class Run:
        class llm:  # noqa: N801 - stands for an instance
            model_name = "openai/my-claude-proxy"

    made = caching(models=["openai/my-claude"]).terminus_prepare_messages(Run, [{"role": "user", "content": "hi"}])
    assert made[0]["content"] == [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]


def test_the_chats_own_messages_are_not_touched():
    class Run:
        class llm:  # noqa: N801 - stands for an instance
            model_name = "claude"

    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "tool", "tool_call_id": "1", "content": "seen"},
        {"role": "tool", "tool_call_id": "2", "content": ""},
    ]
    before = json.dumps(messages)
    made = caching().terminus_prepare_messages(Run, messages)
    assert json.dumps(messages) == before
    assert made[0]["content"][1]["cache_control"] == {"type": "ephemeral"}
    assert made[2] == {**messages[2], "cache_control": {"type": "ephemeral"}}
    assert made[3] == messages[3]  # an empty text cannot carry a mark
