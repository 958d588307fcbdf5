"""The parser ``tools``: what native calls mean, alone and over HTTP in two providers' dialects."""

import json

import pytest

from terminus_core import ActionCall, Command, LLMResponse, ParseResult
from terminus_plugins.actions.restart_shell import RestartShell
from terminus_plugins.actions.view_image import ViewImage
from terminus_plugins.parsers.tools.parser import ToolsParser
from tests.support.provider_server import ProviderServer, answer
from tests.support.scripted_run import call


def parser(*offers):
    made = ToolsParser()
    made.actions = [{"view_image": ViewImage, "restart_shell": RestartShell}[name]() for name in offers]
    return made


def parse(*calls, text="", offers=(), finish_reason="tool_calls"):
    response = LLMResponse(text, tool_calls=list(calls) or None, finish_reason=finish_reason)
    return parser(*offers).parse_response(response)


def typed(number=1, *keystrokes, **more):
    commands = [{"keystrokes": each, "duration": 0.5} for each in keystrokes]
    return call("execute_commands", number, commands=commands, **more)


def written(name, arguments, number=1):
    return {"id": f"w{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_one_call_with_all_it_may_hold():
    reply = parse(typed(1, "ls\n", "C-c", analysis="seen", plan="go"))
    expected = [
        Command("ls\n", 0.5, call_id="id-execute_commands-1"),
        Command("C-c", 0.5, call_id="id-execute_commands-1"),
    ]
    assert reply == ParseResult(expected, analysis="seen", plan="go")


def test_several_calls_are_one_answer():
    calls = (
        typed(1, "a\n", analysis="one"),
        call("task_complete"),
        typed(2, "b\n", analysis="two"),
        call("restart_shell"),
    )
    reply = parse(*calls, offers=["restart_shell"])
    assert [(command.keystrokes, command.call_id[-1]) for command in reply.commands] == [("a\n", "1"), ("b\n", "2")]
    assert (reply.is_task_complete, reply.analysis, reply.error) == (True, "one\ntwo", "")
    assert reply.actions == [ActionCall("restart_shell", {}, "id-restart_shell-1")]


def test_text_beside_the_calls_is_the_analysis():
    assert parse(typed(1), text=" I look around. ").analysis == "I look around."
    assert parse(typed(1, analysis="given"), text="text").analysis == "given"


@pytest.mark.parametrize(
    "text", ["", '{"commands": [{"keystrokes": "ls\\n", "duration": 1}]}', "<tool_call>ls</tool_call>"]
)
def test_no_call_at_all(text):
    reply = parse(text=text, finish_reason="stop")
    assert reply.error == "The answer holds no tool call. Known tools: execute_commands, task_complete."
    assert reply.commands == []


@pytest.mark.parametrize("name", ["bash", "", "view_image", "Execute_Commands", "restart_shell"])
def test_an_unknown_tool(name):
    reply = parse(typed(1, "rm x\n"), call(name, path="/x"))
    assert reply.error == f"Call 2 ({name}): There is no tool {name!r}. Known tools: execute_commands, task_complete."
    assert (reply.commands, reply.is_task_complete) == ([], False)


@pytest.mark.parametrize(
    "arguments",
    [
        '{"commands": [{"keystrokes": "ls\\n", "duration": 1}',
        '{"commands": [{"keystrokes": "ls',
        '{"commands": []} trailing',
        '[{"keystrokes": "ls\\n"}]',
        '"ls"',
        "null",
        "ls\n",
        '{"commands": [], "commands": [{"keystrokes": "rm x\\n", "duration": 1}]}',
        "{" * 5000,
    ],
)
def test_arguments_that_are_no_object_do_nothing(arguments):
    reply = parse(typed(1, "touch x\n"), written("execute_commands", arguments))
    assert reply.error.startswith("Call 2 (execute_commands): ")
    assert reply.commands == []


def test_harmless_slips_are_overlooked_with_a_warning():
    reply = parse(
        written("execute_commands", '\ufeff{"commands": [{"keystrokes": "ls\n", "duration": 1},], "more": 1}')
    )
    assert [command.keystrokes for command in reply.commands] == ["ls\n"]
    assert reply.error == ""
    assert len(reply.warning.splitlines()) >= 3
    assert 'Unknown arguments were ignored: "more"' in reply.warning


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, 'execute_commands needs "commands", a list.'),
        ({"commands": "ls\n"}, "commands must be a list of objects."),
        ({"commands": [{"duration": 1}]}, 'Command 1: "keystrokes" is missing.'),
        ({"commands": [{"keystrokes": "a\0", "duration": 1}]}, "Command 1: keystrokes hold a NUL character"),
    ],
)
def test_commands_that_cannot_be_typed(arguments, error):
    assert parse(call("execute_commands", **arguments)).error.startswith(error)


def test_a_claim_whose_commands_cannot_be_read_stands():
    reply = parse(call("execute_commands", commands="ls\n"), call("task_complete"))
    assert (reply.error, reply.is_task_complete, reply.commands_unusable, reply.commands) == ("", True, True, [])
    assert "commands must be a list" in reply.warning


def test_a_cut_answer_is_not_trusted():
    reply = parse(typed(1, "rm -r x"), finish_reason="length")
    assert "cut off" in reply.error
    assert reply.commands == []


@pytest.mark.parametrize(
    "calls",
    [[{}], [{"id": None, "function": None}], [{"id": "x", "function": {"name": "task_complete", "arguments": {}}}]],
)
def test_calls_of_an_odd_shape_are_read(calls):
    reply = parser().parse_response(LLMResponse(tool_calls=calls))
    assert reply.error or reply.is_task_complete


def test_images_are_offered_and_limited():
    calls = [call("view_image", number, path=f"/{number}.png") for number in (1, 2, 3)]
    reply = parse(*calls, offers=["view_image"])
    assert [each.arguments for each in reply.actions] == [{"path": f"/{number}.png"} for number in (1, 2, 3)]
    assert parse(call("view_image", file="x"), offers=["view_image"]).error.startswith('view_image: "path" is missing')


def test_definitions_and_prompt_follow_the_offers():
    plain, full = parser(), parser("view_image", "restart_shell")
    names = [tool["function"]["name"] for tool in full.tools]
    assert names == ["execute_commands", "task_complete", "view_image", "restart_shell"]
    assert [tool["function"]["name"] for tool in plain.tools] == names[:2]
    for made, known in ((plain, names[:2]), (full, names)):
        prompt = made.build_prompt("{task}", "{0} $ ")
        assert [name for name in names if name in prompt] == known
        assert "{task}" in prompt
        assert prompt.endswith("{0} $ \n")
        json.dumps(made.tools)
    assert "task_complete" in plain.completion_confirmation("$ ")


def test_what_is_recorded_is_what_the_gates_left():
    calls = [typed(1, "a\n", "b\n", analysis="x"), typed(2, "c\n"), call("task_complete")]
    response = LLMResponse(tool_calls=calls)
    reply = parser().parse_response(response)
    reply.commands[0].keystrokes = "edited\n"
    del reply.commands[2]
    first, second, claim = parser().recorded_calls(response, reply)
    assert first.tool_call_id == "id-execute_commands-1"
    assert first.arguments == {
        "commands": [{"keystrokes": "edited\n", "duration": 0.5}, {"keystrokes": "b\n", "duration": 0.5}],
        "analysis": "x",
    }
    assert second.arguments == {"commands": []}
    assert (claim.function_name, claim.arguments) == ("task_complete", {})


# -- over HTTP ---------------------------------------------------------------------------------------------------------

MODELS = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-sonnet-4-5"}


def calling(*calls, text=""):
    return answer(text, tool_calls=list(calls), finish_reason="tool_calls")


def answered(request, model):
    """The results that a request gives to the newest calls: id and text."""
    messages = request.json["messages"]
    if model == "openai":
        tail = messages[
            len(messages) - next(i for i, each in enumerate(reversed(messages)) if each["role"] == "assistant") :
        ]
        return [(each["tool_call_id"], each["content"]) for each in tail if each["role"] == "tool"]
    parts = [part for part in messages[-1]["content"] if part["type"] == "tool_result"]
    return [(part["tool_use_id"], flat(part["content"])) for part in parts]


def flat(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@pytest.mark.parametrize("model", MODELS)
def test_a_whole_run_in_the_providers_own_form(program, program_here, model):
    unknown = call("launch", 3, path="/x")
    broken = (
        written("execute_commands", '{"commands": [{"keystrokes": "touch bad', number=4)
        if model == "openai"
        else unknown
    )
    turns = [
        calling(typed(1, "echo one\n", analysis="first", plan="go"), typed(2, "echo two\n"), text="Two calls."),
        calling(broken),
        answer("I just talk."),
        calling(unknown, typed(5, "touch bad\n")),
        calling(typed(6, "echo six\n")),
        calling(call("task_complete", 7)),
        calling(typed(8, "echo last\n"), call("task_complete", 9)),
    ]
    with ProviderServer(turns) as server:
        base = server.root_url if model == "anthropic" else server.url
        done = program_here("-m", MODELS[model], "--api-base", base, "--parser", "tools")
    assert (done.code, done.end) == (0, ("completed", "")), done.stderr
    assert not (program.folder / "bad").exists()
    requests = server.requests
    names = [[(tool.get("function") or tool)["name"] for tool in request.json["tools"]] for request in requests]
    assert names == [["execute_commands", "task_complete"]] * 7

    (first, text), (second, rest) = answered(requests[1], model)
    assert (first, second) == ("id-execute_commands-1", "id-execute_commands-2")
    assert "one" in text
    assert "two" in text
    assert rest == ""
    ((_, text),) = answered(requests[2], model)
    assert text.startswith("Previous response had parsing errors:\nERROR: ")
    assert text.endswith("provide a proper tool call.")
    assert answered(requests[3], model) == []
    assert "The answer holds no tool call." in requests[3].last_text
    (id_3, text), (id_5, rest) = answered(requests[4], model)
    assert (id_3, id_5, rest) == ("id-launch-3", "id-execute_commands-5", "")
    assert "There is no tool 'launch'" in text
    ((_, text),) = answered(requests[6], model)
    assert "call task_complete again" in text

    recorded = [
        [(each["tool_call_id"], each["function_name"]) for each in turn.get("tool_calls", [])] for turn in done.turns
    ]
    assert recorded == [
        [("id-execute_commands-1", "execute_commands"), ("id-execute_commands-2", "execute_commands")],
        [],
        [],
        [],
        [("id-execute_commands-6", "execute_commands")],
        [("id-task_complete-7", "task_complete")],
        [("id-execute_commands-8", "execute_commands"), ("id-task_complete-9", "task_complete")],
    ]
    named = [turn["observation"]["results"][0].get("source_call_id") for turn in done.turns]
    assert named == [None, None, None, None, "id-execute_commands-6", None, "id-execute_commands-8"]
    assert done.turns[0]["message"] == "Analysis: first\nPlan: go"
    assert done.trajectory["agent"]["tool_definitions"][0]["function"]["name"] == "execute_commands"
    kept = [json.loads(line) for line in (done.folder / "replies.jsonl").read_text().splitlines()]
    assert kept[0]["tool_calls"][1]["id"] == "id-execute_commands-2"
    assert done.trajectory["final_metrics"]["total_prompt_tokens"] == server.totals["prompt"]
