"""What is asked and what comes back, in each dialect."""

import json
import threading

import anyio
import pytest
from pydantic import ValidationError

from terminus_core import ConfigError, LLMError, LLMRequest, Message, Usage
from terminus_plugins.llms.litellm.llm import LiteLLM
from tests.support.provider_server import answer, fault, raw

pytestmark = pytest.mark.anyio

CHAT, ANTHROPIC, RESPONSES = "openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "openai/gpt-5"
DIALECTS = [
    pytest.param({"model": CHAT}, id="chat"),
    pytest.param({"model": "hosted_vllm/lab"}, id="vllm"),
    pytest.param({"model": ANTHROPIC}, id="anthropic"),
    pytest.param({"model": RESPONSES, "api": "responses"}, id="responses"),
]
CALL = {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": '{"path": "a.png"}'}}
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
}


def user(text, **more):
    return LLMRequest([Message(role="user", content=text)], **more)


@pytest.mark.parametrize("settings", DIALECTS)
async def test_an_answer_with_reasoning_and_usage(provider, make_llm, settings):
    server = provider([answer("hello there", reasoning="a thought", cached_tokens=2)])
    response = await make_llm(server, **settings).call(user("a question"))
    assert (response.content, response.reasoning_content, response.finish_reason) == (
        "hello there",
        "a thought",
        "stop",
    )
    assert response.model_name == settings["model"].split("/")[1]
    told = server.requests[0].usage
    assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (told["prompt"], told["completion"])
    assert response.usage.cache_tokens == 2
    assert server.requests[0].last_text == "a question"


@pytest.mark.parametrize("model", ["lm_studio/lab", "openrouter/maker/lab", "hosted_vllm/lab"])
async def test_the_responses_api_of_any_provider(provider, make_llm, model):
    server = provider([answer("hello")])
    llm = make_llm(server, model, api="responses", llm_kwargs={"api_key": "not-a-real-key-0000"})
    assert (await llm.call(user("x"))).content == "hello"


@pytest.mark.parametrize("settings", DIALECTS)
async def test_a_cut_answer(provider, make_llm, settings):
    server = provider([answer("half", finish_reason="length")])
    response = await make_llm(server, **settings).call(user("x", max_output_tokens=70))
    assert (response.content, response.finish_reason) == ("half", "length")
    body = server.requests[0].json
    assert [body[name] for name in ("max_tokens", "max_output_tokens", "max_completion_tokens") if name in body] == [70]


@pytest.mark.parametrize("settings", DIALECTS)
async def test_native_tool_calls_there_and_back(provider, make_llm, settings):
    server = provider([answer("", tool_calls=[CALL], finish_reason="tool_calls"), answer("seen")])
    llm = make_llm(server, **settings)
    first = await llm.call(user("look at it", tools=[TOOL]))
    assert [call["function"] for call in first.tool_calls] == [CALL["function"]]
    assert first.tool_calls[0].keys() == {"id", "type", "function"}
    history = [
        Message(role="user", content="look at it"),
        Message(role="assistant", content=first.content, tool_calls=first.tool_calls),
        Message(role="tool", tool_call_id=first.tool_calls[0]["id"], content="a red square"),
    ]
    assert (await llm.call(LLMRequest(history, tools=[TOOL]))).content == "seen"
    assert b"a red square" in server.requests[1].body


@pytest.mark.parametrize("finish_reason", [pytest.param("length", id="ll-01-cut"), pytest.param("stop", id="ll-01")])
async def test_content_null_is_an_empty_answer(provider, make_llm, finish_reason):
    server = provider([answer(None, reasoning="still weighing options", finish_reason=finish_reason)])
    response = await make_llm(server).call(user("x"))
    assert (response.content, response.finish_reason) == ("", finish_reason)
    assert response.reasoning_content == "still weighing options"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        pytest.param(None, None, id="ll-03-none"),
        pytest.param(
            {"prompt_tokens": 12, "completion_tokens": None, "prompt_tokens_details": None},
            Usage(prompt_tokens=12),
            id="ll-03-partly",
        ),
        pytest.param(
            {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15, "prompt_cache_hit_tokens": 5},
            Usage(prompt_tokens=12, completion_tokens=3, cache_tokens=5),
            id="ll-03-other-name",
        ),
        pytest.param({"prompt_tokens": 12, "completion_tokens": 3}, Usage(12, 3), id="no-total"),
        pytest.param(
            {"prompt_tokens": 12, "completion_tokens": 3, "prompt_cache_hit_tokens": float("inf")},
            Usage(12, 3),
            id="infinite",
        ),
        pytest.param(
            {"prompt_tokens": 12, "completion_tokens": 3, "prompt_cache_hit_tokens": 10**400},
            Usage(12, 3),
            id="beyond-counting",
        ),
    ],
)
async def test_usage_is_what_the_provider_gave(provider, make_llm, sent, understood):
    server = provider([answer("text", usage=sent)])
    assert (await make_llm(server, model="openai/my-lab-model").call(user("x"))).usage == understood


async def test_an_unknown_price_is_no_cost_and_one_warning_ll_04(provider, make_llm, caplog):
    server = provider([answer("a"), answer("b")])
    llm = make_llm(server, model="openai/my-lab-model")
    costs = [(await llm.call(user("x"))).usage.cost_usd for _ in range(2)]
    assert costs == [None, None]
    assert not llm.knows_price
    assert [record.message for record in caplog.records if "price" in record.message] == [
        "openai/my-lab-model: the price is not known, the cost is not counted"
    ]


async def test_a_price_look_up_that_raises_loses_no_answer_ll_04(provider, make_llm, monkeypatch):
    import litellm  # noqa: PLC0415 - heavy: only where its function is replaced

    def broken(*_, **__):
        raise RuntimeError("the price list is broken")

    server = provider([answer("a")])
    llm = make_llm(server)
    await llm.prepare()
    monkeypatch.setattr(litellm, "completion_cost", broken)
    response = await llm.call(user("x"))
    assert (response.content, response.usage.cost_usd) == ("a", None)
    assert response.usage.prompt_tokens > 0


async def test_a_known_price_is_counted(provider, make_llm):
    server = provider([answer("four tokens here", cached_tokens=0)])
    llm = make_llm(server)
    response = await llm.call(user("a question"))
    assert llm.knows_price
    assert response.usage.cost_usd > 0


async def test_model_info_says_what_the_library_does_not_know(provider, make_llm):
    info = {
        "max_input_tokens": 9000,
        "max_output_tokens": 500,
        "input_cost_per_token": 2.0,
        "output_cost_per_token": 5.0,
        "cache_read_input_token_cost": 1.0,
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    server = provider([answer("text", usage=usage)])
    llm = make_llm(server, model="openai/my-lab-model", model_info=info)
    response = await llm.call(user("x"))
    assert response.usage.cost_usd == 6 * 2 + 4 * 1 + 3 * 5
    assert (llm.context_limit, llm.output_limit, llm.knows_price) == (9000, 500, True)


async def test_limits_come_from_the_library(provider, make_llm):
    llm = make_llm(provider([]), model=ANTHROPIC)
    await llm.prepare()
    assert llm.context_limit >= 200_000
    assert llm.output_limit >= 8_000


async def test_a_model_that_nobody_knows_has_no_limits(provider, make_llm):
    llm = make_llm(provider([]), model="hosted_vllm/lab")
    await llm.prepare()
    assert (llm.context_limit, llm.output_limit) == (None, None)


async def test_totals_are_the_providers_own(provider, make_llm):
    server = provider([answer("x" * n, cached_tokens=n % 3) for n in range(1, 9)])
    llm = make_llm(server)
    total = Usage()
    for n in range(8):
        total.add((await llm.call(user("y" * 10 * n + "z"))).usage)
    assert {
        "prompt": total.prompt_tokens,
        "completion": total.completion_tokens,
        "cached": total.cache_tokens,
    } == server.totals


@pytest.mark.parametrize("model", ["hosted_vllm/lab", "openai/lab"])
async def test_rollout_details(provider, make_llm, model):
    server = provider([answer("eight tokens make thirty-two ch.")])
    response = await make_llm(server, model=model, collect_rollout_details=True).call(user("twelve chars"))
    assert response.prompt_token_ids == [0, 1, 2]
    assert response.completion_token_ids == list(range(100, 108))
    assert response.logprobs == [-0.5 - n for n in range(8)]


async def test_without_rollout_details_none_are_asked_for(provider, make_llm):
    server = provider([answer("x")])
    response = await make_llm(server).call(user("x"))
    assert (response.prompt_token_ids, response.completion_token_ids, response.logprobs) == (None, None, None)
    assert {"logprobs", "return_token_ids", "session_id"}.isdisjoint(server.requests[0].json)


async def test_an_optional_field_that_is_refused_is_left_out_from_then_on(provider, make_llm, caplog):
    def picky(request):
        if "return_token_ids" in request.json:
            return fault(400, "Unrecognized request argument supplied: return_token_ids")
        return answer("fine")

    server = provider(picky)
    llm = make_llm(server, collect_rollout_details=True, session_id="s-1")
    attempts = []
    response = await llm.call(user("x", on_attempt=attempts.append))
    await llm.call(user("y"))
    assert response.content == "fine"
    assert attempts == [1, 2]
    assert len(server.requests) == 3
    assert server.requests[2].json["session_id"] == "s-1"
    assert server.requests[2].json["logprobs"] is True
    assert [record.message for record in caplog.records].count(
        "openai/gpt-4o-mini does not take return_token_ids: asked without"
    ) == 1


@pytest.mark.parametrize("max_attempts", [1, 3])
async def test_refused_fields_use_up_no_attempts(provider, make_llm, max_attempts):
    def picky(request):
        refused = [name for name in ("session_id", "return_token_ids", "logprobs") if name in request.json]
        if refused:
            return fault(400, f"Unrecognized request argument supplied: {refused[0]}")
        return answer("fine") if len(server.requests) > 4 else fault(503, "busy", headers={"Retry-After": "0"})

    server = provider(picky)
    llm = make_llm(server, collect_rollout_details=True, session_id="s-1", max_attempts=max_attempts)
    attempts = []
    if max_attempts == 1:
        with pytest.raises(LLMError, match=r"busy \(after 4 requests\)"):
            await llm.call(user("x", on_attempt=attempts.append))
    else:
        assert (await llm.call(user("x", on_attempt=attempts.append))).content == "fine"
    assert attempts == list(range(1, len(server.requests) + 1))
    assert len(server.requests) == 3 + min(max_attempts, 2)


async def test_a_field_that_is_refused_again_without_it_is_an_error(provider, make_llm):
    server = provider(lambda _: fault(400, "Unrecognized request argument supplied: session_id"))
    with pytest.raises(LLMError, match="session_id"):
        await make_llm(server, session_id="s-1").call(user("x"))
    assert len(server.requests) == 2


async def test_reasoning_goes_back_signed(provider, make_llm):
    server = provider([answer("one", reasoning="because"), answer("two")])
    llm = make_llm(server, model=ANTHROPIC, max_thinking_tokens=2000)
    first = await llm.call(user("x"))
    history = [
        Message(role="user", content="x"),
        Message(role="assistant", content=first.content, reasoning_content=first.reasoning_content),
        Message(role="user", content="y"),
    ]
    await llm.call(LLMRequest(history))
    assert server.requests[0].json["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert server.requests[1].json["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "because", "signature": "c2lnbmVk"},
        {"type": "text", "text": "one"},
    ]


@pytest.mark.parametrize(
    ("limit", "budget"), [(20_000, 16_000), (16_001, 16_000), (16_000, 8_000), (3500, 1750), (2048, 1024), (2047, None)]
)
async def test_thinking_fits_into_the_answers_limit(provider, make_llm, limit, budget):
    server = provider([answer("one")])
    await make_llm(server, model=ANTHROPIC, max_thinking_tokens=16_000).call(user("x", max_output_tokens=limit))
    body = server.requests[0].json
    assert body["max_tokens"] == limit
    assert body.get("thinking", {}).get("budget_tokens") == budget


async def test_signed_reasoning_outlives_calls_without_it(provider, make_llm):
    server = provider([answer("one", reasoning="because"), answer("aside", reasoning="therefore"), answer("two")])
    llm = make_llm(server, model=ANTHROPIC, max_thinking_tokens=2000)
    await llm.call(user("x"))
    await llm.call(user("beside the chat"))
    reply = Message(role="assistant", content="one", reasoning_content="because")
    await llm.call(LLMRequest([*user("x").messages, reply, *user("y").messages]))
    assert server.requests[2].json["messages"][1]["content"][0]["signature"] == "c2lnbmVk"


async def test_reasoning_goes_back_as_text_where_that_is_the_form(provider, make_llm):
    server = provider([answer("two")])
    history = [
        Message(role="user", content="x"),
        Message(role="assistant", content="one", reasoning_content="because"),
        Message(role="user", content="y"),
    ]
    await make_llm(server, model="hosted_vllm/lab").call(LLMRequest(history))
    assert server.requests[0].json["messages"][1]["reasoning_content"] == "because"


async def test_settings_and_keyword_arguments_reach_the_provider(provider, make_llm):
    server = provider([answer("x")])
    llm = make_llm(
        server,
        temperature=0.0,
        reasoning_effort="low",
        session_id="s-1",
        llm_kwargs={"extra_headers": {"X-Team": "blue"}, "seed": 1, "extra_body": {"a": 1, "b": 1}, "max_tokens": 50},
        llm_call_kwargs={"seed": 2, "extra_body": {"b": 2}},
        model="openai/lab",
    )
    await llm.call(user("x", max_output_tokens=200))
    body = server.requests[0].json
    assert (body["temperature"], body["reasoning_effort"], body["seed"], body["max_tokens"]) == (0.0, "low", 2, 50)
    assert (body["a"], body["b"], body["session_id"]) == (1, 2, "s-1")
    assert server.requests[0].headers["x-team"] == "blue"


async def test_parameters_that_a_provider_does_not_take_are_left_out(provider, make_llm, capfd):
    server = provider([answer("x")])
    llm = make_llm(server, model="openai/gpt-5", temperature=0.5, max_thinking_tokens=1024)
    assert (await llm.call(user("x"))).content == "x"
    assert {"temperature", "thinking"}.isdisjoint(server.requests[0].json)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("choice", "content"),
    [
        pytest.param({"message": {"content": "a"}, "logprobs": {"content": [{"token": "a"}]}}, "a", id="logprobs"),
        pytest.param({"message": {"content": "a"}, "token_ids": ["x"]}, "a", id="token-ids"),
        pytest.param({"message": {"content": "a"}, "token_ids": [float("inf")]}, "a", id="token-ids-infinite"),
        pytest.param({"message": {"content": "a"}, "finish_reason": None}, "a", id="no-reason"),
        pytest.param({"message": {"content": "a", "tool_calls": []}}, "a", id="no-calls"),
    ],
)
async def test_odd_answers_are_answers(provider, make_llm, choice, content):
    document = {
        "id": "1",
        "object": "chat.completion",
        "choices": [{"index": 0, **choice}],
        "usage": {"prompt_tokens": -3},
    }
    response = await make_llm(provider([raw(json.dumps(document).encode())]), model="openai/lab").call(user("x"))
    assert response.content == content
    assert (response.logprobs, response.completion_token_ids, response.tool_calls) == (None, None, None)
    assert response.usage is None


@pytest.mark.parametrize("choices", [[{}], [{"message": None}], "text", [None]])
async def test_what_is_no_answer_is_one_clear_line(provider, make_llm, choices):
    server = provider([raw(json.dumps({"choices": choices}).encode())])
    with pytest.raises(LLMError) as caught:
        await make_llm(server, max_attempts=1).call(user("x"))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        pytest.param(b"\x63\x61\x66\xe9 f\xf0\x9f\x98".decode("utf-8", "surrogateescape"), None, id="ll-11"),
        pytest.param("half a pair \ud83d", "half a pair \ufffd", id="half-pair"),
        pytest.param("a pair in halves \ud83d\ude00", "a pair in halves \U0001f600", id="pair-in-halves"),
        pytest.param("whole \U0001f600 é", "whole \U0001f600 é", id="well-formed"),
    ],
)
async def test_text_that_has_no_utf8_is_sent_with_replacement_characters(provider, make_llm, text, sent):
    server = provider([answer("x")])
    await make_llm(server).call(user(text))
    assert len(server.requests) == 1
    got = server.requests[0].last_text
    assert got == sent if sent else ("\ufffd" in got and got.startswith("caf\ufffd f"))


async def test_many_at_once(provider, make_llm):
    count = 60
    everybody = threading.Barrier(count)

    def together(request):
        everybody.wait(60)
        return answer(request.last_text)

    llm = make_llm(provider(together))
    answers = {}

    async def ask(n):
        answers[n] = (await llm.call(user(f"number {n}"))).content

    async with anyio.create_task_group() as group:
        for n in range(count):
            group.start_soon(ask, n)
    assert answers == {n: f"number {n}" for n in range(count)}


def test_no_model():
    with pytest.raises(ConfigError, match="needs a model"):
        LiteLLM(LiteLLM.Config())


@pytest.mark.parametrize("name", ["llm_kwargs", "llm_call_kwargs"])
@pytest.mark.parametrize("owned", ["model", "messages", "stream", "timeout", "max_retries", "num_retries"])
def test_keyword_arguments_may_not_take_the_place_of_a_setting(name, owned):
    with pytest.raises(ValidationError, match=f"'{owned}' may not stand here"):
        LiteLLM.Config(**{name: {owned: 1}})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model_info": {"max_input_tokens": "many"}}, "'max_input_tokens': Input should be a valid integer"),
        ({"model_info": {"max_output_tokens": -1}}, "'max_output_tokens': Input should be greater than 0"),
        ({"model_info": {"input_cost_per_token": "cheap"}}, "'input_cost_per_token': Input should be a valid number"),
        ({"model_info": {"output_cost_per_token": -1e-6}}, "'output_cost_per_token': Input should be greater than"),
        ({"model_info": {"output_cost_per_token": "nan"}}, "'output_cost_per_token': Input should be a finite number"),
        ({"llm_kwargs": {"max_tokens": "many"}}, "'max_tokens': Input should be a valid integer"),
        ({"llm_call_kwargs": {"max_completion_tokens": 0}}, "'max_completion_tokens': Input should be greater than 0"),
        ({"llm_kwargs": {"extra_body": "x"}}, "'extra_body' must be a table"),
    ],
)
def test_settings_of_a_wrong_kind(wrong, said):
    with pytest.raises(ValidationError, match=said):
        LiteLLM.Config(model="openai/x", **wrong)


async def test_numbers_may_be_texts(provider, make_llm):
    prices = {"input_cost_per_token": "1e-6", "output_cost_per_token": "2e-6"}
    server = provider([answer("text", usage={"prompt_tokens": 10, "completion_tokens": 3})])
    llm = make_llm(
        server,
        model="openai/lab",
        model_info={"max_input_tokens": "32000", **prices, "max_output_tokens": None},
        llm_kwargs={"max_tokens": "4096", "extra_body": None},
    )
    response = await llm.call(user("x", max_output_tokens=5000))
    assert (llm.context_limit, llm.output_limit) == (32000, None)
    assert server.requests[0].json["max_tokens"] == 4096
    assert response.usage.cost_usd == pytest.approx(16e-6)


@pytest.mark.parametrize("wrong", [{"max_attempts": 0}, {"timeout_sec": 0}, {"api": "soap"}, {"tempratur": 1}])
def test_wrong_settings(wrong):
    with pytest.raises(ValidationError):
        LiteLLM.Config(model="openai/x", **wrong)


@pytest.mark.parametrize("settings", DIALECTS)
@pytest.mark.parametrize("arguments", ["{cut off", "[1]", ""])
async def test_unreadable_tool_calls_in_the_history_do_no_harm(provider, make_llm, settings, arguments):
    server = provider([answer("again")])
    call = {"id": "call_a", "type": "function", "function": {"name": "look", "arguments": arguments}}
    history = [
        Message(role="user", content="look at it"),
        Message(role="assistant", content="", tool_calls=[call]),
        Message(role="tool", tool_call_id="call_a", content="those were no arguments"),
    ]
    response = await make_llm(server, **settings).call(LLMRequest(history, tools=[TOOL]))
    assert response.content == "again"
    assert b"unreadable" in server.requests[0].body
    assert call["function"]["arguments"] == arguments


async def test_images_are_known_to_be_taken_or_not(provider, make_llm):
    models = {ANTHROPIC: {}, "hosted_vllm/lab": {}, "hosted_vllm/seeing": {"model_info": {"supports_vision": True}}}
    seen = {}
    for model, settings in models.items():
        llm = make_llm(provider([]), model=model, **settings)
        await llm.prepare()
        seen[model] = llm.supports_images
    assert seen == {ANTHROPIC: True, "hosted_vllm/lab": False, "hosted_vllm/seeing": True}
