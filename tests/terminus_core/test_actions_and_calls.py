"""Actions, images and native calls: how the loop does, sends and records them."""

import base64
import json
from typing import ClassVar

import pytest

from terminus_core import (
    Action,
    ActionCall,
    Command,
    ContentPart,
    ContextLengthExceededError,
    ContextStrategy,
    Gate,
    LLMError,
    LLMResponse,
    ParseResult,
    ResponseParser,
    TerminusError,
    ToolCall,
    hookimpl,
)
from terminus_core.testing import FakeLLM

pytestmark = pytest.mark.anyio

PIXELS = base64.b64encode(b"pixels").decode()
IMAGE = ContentPart(type="image_url", image_url={"url": f"data:image/png;base64,{PIXELS}"})


class Act(Action):
    name = "act"
    description = "Does what it was made for."
    parameters: ClassVar = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}

    def __init__(self, **results):
        self._results = results

    async def perform(self, run, arguments):
        result = self._results[arguments["what"]]
        if isinstance(result, Exception):
            raise result
        return result


class ActingParser(ResponseParser):
    """Each native call types its name; `!word` alone is an action; DONE claims."""

    name = "acting"
    error_response_type = "call"

    def __init__(self):
        self.tools = [{"type": "function", "function": {"name": "type", "parameters": {}}}]
        self.seen = None

    def prepare(self, run):
        self.seen = (run.session is not None, run.llm.model_name)

    def build_prompt(self, instruction, terminal_state):
        return instruction

    def parse_response(self, response):
        typed = [
            Command(call["function"]["name"] + "\n", 0.5, call_id=call["id"]) for call in response.tool_calls or []
        ]
        words = response.content.split()
        actions = [ActionCall("act", {"what": word[1:]}) for word in words if word.startswith("!")]
        return ParseResult(typed, actions=actions, is_task_complete="DONE" in words)

    def completion_confirmation(self, terminal_output):
        return "SURE?"

    def recorded_calls(self, response, reply):
        typed = {command.call_id: command.keystrokes for command in reply.commands}
        return [
            ToolCall(
                tool_call_id=each["id"], function_name=each["function"]["name"], arguments={"keys": typed[each["id"]]}
            )
            for each in response.tool_calls
        ]


def calling(*names):
    calls = [
        {"id": f"model-{name}", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names
    ]
    return LLMResponse("", tool_calls=calls)


async def test_calls_are_recorded_with_the_models_own_ids(trial):
    t = trial([calling("a", "b"), calling("c"), "DONE", "DONE"], parser=ActingParser())
    await t.run()
    recorded = [[(each.tool_call_id, each.function_name) for each in step.tool_calls] for step in t.steps[1:4]]
    assert recorded == [
        [("model-a", "a"), ("model-b", "b")],
        [("model-c", "c")],
        [("call_2_task_complete", "mark_task_complete")],
    ]
    named = [step.observation.results[0].source_call_id for step in t.steps[1:]]
    assert named == [None, "model-c", None, None]
    assert [message["role"] for message in t.llm.requests[1][-2:]] == ["tool", "tool"]


ODD_CALLS = [
    pytest.param([{}], id="empty"),
    pytest.param(["x"], id="text"),
    pytest.param([None], id="nothing"),
    pytest.param([{"function": {"name": "type", "arguments": "{}"}}], id="no-id"),
    pytest.param([{"id": None, "function": {"name": None, "arguments": None}}], id="nulls"),
    pytest.param([{"id": 5, "function": "type"}], id="text-as-function"),
    pytest.param([{"id": "a", "function": {"name": ["type"], "arguments": [1, {2}]}}], id="lists"),
    pytest.param([{"id": "\ud83d", "function": {"name": "\ud83d", "arguments": "\ud83d"}}], id="half-pairs"),
]


@pytest.mark.parametrize("parser", ["tools", "json", None])
@pytest.mark.parametrize("calls", ODD_CALLS)
async def test_a_call_of_an_odd_shape_is_text_for_the_model(trial, calls, parser):
    answers = [LLMResponse("", tool_calls=calls) for _ in range(3)]
    t = trial(
        answers, parser=parser or ActingParser(), max_episodes=3, settings={"trajectory": {"linear_history": True}}
    )
    assert (await t.run()).status == "max_episodes"
    call = t.llm.requests[-1][-2]["tool_calls"][0]
    answer = t.llm.requests[-1][-1]
    assert (answer["role"], answer["tool_call_id"]) == ("tool", call["id"])
    assert all(isinstance(each, str) for each in (call["id"], *call["function"].values()))
    json.dumps(t.llm.requests, ensure_ascii=False).encode()


@pytest.mark.parametrize("calls", [[], {}, "x", 5])
async def test_what_is_no_list_of_calls_is_no_call(trial, calls):
    t = trial([LLMResponse("DONE", tool_calls=calls)] * 2)
    assert (await t.run()).status == "completed"
    assert [message["role"] for message in t.llm.requests[1]] == ["user", "assistant", "user"]


async def test_calls_with_one_id_are_told_apart(trial):
    def call(keystrokes):
        arguments = {"analysis": "a", "plan": "p", "commands": [{"keystrokes": keystrokes, "duration": 1}]}
        return {"id": "one", "function": {"name": "execute_commands", "arguments": json.dumps(arguments)}}

    t = trial([LLMResponse("", tool_calls=[call("a\n"), call("b\n"), call("c\n")])], parser="tools", max_episodes=1)
    await t.run()
    recorded = {each.tool_call_id: each.arguments["commands"] for each in t.steps[1].tool_calls}
    assert [[command["keystrokes"] for command in commands] for commands in recorded.values()] == [
        ["a\n"],
        ["b\n"],
        ["c\n"],
    ]
    assert next(iter(recorded)) == "one"


async def test_what_a_gate_changes_and_adds_is_recorded(trial):
    class Polite(Gate):
        name = "polite"

        async def before_commands(self, run, reply):
            reply.commands[0].keystrokes = "please\n"
            return ParseResult([*reply.commands, Command("thanks\n", 0.5)])

    t = trial([calling("a"), "DONE", "DONE"], parser=ActingParser(), gates=[Polite()])
    await t.run()
    assert [keys for keys, _ in t.session.sent] == ["please\n", "thanks\n"]
    assert [(each.tool_call_id, each.arguments) for each in t.steps[1].tool_calls] == [
        ("model-a", {"keys": "please\n"}),
        ("call_0_2", {"keystrokes": "thanks\n", "duration": 0.5}),
    ]


async def test_raw_content_records_no_calls(trial):
    t = trial([calling("a"), "DONE", "DONE"], parser=ActingParser(), settings={"trajectory": {"raw_content": True}})
    await t.run()
    assert t.steps[1].tool_calls is None
    assert t.steps[1].observation.results[0].source_call_id is None


async def test_a_parser_is_prepared_when_all_is_there(trial):
    parser = ActingParser()
    await trial(["DONE", "DONE"], parser=parser).run()
    assert parser.seen == (True, "fake-model")


async def test_results_of_actions_join_the_observation(trial):
    results = {"text": "it is done", "fails": TerminusError("no such thing")}
    t = trial(["!text !fails", "DONE", "DONE"], parser=ActingParser(), actions=[Act(**results)], outputs=["$ ", "seen"])
    await t.run()
    assert t.prompts[1] == "New Terminal Output:\nseen\n\nit is done\n\nact: no such thing"
    assert [(each.tool_call_id, each.function_name, each.arguments) for each in t.steps[1].tool_calls] == [
        ("call_0_action_1", "act", {"what": "text"}),
        ("call_0_action_2", "act", {"what": "fails"}),
    ]


async def test_images_are_sent_once_more_kept_and_recorded_beside_the_text(trial):
    shown = [ContentPart(type="text", text="here it is"), IMAGE]
    t = trial(
        ["!image", "!image", "DONE", "DONE"], parser=ActingParser(), actions=[Act(image=shown)], outputs=["$ ", "seen"]
    )
    result = await t.run()
    text, image = t.llm.requests[1][-1]["content"]
    assert text["text"] == "New Terminal Output:\nseen\n\nhere it is"
    assert image == IMAGE
    first, second = [step.observation.results[0].content for step in t.steps[1:3]]
    assert first[0].text == text["text"]
    assert first[1].source == second[1].source
    (path,) = [each for each in result.files if each.parent.name == "images"]
    assert path.read_bytes() == b"pixels"


async def test_an_image_that_cannot_be_kept_is_logged_and_still_sent(trial, caplog):
    odd = ContentPart(type="image_url", image_url={"url": "data:image/tiff;base64,AAAA"})
    t = trial(["!odd", "DONE", "DONE"], parser=ActingParser(), actions=[Act(odd=[odd])])
    await t.run()
    assert t.llm.requests[1][-1]["content"][-1] == odd
    assert len(t.steps[1].observation.results[0].content) == 1
    assert "Failed to keep an image" in caplog.text


@pytest.mark.parametrize("kind", [LLMError, ContextLengthExceededError])
async def test_a_provider_that_refuses_the_images_is_asked_without(trial, kind):
    llm = FakeLLM(["!image", kind("bad image"), "DONE", "DONE"])
    t = trial([], llm=llm, parser=ActingParser(), actions=[Act(image=[IMAGE])])
    result = await t.run()
    assert result.status == "completed"
    assert t.recorder.values("history_replaced") == []
    assert t.prompts[2].endswith("\n\n[The images could not be sent: bad image]")
    assert len(llm.requests) == 4


class Shorter(ContextStrategy):
    """Makes room by saying less."""

    name = "shorter"

    async def before_request(self, run, prompt):
        return prompt

    async def on_context_length_exceeded(self, run, prompt):
        return "shorter"


async def test_room_is_made_when_images_were_not_what_was_too_long(trial):
    full = ContextLengthExceededError("too long")
    t = trial(
        [],
        llm=FakeLLM(["!image", full, full, "DONE", "DONE"]),
        parser=ActingParser(),
        actions=[Act(image=[IMAGE])],
        context=Shorter(),
    )
    assert (await t.run()).status == "completed"
    assert "[The images could not be sent: too long]" in t.prompts[2]
    assert t.prompts[3] == "shorter"


async def test_a_provider_that_refuses_all_ends_the_run(trial):
    llm = FakeLLM(["!image", LLMError("bad image"), LLMError("bad key")])
    result = await trial([], llm=llm, parser=ActingParser(), actions=[Act(image=[IMAGE])]).run()
    assert (result.status, result.reason) == ("error", "bad key")


class Shout:
    """Redacts."""

    name = "shout"

    @hookimpl
    def terminus_redact(self, text):
        return text.replace("secret", "***")


async def test_events_are_redacted_before_anybody_hears_of_them(trial):
    t = trial(
        ["$ echo secret\nA secret plan", "secret", "DONE", "DONE"], observers=[Shout()], outputs=["$ ", "a secret"]
    )
    await t.run("tell no secret")
    assert "secret" not in str(t.recorder.values("step_recorded") + t.recorder.values("command_sent"))
    assert "secret" not in str(t.recorder.values("response_received"))
    assert t.session.sent[0] == ("echo secret\n", 0.5)
    assert "secret" in t.prompts[1]  # what the model sees is the filters' business
    run = t.recorder.values("run_started")[0]
    assert run.redact({"a": ["secret", 1.5, IMAGE]}) == {"a": ["***", 1.5, IMAGE]}
