"""Provider faults: what is tried again, what is not, and what the user reads."""

import json
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise, repeat

import anyio
import pytest

from terminus_core import ConfigError, ContextLengthExceededError, LLMError, LLMRequest, Message
from terminus_plugins.llms.litellm.llm import LiteLLM
from tests.support.provider_server import answer, cut, fault, raw, refused_url, silent

pytestmark = pytest.mark.anyio

NOW = {"Retry-After": "0"}
KEY = "not-a-real-key-0000"


def user(text="x", **more):
    return LLMRequest([Message(role="user", content=text)], **more)


async def failure(llm, **more):
    with pytest.raises(LLMError) as caught:
        await llm.call(user(**more))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(llm.model_name)
    return caught.value


def gaps(server):
    return [later.time - earlier.time for earlier, later in pairwise(server.requests)]


# -- retries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [pytest.param(429, id="ll-06"), 408, 500, 502, 503, 529])
async def test_a_lasting_transient_fault_is_max_attempts_requests(provider, make_llm, status):
    server = provider(repeat(fault(status, "come back later", headers=NOW)))
    attempts = []
    error = await failure(make_llm(server, max_attempts=3), on_attempt=attempts.append)
    assert len(server.requests) == 3
    assert attempts == [1, 2, 3]
    assert str(status) in str(error)
    assert str(error).endswith("come back later (after 3 requests)")


@pytest.mark.parametrize("status", [pytest.param(401, id="ll-06"), 400, 403, 404, 422])
async def test_a_fault_that_stays_is_one_request(provider, make_llm, status):
    server = provider(repeat(fault(status, "no such thing")))
    error = await failure(make_llm(server, max_attempts=3))
    assert len(server.requests) == 1
    assert str(status) in str(error)
    assert str(error).endswith("no such thing")


@pytest.mark.parametrize(
    ("anyio_backend", "model"),
    [
        ("asyncio", "openai/gpt-4o-mini"),
        ("trio", "openai/gpt-4o-mini"),
        ("asyncio", "anthropic/claude-sonnet-4-5"),
        ("trio", "hosted_vllm/lab"),
    ],
)
async def test_retry_after_is_obeyed(provider, make_llm, model):
    server = provider([fault(429, headers={"Retry-After": "3"}), answer("done")])
    assert (await make_llm(server, model=model).call(user())).content == "done"
    assert gaps(server)[0] >= 3


async def test_retry_after_may_be_a_date(provider, make_llm):
    def busy(request):
        if len(server.requests) > 1:
            return answer("done")
        then = datetime.now(UTC) + timedelta(seconds=4)  # without its microseconds, so 3 to 4 s from now
        return fault(503, headers={"Retry-After": format_datetime(then, usegmt=True)})

    server = provider(busy)
    assert (await make_llm(server).call(user())).content == "done"
    assert gaps(server)[0] >= 2.9


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("%a %b %d %H:%M:%S %Y", id="asctime"),
        pytest.param("%a, %d %b %Y %H:%M:%S", id="no-zone"),
        pytest.param("%a, %d %b %Y %H:%M:%S -0000", id="unknown-zone"),
    ],
)
async def test_a_retry_after_date_without_a_zone_is_utc(provider, make_llm, form):
    then = datetime.now(UTC) + timedelta(hours=2)
    server = provider(repeat(fault(429, "busy", headers={"Retry-After": then.strftime(form)})))
    assert "asks to wait" in str(await failure(make_llm(server)))
    assert len(server.requests) == 1


async def test_nobody_waits_for_hours(provider, make_llm):
    server = provider(repeat(fault(429, "quota", headers={"Retry-After": "7200"})))
    error = await failure(make_llm(server))
    assert len(server.requests) == 1
    assert "asks to wait 7200 s" in str(error)


async def test_pauses_grow(provider, make_llm):
    server = provider([fault(500), fault(500), answer("done")])
    assert (await make_llm(server).call(user())).content == "done"
    first, second = gaps(server)
    assert first >= 1
    assert second >= 2


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(silent(), "no answer within the time limit", id="silent"),
        pytest.param(cut(), "closed connection", id="closed-in-the-middle"),
        pytest.param(raw(b"<html>no model here</html>", content_type="text/html"), "no model here", id="not-json"),
        pytest.param(raw(b'{"half": '), "", id="broken-json"),
        pytest.param(
            raw(b'{"id": "1", "object": "chat.completion", "choices": []}'), "without choices", id="no-choices"
        ),
    ],
)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # each pause takes seconds; trio has the test below
async def test_an_answer_that_is_none_is_asked_for_again(provider, make_llm, reply, said):
    server = provider(repeat(reply))
    error = await failure(make_llm(server, max_attempts=2, timeout_sec=2))
    assert len(server.requests) == 2
    assert said in str(error)
    assert str(error).endswith("(after 2 requests)")


async def test_a_refused_connection_is_tried_again_and_named(make_llm, provider):
    attempts = []
    llm = make_llm(provider([]), api_base=refused_url(), max_attempts=2)
    error = await failure(llm, on_attempt=attempts.append)
    assert attempts == [1, 2]
    assert "Connection refused" in str(error)


async def test_a_fault_that_passes_does_no_harm(provider, make_llm):
    server = provider([cut(), fault(500, headers=NOW), answer("done")])
    attempts = []
    response = await make_llm(server).call(user(on_attempt=attempts.append))
    assert response.content == "done"
    assert attempts == [1, 2, 3]


async def test_max_attempts_one_is_one_request(provider, make_llm):
    server = provider(repeat(fault(500, "oops")))
    error = await failure(make_llm(server, max_attempts=1))
    assert len(server.requests) == 1
    assert str(error) == "openai/gpt-4o-mini: HTTP 500 Internal Server Error: oops (after 1 request)"


# -- cancel ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(silent(), id="ll-07"),
        pytest.param(fault(429, headers={"Retry-After": "60"}), id="cl-03-in-a-pause"),
    ],
)
async def test_a_cancel_comes_through_at_once(provider, make_llm, reply):
    server = provider(repeat(reply))
    llm = make_llm(server, max_attempts=5)
    outcome = []

    async def ask():
        try:
            await llm.call(user())
        except BaseException as error:
            outcome.append(error)
            raise

    with anyio.fail_after(20):  # far below the time limit and the pause
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.to_thread.run_sync(server.wait_for, 1)
            group.cancel_scope.cancel()
    assert [type(error) for error in outcome] == [anyio.get_cancelled_exc_class()]
    assert len(server.requests) == 1


# -- context overflow --------------------------------------------------------------------------------------------------

TOO_LONG = [
    pytest.param(
        400, "400 bad request: prompt has 9000 tokens while this model's context length is 8192", id="ll-05-1"
    ),
    pytest.param(400, "400 bad request: input tokens 300000 above the configured limit of 272000", id="ll-05-2"),
    pytest.param(
        400,
        "400 bad request: input length and max_tokens together exceed context limit 180000 + 32000 > 200000",
        id="ll-05-3",
    ),
    pytest.param(413, "413: prompt is too long", id="ll-05-4"),
    pytest.param(413, "Payload refused", id="413"),
    pytest.param(400, "This model's maximum context length is 8192 tokens. However, you requested 9000", id="openai"),
    pytest.param(400, "Your input exceeds the context window of this model.", id="openai-responses"),
    pytest.param(400, "prompt is too long: 210000 tokens > 200000 maximum", id="anthropic"),
    pytest.param(400, "The input token count (9000) exceeds the maximum number of tokens allowed (8192).", id="google"),
    pytest.param(400, "Input is too long for requested model.", id="bedrock"),
    pytest.param(400, "Prompt contains 9000 tokens and is too large for model with 8192 context", id="mistral"),
    pytest.param(400, "too many tokens: total number of tokens in the prompt cannot exceed 4081", id="cohere"),
    pytest.param(400, "This model's maximum prompt length is 131072 but the request contains 140000", id="xai"),
    pytest.param(400, "Please reduce the length of the messages or completion.", id="groq"),
    pytest.param(400, "the request exceeds the available context size, try increasing it", id="llama.cpp"),
    pytest.param(500, "the request exceeds the available context size, try increasing it", id="llama.cpp-older"),
    pytest.param(400, "The decoder prompt (length 9) is longer than the maximum model length of 8", id="vllm"),
    pytest.param(400, "The input (9000 tokens) is longer than the model's context length (8192 tokens).", id="sglang"),
    pytest.param(422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", id="tgi"),
    pytest.param(400, "tokens to keep from the initial prompt is greater than the context length", id="lm-studio"),
    pytest.param(400, "Current length is 9000 while limit is 8192", id="cerebras"),
    pytest.param(400, "Your request exceeded model token limit: 262144", id="moonshot"),
    pytest.param(400, "invalid params, context window exceeds limit", id="minimax"),
    pytest.param(400, "Range of input length should be [1, 30720]", id="dashscope"),
    pytest.param(400, "length of prompt_tokens (40000) must be less than max_seq_len (32768).", id="tensorrt"),
]
SOMETHING_ELSE = [
    pytest.param(400, '400 bad request: unknown field "foo"', id="ll-05-5"),
    pytest.param(429, "429: too many tokens per minute", id="ll-05-6"),
    pytest.param(429, "Request too large: input tokens exceed the limit per minute", id="rate-of-tokens"),
    pytest.param(
        400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens", id="output"
    ),
    pytest.param(
        400,
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that "
        "is lower than 4096.",
        id="bedrock-output",
    ),
    pytest.param(400, "messages.3: image exceeds 5 MB maximum: input is too large", id="image"),
    pytest.param(400, "Your request exceeds your spending limit", id="money"),
    pytest.param(403, "You exceeded your current quota for input tokens", id="quota"),
    pytest.param(504, "context deadline exceeded", id="go-timeout"),
    pytest.param(500, "context deadline exceeded while reading the input", id="go-timeout-500"),
    pytest.param(404, "The model `context-length-9` does not exist", id="no-such-model"),
    pytest.param(400, "temperature is above the maximum", id="temperature"),
]


@pytest.mark.parametrize(("status", "words"), TOO_LONG)
async def test_too_long_is_recognised_and_not_tried_again(provider, make_llm, status, words):
    server = provider(repeat(fault(status, words, headers=NOW)))
    error = await failure(make_llm(server, max_attempts=2))
    assert isinstance(error, ContextLengthExceededError)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("status", "words"), SOMETHING_ELSE)
async def test_nothing_else_is_too_long(provider, make_llm, status, words):
    server = provider(repeat(fault(status, words, headers=NOW)))
    assert type(await failure(make_llm(server, max_attempts=2))) is LLMError
    assert len(server.requests) == (2 if status in (429, 500, 504) else 1)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "anthropic/claude-sonnet-4-5"},
        {"model": "hosted_vllm/lab"},
        {"model": "openai/gpt-5", "api": "responses"},
    ],
)
@pytest.mark.parametrize("reply", [fault(413, "hm"), fault(400, "hm", code="context_length_exceeded")])
async def test_too_long_in_other_dialects(provider, make_llm, settings, reply):
    server = provider(repeat(reply))
    error = await failure(make_llm(server, **settings))
    assert isinstance(error, ContextLengthExceededError)
    assert len(server.requests) == 1


ANTHROPIC_ERROR = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}


@pytest.mark.parametrize(
    "quoted",
    [
        pytest.param(json.dumps(ANTHROPIC_ERROR), id="json"),
        pytest.param(ANTHROPIC_ERROR, id="object"),
        pytest.param("prompt is too long: 9 > 8", id="text"),
        pytest.param('{"cut off": "prompt is too long: 9 > 8', id="broken"),
    ],
)
@pytest.mark.parametrize("model", ["openrouter/anthropic/claude-sonnet-4.5", "openai/lab"])
async def test_too_long_as_a_gateway_quotes_it(provider, make_llm, monkeypatch, model, quoted):
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": quoted, "provider_name": "x"}}
    server = provider([raw(json.dumps({"error": error}).encode(), status=400)])
    error = await failure(make_llm(server, model=model))
    assert isinstance(error, ContextLengthExceededError)
    assert "Provider returned error: " in str(error)
    assert "prompt is too long: 9 > 8" in str(error)


# -- what the user reads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [{"error": "flat"}, {"message": "flat"}, {"detail": "flat"}, [{"error": {"message": "flat"}}]]
)
async def test_the_providers_own_words_in_whatever_form(provider, make_llm, body):
    server = provider([raw(json.dumps(body).encode(), status=400)])
    assert str(await failure(make_llm(server))) == "openai/gpt-4o-mini: HTTP 400 Bad Request: flat"


async def test_a_deeply_nested_error_is_a_text(provider, make_llm):
    error = await failure(make_llm(provider([raw(b"[" * 100_000, status=400)])))
    assert "HTTP 400 Bad Request: [[[" in str(error)


async def test_a_long_error_is_cut(provider, make_llm):
    error = await failure(make_llm(provider([fault(400, "blah\n" * 10_000)])))
    assert len(str(error)) < 700


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5"])
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(f"Incorrect API key provided: {KEY}", id="tr-06-api_key"),
        pytest.param(f"header Authorization: Bearer {KEY} refused", id="tr-06-header"),
        pytest.param("no access with sk-proj-AAAAexampleAAAAexample", id="tr-06-form"),
        pytest.param("no access with AKIAEXAMPLEEXAMPLE00", id="tr-06-aws"),
        pytest.param("GET https://joe:hunter22@host/v1?key=hunter22 failed", id="url"),
        pytest.param("token environment-secret-1 is expired", id="environment"),
        pytest.param(f"*** {'x' * 485} {KEY}", id="where-the-text-is-cut"),
    ],
)
async def test_no_key_in_an_error(provider, make_llm, monkeypatch, model, words):
    monkeypatch.setenv("SOME_API_KEY", "environment-secret-1")
    server = provider([fault(500, words, headers=NOW), fault(401, words)])
    error = await failure(make_llm(server, model=model, llm_kwargs={"api_key": KEY}, max_attempts=2))
    assert "***" in str(error)
    everything = "".join(traceback.format_exception(error))
    for secret in (KEY[:9], "AAAAexample", "EXAMPLE00", "hunter22", "environment-secret-1"):
        assert secret not in everything


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("X-Auth", {"extra_headers": {"X-Auth": "s3cr3tvalue9"}}),
        ("passphrase", {"extra_body": {"passphrase": "s3cr3tvalue9"}}),
        ("apiToken", {"extra_body": {"apiToken": "s3cr3tvalue9"}}),
    ],
)
async def test_what_settings_mask_no_error_quotes(provider, make_llm, name, kwargs):
    server = provider([fault(401, f"refused {name}: s3cr3tvalue9")])
    error = await failure(make_llm(server, llm_kwargs=kwargs))
    assert f"refused {name}: ***" in str(error)
    assert "s3cr3tvalue9" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
        ("groq/llama-3.3-70b-versatile", "GROQ_API_KEY"),
    ],
)
@pytest.mark.usefixtures("_warm")
async def test_a_missing_key_is_named_before_any_request(model, variable):
    attempts = []
    llm = LiteLLM(LiteLLM.Config(model=model))
    with pytest.raises(LLMError, match=f"{variable} is not set"):
        await llm.prepare()
    error = await failure(llm, on_attempt=attempts.append)
    assert error.exit_code == 3
    assert attempts == []


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
        ("together_ai/lab", "TOGETHERAI_API_KEY"),
    ],
)
@pytest.mark.parametrize("value", ["", " "])
@pytest.mark.usefixtures("_warm")
async def test_an_empty_key_is_a_missing_key(monkeypatch, model, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(LLMError, match=f"{variable} is not set") as caught:
        await LiteLLM(LiteLLM.Config(model=model)).prepare()
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("model", "empty", "other"),
    [
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    ],
)
@pytest.mark.usefixtures("_warm")
async def test_an_empty_key_does_no_harm_beside_another(monkeypatch, model, empty, other):
    monkeypatch.setenv(empty, "")
    monkeypatch.setenv(other, KEY)
    await LiteLLM(LiteLLM.Config(model=model)).prepare()


async def test_an_empty_key_does_no_harm_at_a_server_of_ones_own(provider, make_llm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert (await make_llm(provider([answer("x")])).call(user())).content == "x"


@pytest.mark.usefixtures("_warm")
@pytest.mark.parametrize("model", ["azure/lab", "azure_ai/lab"])
async def test_what_fails_before_any_request_is_not_tried_again(model):
    attempts = []
    error = await failure(LiteLLM(LiteLLM.Config(model=model)), on_attempt=attempts.append)
    assert attempts == [1]
    assert "no request could be sent" in str(error)
    assert "500" not in str(error)


async def test_a_key_of_digits_is_a_key(provider, make_llm):
    server = provider([answer("x")])
    await make_llm(server, llm_kwargs={"api_key": 1234, "extra_headers": {"X-Secret": 12.5}}).call(user())
    assert server.requests[0].headers["authorization"] == "Bearer 1234"
    assert server.requests[0].headers["x-secret"] == "12.5"


async def test_a_server_of_ones_own_needs_no_key(provider, make_llm):
    server = provider([answer("x")])
    assert (await make_llm(server).call(user())).content == "x"


@pytest.mark.usefixtures("_warm")
async def test_a_model_without_a_provider(capfd):
    with pytest.raises(ConfigError, match="names no provider that litellm knows: write PROVIDER/MODEL"):
        await LiteLLM(LiteLLM.Config(model="my-lab-model")).prepare()
    assert capfd.readouterr() == ("", "")
