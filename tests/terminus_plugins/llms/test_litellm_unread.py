"""Answers in forms that litellm does not read, and faults told under a status of success."""

import json
from itertools import repeat

import pytest

from terminus_core import ContextLengthExceededError, LLMError, LLMRequest, Message, Usage
from tests.support.provider_server import answer, raw

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # of the clients' own models
]

CHAT = {"model": "openai/gpt-4o-mini"}
VLLM = {"model": "hosted_vllm/lab"}
ANTHROPIC = {"model": "anthropic/claude-sonnet-4-5"}
RESPONSES = {"model": "openai/gpt-5", "api": "responses"}
OPENROUTER = {"model": "openrouter/maker/model", "llm_kwargs": {"api_key": "not-a-real-key-0000"}}
USAGE = {"prompt_tokens": 12, "completion_tokens": 3}


def user(text="x", **more):
    return LLMRequest([Message(role="user", content=text)], **more)


def sent(document):
    return raw(json.dumps(document).encode())


def chat(message, usage=USAGE, **choice):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}, **choice}
    return sent({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})


def anthropic(**more):
    document = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "because", "signature": "c2lnbmVk"},
            {"type": "text", "text": "hello "},
            {"type": "text", "text": "there"},
        ],
        "stop_reason": "end_turn",
    }
    return sent(document | more)


def responses(**more):
    document = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 12,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 15,
        },
    }
    return sent(document | more)


async def failure(llm, **more):
    with pytest.raises(LLMError) as caught:
        await llm.call(user(**more))
    assert "\n" not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert "HTTP 500" not in str(caught.value)
    return caught.value


async def answered(server, llm):
    response = await llm.call(user())
    assert len(server.requests) == 1
    if response.usage:
        response.usage.cost_usd = None
    return response


@pytest.mark.parametrize("settings", [CHAT, VLLM, OPENROUTER])
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "hello "}, {"type": "text", "text": "there"}], "hello there"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}], "a"),
        ([{"type": "image_url"}, None, "a"], ""),
        (5, ""),
    ],
)
async def test_content_in_parts_is_its_text(provider, make_llm, settings, content, text):
    server = provider([chat({"content": content})])
    response = await answered(server, make_llm(server, **settings))
    assert (response.content, response.finish_reason, response.usage) == (text, "stop", Usage(12, 3))


@pytest.mark.parametrize("usage", [[], "none", {"prompt_tokens": {"text": 3}}])
async def test_usage_that_is_none_is_absent(provider, make_llm, usage):
    server = provider([chat({"content": "text"}, usage=usage)])
    response = await answered(server, make_llm(server))
    assert response.content == "text"
    assert response.usage in (None, Usage())


@pytest.mark.parametrize("more", [{}, {"usage": None}], ids=["ll-03-missing", "ll-03-null"])
async def test_anthropic_without_usage(provider, make_llm, more):
    server = provider([anthropic(**more), answer("two")])
    llm = make_llm(server, **ANTHROPIC)
    response = await answered(server, llm)
    assert (response.content, response.reasoning_content, response.model_name) == ("hello there", "because", "m")
    assert response.usage in (None, Usage())
    reply = Message(role="assistant", content="hello there", reasoning_content="because")
    await llm.call(LLMRequest([*user().messages, reply, Message(role="user", content="y")]))
    assert server.requests[1].json["messages"][1]["content"][0]["signature"] == "c2lnbmVk"


async def test_anthropic_without_usage_cut_in_a_tool_call(provider, make_llm):
    call = {"type": "tool_use", "id": "call_a", "name": "look", "input": {"path": "a.png"}}
    server = provider([anthropic(content=[call], stop_reason="max_tokens")])
    response = await answered(server, make_llm(server, **ANTHROPIC))
    function = {"name": "look", "arguments": '{"path": "a.png"}'}
    assert response.tool_calls == [{"id": "call_a", "type": "function", "function": function}]
    assert (response.content, response.finish_reason) == ("", "length")


async def test_anthropic_without_content_is_an_empty_answer(provider, make_llm):
    usage = {"input_tokens": 8, "cache_read_input_tokens": 4, "output_tokens": 3}
    server = provider([anthropic(content=None, usage=usage)])
    response = await answered(server, make_llm(server, **ANTHROPIC))
    assert (response.content, response.usage) == ("", Usage(12, 3, 4))


@pytest.mark.parametrize(
    ("summary", "reasoning"), [([], None), ([{"type": "summary_text", "text": "still weighing"}], "still weighing")]
)
async def test_reasoning_alone_is_an_empty_answer_ll_01(provider, make_llm, summary, reasoning):
    server = provider([responses(output=[{"type": "reasoning", "id": "rs_1", "summary": summary}])])
    response = await answered(server, make_llm(server, **RESPONSES))
    assert (response.content, response.reasoning_content, response.finish_reason) == ("", reasoning, "stop")
    assert response.usage == Usage(12, 3, 4)


@pytest.mark.parametrize("choices", [[{}], [{"message": None}], [{"delta": {"content": "x"}}]])
async def test_what_nobody_can_read_is_not_paid_for_again(provider, make_llm, choices):
    server = provider(repeat(sent({"id": "1", "object": "chat.completion", "choices": choices})))
    error = await failure(make_llm(server, max_attempts=3))
    assert str(error).startswith("openai/gpt-4o-mini: the provider's answer cannot be read: ")
    assert len(server.requests) == 1


# -- faults told under a status of success -----------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [CHAT, OPENROUTER])
async def test_too_long_under_200(provider, make_llm, settings):
    words = "This model's maximum context length is 8192 tokens"
    server = provider(repeat(sent({"error": {"message": words, "code": 400}})))
    error = await failure(make_llm(server, **settings))
    assert isinstance(error, ContextLengthExceededError)
    assert words in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("settings", "reply", "expected"),
    [
        (CHAT, sent({"error": {"message": "No credentials", "code": 401}}), ("401 Unauthorized: No credentials", 1)),
        (CHAT, sent({"error": {"message": "Busy", "code": 503}}), ("503 Service Unavailable: Busy", 2)),
        (CHAT, sent({"error": "flat words"}), (": flat words", 1)),
        (
            ANTHROPIC,
            sent({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            (": Overloaded", 2),
        ),
        (
            RESPONSES,
            responses(status="failed", error={"code": "server_error", "message": "It crashed"}),
            ("It crashed (server_error)", 2),
        ),
    ],
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # each pause takes a second
async def test_a_fault_under_200_counts_as_its_code_says(provider, make_llm, settings, reply, expected):
    said, requests = expected
    server = provider(repeat(reply))
    error = await failure(make_llm(server, max_attempts=2, **settings))
    assert said in str(error)
    assert len(server.requests) == requests


@pytest.mark.parametrize("settings", [CHAT, OPENROUTER])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_passing_fault_inside_a_choice_is_tried_again(provider, make_llm, settings):
    error = {"code": 502, "message": "Upstream failed"}
    server = provider([chat({"content": ""}, finish_reason="error", error=error), answer("done")])
    assert (await make_llm(server, **settings).call(user())).content == "done"
    assert len(server.requests) == 2


async def test_a_lasting_fault_inside_a_choice_is_one_request(provider, make_llm):
    error = {"code": 403, "message": "Flagged"}
    server = provider(repeat(chat({"content": ""}, finish_reason="error", error=error)))
    assert str(await failure(make_llm(server))) == "openai/gpt-4o-mini: HTTP 403 Forbidden: Flagged"
    assert len(server.requests) == 1
