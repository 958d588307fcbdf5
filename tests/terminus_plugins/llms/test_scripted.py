"""The scripted model: files, lists, folders, faults."""

import json
from dataclasses import asdict, fields

import pytest
from pydantic import ValidationError

from terminus_core import ConfigError, ContextLengthExceededError, LLMError, LLMRequest, LLMResponse, Message, Usage
from terminus_plugins.llms.scripted import ScriptedLLM, terminus_register_llms

pytestmark = pytest.mark.anyio

ASK = LLMRequest([Message(role="user", content="x")])


def from_file(path, **settings):
    return ScriptedLLM(ScriptedLLM.Config(replies=path, **settings))


@pytest.fixture
def script(tmp_path):
    def write(*lines, name="script.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
        return path

    return write


async def test_replies_come_in_order_and_end(script):
    llm = from_file(script({"content": "one"}, "", {"content": "two", "finish_reason": "length"}))
    attempts = []
    first = await llm.call(LLMRequest(ASK.messages, on_attempt=attempts.append))
    second = await llm.call(ASK)
    assert first == LLMResponse(content="one", model_name="scripted", finish_reason="stop")
    assert (second.content, second.finish_reason) == ("two", "length")
    assert attempts == [1]
    with pytest.raises(LLMError, match="no more than 2 replies") as caught:
        await llm.call(ASK)
    assert caught.value.exit_code == 3
    assert not isinstance(caught.value, ContextLengthExceededError)


async def test_every_field_of_a_response_can_be_scripted(script):
    response = LLMResponse(
        content="text\u2028with 'odd' breaks",
        reasoning_content="thought",
        model_name="lab-1",
        usage=Usage(12, 3, 4, 0.5),
        tool_calls=[{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        finish_reason="tool_calls",
        prompt_token_ids=[1, 2],
        completion_token_ids=[3],
        logprobs=[-0.25],
        extra={"seen": True},
    )
    assert all(getattr(response, field.name) for field in fields(LLMResponse))
    line = json.dumps(asdict(response), ensure_ascii=False)
    assert await from_file(script(line)).call(ASK) == response


async def test_a_runs_folder_is_replayed(script):
    path = script({"content": "as received"}, name="replies.jsonl")
    assert (await from_file(path.parent).call(ASK)).content == "as received"


async def test_a_killed_run_is_replayed_up_to_its_last_whole_line(tmp_path):
    whole = json.dumps({"content": "as rec\u00e9ived"}, ensure_ascii=False).encode()
    for end in range(1, len(whole)):
        (tmp_path / "replies.jsonl").write_bytes(whole + b"\n" + whole[:end])
        llm = from_file(tmp_path)
        assert (await llm.call(ASK)).content == "as rec\u00e9ived"
        with pytest.raises(LLMError, match="no more than 1 replies"):
            await llm.call(ASK)
    (tmp_path / "replies.jsonl").write_bytes(whole[:9] + b"\n" + whole)
    with pytest.raises(ConfigError, match=r"replies\.jsonl:1: not JSON"):
        from_file(tmp_path)


async def test_a_path_may_begin_at_home(script, monkeypatch):
    path = script({"content": "home"})
    monkeypatch.setenv("HOME", str(path.parent))
    assert (await from_file("~/script.jsonl").call(ASK)).content == "home"


async def test_a_list_of_texts_and_objects():
    llm = ScriptedLLM(["plain", {"content": None}, {"content": "with usage", "usage": {"prompt_tokens": 5}}])
    answers = [await llm.call(ASK) for _ in range(3)]
    assert [answer.content for answer in answers] == ["plain", "", "with usage"]
    assert [answer.usage for answer in answers] == [None, None, Usage(prompt_tokens=5)]


async def test_error_lines_fail_like_a_provider():
    llm = ScriptedLLM([{"error": "on fire"}, {"error": "context_length_exceeded: 9000 > 8192"}, "alive"])
    with pytest.raises(LLMError, match="scripted: on fire") as caught:
        await llm.call(ASK)
    assert type(caught.value) is LLMError
    with pytest.raises(ContextLengthExceededError, match="9000 > 8192"):
        await llm.call(ASK)
    assert (await llm.call(ASK)).content == "alive"


async def test_one_answer_does_not_share_its_values_with_the_next_run(script):
    path = script({"content": "a", "extra": {"n": 1}, "usage": {"prompt_tokens": 1}})
    first = await from_file(path).call(ASK)
    first.usage.add(Usage(prompt_tokens=5))
    assert (await from_file(path).call(ASK)).usage == Usage(prompt_tokens=1)


async def test_names_and_limits():
    llm = ScriptedLLM(
        ScriptedLLM.Config(replies=["a", {"model_name": "b"}], model="lab/x", context_limit=100, output_limit=10)
    )
    assert (llm.model_name, llm.context_limit, llm.output_limit, llm.knows_price) == ("lab/x", 100, 10, True)
    assert [(await llm.call(ASK)).model_name for _ in range(2)] == ["lab/x", "b"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{nonsense", "not JSON"),
        ("[1]", "not a reply"),
        ("7", "not a reply"),
        ('{"contents": "a"}', "contents: Extra inputs are not permitted"),
        ('{"content": 7}', "content: Input should be a valid string"),
        ('{"usage": {"prompt_tokens": -1}}', "usage.prompt_tokens"),
        ('{"usage": {"tokens": 1}}', "usage.tokens"),
    ],
)
def test_a_bad_line_is_named(script, line, said):
    path = script({"content": "good"}, "", line)
    with pytest.raises(ConfigError) as caught:
        from_file(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_reply_of_a_list_is_named():
    with pytest.raises(ConfigError, match=r"^reply 2: not a reply: finish: "):
        ScriptedLLM(["good", {"finish": 1}])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        from_file(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match=r"replies\.jsonl cannot be read"):
        from_file(tmp_path)


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "script.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        from_file(path)


def test_no_replies_at_all():
    with pytest.raises(ConfigError, match="needs replies"):
        ScriptedLLM(ScriptedLLM.Config())


def test_an_unknown_setting():
    with pytest.raises(ValidationError):
        ScriptedLLM.Config(reply=["a"])


def test_it_is_registered():
    assert terminus_register_llms() == [ScriptedLLM]


# -- token estimates (both LLMs share them) ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "least", "most"),
    [
        pytest.param({"role": "user", "content": "prose of four words"}, 4, 15, id="prose"),
        pytest.param({"role": "user", "content": "测试" * 50}, 100, 110, id="chinese"),
        pytest.param({"role": "user", "content": "half a pair \ud83d"}, 4, 20, id="surrogate"),
        pytest.param({"role": "user", "content": [{"type": "text", "text": "a" * 300}]}, 75, 150, id="text-part"),
        pytest.param(
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}],
            },
            500,
            3000,
            id="image-part",
        ),
        pytest.param(
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": "x" * 300}}]},
            75,
            150,
            id="calls",
        ),
        pytest.param({"role": "assistant", "content": "", "reasoning_content": "x" * 300}, 75, 150, id="reasoning"),
    ],
)
def test_token_estimates(message, least, most):
    llm = ScriptedLLM([])
    assert least <= llm.count_tokens([message]) <= most
    assert llm.count_tokens([message, message]) == 2 * llm.count_tokens([message])
