"""The episode, rule by rule: what is asked, typed, looked at, answered and recorded."""

import re
from dataclasses import replace

import anyio
import pytest

from terminus_core import Agent, Command, Gate, LLMResponse, ParseResult, TerminalText, Usage
from terminus_core.testing import FakeLLM, FakeSession

pytestmark = pytest.mark.anyio


# -- entering ----------------------------------------------------------------------------------------------------------


async def test_the_first_prompt_is_the_first_step_and_the_first_message(trial):
    t = trial(["DONE", "DONE"], outputs=["welcome\n$ "])
    await t.run("say hello")
    expected = "RULES\nTASK say hello\nTERMINAL New Terminal Output:\nwelcome\n$ "
    assert t.steps[0].model_dump(exclude_none=True) == {
        "step_id": 1,
        "timestamp": t.steps[0].timestamp,
        "source": "user",
        "message": expected,
    }
    assert t.llm.requests[0] == [{"role": "user", "content": expected}]


async def test_the_loop_alone_says_what_it_misses(tmp_path, trial):
    agent = trial([]).agent
    with pytest.raises(RuntimeError, match=r"^Agent context is not set\. This should never happen\.$"):
        await agent._run_agent_loop(initial_prompt="p", chat=None, logs_dir=tmp_path, original_instruction="i")


async def test_text_in_braces_and_templates_is_left_alone(trial):
    instruction = 'Write {"name": "x"}, run awk \'{print $1}\' {0} {instruction} {terminal_state!r} ${HOME} %s'
    t = trial(["DONE", "DONE"], outputs=["{instruction} {0} %(x)s"])
    await t.run(instruction)
    assert t.prompts[0] == f"RULES\nTASK {instruction}\nTERMINAL New Terminal Output:\n{{instruction}} {{0}} %(x)s"


# -- parsing -----------------------------------------------------------------------------------------------------------


async def test_an_unusable_answer_is_asked_for_again_and_recorded(trial):
    t = trial(["! no verb", "DONE", "DONE"])
    await t.run()
    repair = (
        "Previous response had parsing errors:\nERROR: no verb\n\n"
        "Please fix these issues and provide a proper list of lines."
    )
    assert t.prompts[1] == repair
    step = t.steps[1]
    assert (step.message, step.tool_calls) == ("! no verb", None)
    assert [result.content for result in step.observation.results] == [repair]
    assert step.metrics.prompt_tokens == 100
    assert t.session.sent == []


async def test_an_error_with_warnings_names_both(trial):
    t = trial(["! bad\n? odd", "DONE", "DONE"])
    await t.run()
    assert t.prompts[1].startswith("Previous response had parsing errors:\nERROR: bad\nWARNINGS: odd\n\n")


async def test_quoted_error_words_throw_nothing_away(trial):
    t = trial(["$ echo ERROR: x\n? mind ERROR: in text", "DONE", "DONE"])
    await t.run()
    assert t.session.sent == [("echo ERROR: x\n", 0.5)]


async def test_commands_of_an_unusable_answer_are_not_typed(trial):
    t = trial(["$ rm -r /\n! unsure", "DONE", "DONE"])
    await t.run()
    assert t.session.sent == []


async def test_a_parse_error_neither_confirms_nor_clears_a_claim_lo_05(trial):
    t = trial(["DONE", "! what", "DONE"])
    result = await t.run()
    assert (result.status, result.n_episodes) == ("completed", 3)


@pytest.mark.parametrize("reply", ["", "! Sure"], ids=["lo-01-empty", "lo-01-prose"])
async def test_unusable_answers_end_by_the_limit_of_episodes(trial, reply):
    result = await trial([reply] * 30, max_episodes=10).run()
    assert (result.status, result.n_episodes) == ("max_episodes", 10)


async def test_twenty_unusable_answers_in_a_row_end_the_run(trial):
    t = trial([""] * 19 + ["$ ls"] + [""] * 30)
    result = await t.run()
    assert (result.status, result.reason, result.n_episodes) == ("limit_reached", "unusable_answers", 40)


async def test_a_cut_answer_is_told_its_limit_and_three_end_the_run_lo_02(trial):
    cut = LLMResponse(content="", finish_reason="length", usage=Usage(10, 32000))
    llm = FakeLLM(["$ ls", cut, "$ ls", cut, cut, cut], output_limit=32000)
    t = trial([], llm=llm)
    result = await t.run()
    assert (result.status, result.reason, result.n_episodes) == ("limit_reached", "cut_answers", 6)
    assert "32000 tokens" in t.prompts[2]
    assert "Nothing of it was done" in t.prompts[2]
    assert [step.extra for step in t.steps if step.extra] == [{"finish_reason": "length"}] * 4
    assert result.totals.completion_tokens == 4 * 32000 + 2 * 10


async def test_an_answer_closed_before_the_cut_is_used(trial):
    t = trial([LLMResponse(content="$ ls", finish_reason="length"), "DONE", "DONE"])
    await t.run()
    assert t.session.sent == [("ls\n", 0.5)]


async def test_durations_are_limited_with_a_warning(trial):
    t = trial(["~86400 make\n~-3 ls\n~nan pwd\n~2 date", "DONE", "DONE"])
    await t.run()
    assert [seconds for _, seconds in t.session.sent] == [60.0, 1.0, 1.0, 2.0]
    assert "limited to 60 seconds" in t.prompts[1].splitlines()[1]
    assert t.steps[1].tool_calls[0].arguments == {"keystrokes": "make\n", "duration": 60.0}


class Odd(Gate):
    """A gate that types with a duration of its own."""

    name = "odd"

    def __init__(self, seconds):
        self._seconds = seconds

    async def before_commands(self, run, reply):
        return replace(reply, commands=[replace(command, duration_sec=self._seconds) for command in reply.commands])


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1"])
@pytest.mark.parametrize("by_gate", [False, True])
async def test_a_duration_that_cannot_be_used_is_a_second_with_a_warning(trial, seconds, by_gate):
    gates = [Odd(float(seconds))] if by_gate else []
    t = trial(["$ ls" if by_gate else f"~{seconds} ls", "DONE", "DONE"], gates=gates)
    await t.run()
    assert t.session.sent == [("ls\n", 1.0)]
    assert t.prompts[1].count(f"Command 1: duration {seconds} is no finite number of seconds") == 1
    assert t.steps[1].tool_calls[0].arguments["duration"] == 1.0


# -- typing and looking ------------------------------------------------------------------------------------------------


async def test_a_batch_is_typed_in_order_and_read_once(trial):
    t = trial(["$ a\n$ b\n$ c", "DONE", "DONE"], outputs=["$ ", "out of all three"])
    await t.run()
    assert [keys for keys, _ in t.session.sent] == ["a\n", "b\n", "c\n"]
    assert t.prompts[1] == "New Terminal Output:\nout of all three"
    assert t.session.looks == 4
    assert [(c.keystrokes, i) for c, i in t.recorder.values("command_sent")] == [("a\n", 0), ("b\n", 1), ("c\n", 2)]


async def test_an_empty_batch_still_looks(trial):
    t = trial(["A hm", "DONE", "DONE"], outputs=["$ ", "late output"])
    await t.run()
    assert t.prompts[1] == "New Terminal Output:\nlate output"


async def test_headings_say_what_is_shown(trial):
    outputs = ["$ ", TerminalText("vim", kind="screen"), TerminalText("$ ", kind="none")]
    t = trial(["$ vim", "$ x", "DONE", "DONE"], outputs=outputs)
    await t.run()
    assert t.prompts[1] == "Current Terminal Screen:\nvim"
    assert t.prompts[2] == "New Terminal Output:\n[no new output]\n$ "


async def test_a_time_out_stops_the_batch_and_tells_the_model(trial):
    def on_keys(keys):
        if keys == "slow\n":
            raise TimeoutError

    t = trial(["$ slow\n$ never", "DONE", "DONE"], outputs=["$ ", "half way"], on_keys=on_keys)
    result = await t.run()
    assert [keys for keys, _ in t.session.sent] == ["slow\n"]
    assert "slow" in t.prompts[1]
    assert "0.5 seconds" in t.prompts[1]
    assert "half way" in t.prompts[1]
    assert result.status == "completed"


async def test_the_state_after_a_time_out_is_limited_once_and_the_notice_is_true(trial):
    def on_keys(keys):
        if keys.startswith("slow"):
            raise TimeoutError

    keys, state = "slow" + "x" * 20_000, "".join(f"line {i:05d}\n" for i in range(5_000))
    t = trial([f"$ {keys}", "DONE", "DONE"], outputs=["$ ", state], on_keys=on_keys)
    await t.run()
    quoted, shown = t.prompts[1].split("Terminal state:\nNew Terminal Output:\n")
    for text, whole in ((quoted.partition("Keystrokes:\n")[2], keys + "\n"), (shown, state)):
        head, notice, tail = re.split(r"\n\[\.\.\. (.*) \.\.\.\]\n", text)
        kept = len(head) + len(tail.removesuffix("\n\n"))
        assert kept in range(9_990, 10_001)
        assert notice == f"{len(whole) - 10_000} bytes left out here"
        assert whole.startswith(head)


async def test_a_read_that_times_out_too_leaves_no_state(trial):
    t = trial(["$ x", "DONE", "DONE"], outputs=["$ ", TimeoutError(), TimeoutError(), "back"])
    result = await t.run()
    assert "Terminal state:\nnot available" in t.prompts[1]
    assert result.status == "completed"


async def test_text_is_limited_once_and_the_notice_is_true_se_04(trial):
    euros = "HEAD" + "€" * 6000 + "TAIL"
    t = trial(["$ x", "DONE", "DONE"], outputs=["$ ", TerminalText(euros, rows_left_out=7)])
    await t.run()
    heading, head, notice, tail = t.prompts[1].split("\n")
    assert heading == "New Terminal Output:"
    assert head.startswith("HEAD")
    assert tail.endswith("TAIL")
    kept = len((head + tail).encode())
    assert kept <= 10_000
    assert f"{18_008 - kept} bytes" in notice
    assert "7 earlier rows" in notice
    assert "\ufffd" not in t.prompts[1]


async def test_rows_left_out_alone_are_said_too(trial):
    t = trial(["$ x", "DONE", "DONE"], outputs=["$ ", TerminalText("tail", rows_left_out=123)])
    await t.run()
    assert t.prompts[1] == "New Terminal Output:\n[... 123 earlier rows left out ...]\ntail"


# -- completion --------------------------------------------------------------------------------------------------------


async def test_completion_is_asked_twice_and_its_commands_run_lo_05(trial):
    t = trial(["DONE\n$ make test", "DONE\n$ make test", "DONE"], outputs=["$ ", "ok 1", "ok 2"])
    result = await t.run()
    assert (result.status, result.n_episodes) == ("completed", 2)
    assert len(t.session.sent) == 2
    assert t.prompts[1] == "SURE?\nNew Terminal Output:\nok 1"
    assert t.steps[-1].observation.results[0].content == "New Terminal Output:\nok 2"


async def test_a_turn_without_a_claim_resets_it_lo_05(trial):
    result = await trial(["DONE", "$ ls", "DONE", "DONE"]).run()
    assert (result.status, result.n_episodes) == ("completed", 4)


async def test_a_claim_with_unusable_commands_never_confirms(trial):
    t = trial(["DONE", "DONE\nLOST\n? commands is no list", "DONE"])
    result = await t.run()
    assert (result.status, result.n_episodes) == ("completed", 3)
    assert t.prompts[2].startswith(
        "Previous response had warnings:\nWARNINGS: commands is no list\n\nSURE?\nNew Terminal Output:"
    )


async def test_warnings_stand_before_the_observation(trial):
    t = trial(["$ ls\n? odd", "DONE", "DONE"], outputs=["$ ", "out"])
    await t.run()
    assert t.prompts[1] == "Previous response had warnings:\nWARNINGS: odd\n\nNew Terminal Output:\nout"
    assert t.steps[1].observation.results[0].content == t.prompts[1]


# -- records -----------------------------------------------------------------------------------------------------------


async def test_what_a_step_records(trial):
    answer = LLMResponse(
        content="A seen\nP do\n$ a\n$ b\nDONE",
        model_name="answering-model",
        reasoning_content="hm",
        usage=Usage(50, 5, 20, 0.25),
        prompt_token_ids=[1, 2],
        completion_token_ids=[3],
        logprobs=[-0.5],
    )
    t = trial([answer, "DONE"])
    await t.run()
    step = t.steps[1].model_dump(exclude_none=True)
    step.pop("timestamp")
    assert step == {
        "step_id": 2,
        "source": "agent",
        "model_name": "answering-model",
        "message": "Analysis: seen\nPlan: do",
        "reasoning_content": "hm",
        "tool_calls": [
            {
                "tool_call_id": f"call_0_{n}",
                "function_name": "bash_command",
                "arguments": {"keystrokes": f"{k}\n", "duration": 0.5},
            }
            for n, k in ((1, "a"), (2, "b"))
        ]
        + [{"tool_call_id": "call_0_task_complete", "function_name": "mark_task_complete", "arguments": {}}],
        "observation": {"results": [{"content": t.prompts[1]}]},
        "metrics": {
            "prompt_tokens": 50,
            "completion_tokens": 5,
            "cached_tokens": 20,
            "cost_usd": 0.25,
            "prompt_token_ids": [1, 2],
            "completion_token_ids": [3],
            "logprobs": [-0.5],
        },
    }


async def test_a_single_command_is_named_by_its_result(trial):
    t = trial(["$ a", "$ a\n$ b", "DONE", "DONE"])
    await t.run()
    assert [step.observation.results[0].source_call_id for step in t.steps[1:4]] == ["call_0_1", None, None]


async def test_raw_content_is_the_answer_byte_for_byte(trial):
    t = trial(["A x\n$ a", "DONE", "DONE"], settings={"trajectory": {"raw_content": True}})
    await t.run()
    step = t.steps[1]
    assert (step.message, step.tool_calls) == ("A x\n$ a", None)
    assert step.observation.results[0].source_call_id is None


@pytest.mark.parametrize("usage", [None, Usage(prompt_tokens=12)], ids=["ll-03-none", "ll-03-partly"])
async def test_what_the_provider_does_not_give_is_absent(trial, usage):
    t = trial([LLMResponse(content="DONE", usage=usage)] * 2)
    result = await t.run()
    metrics = t.steps[1].metrics
    assert (metrics and metrics.model_dump(exclude_none=True)) == ({"prompt_tokens": 12} if usage else None)
    assert result.totals == Usage(24 if usage else 0, 0, 0, None)


async def test_markers(trial):
    t = trial(["$ a\n$ b", "! no", "DONE", "DONE"])
    await t.run()
    assert t.markers == [
        ("episode", "Episode 1: 2 commands"),
        ("parse_error", "Episode 2: the answer could not be used"),
        ("episode", "Episode 3: 0 commands"),
        ("completion_asked", "Completion asked"),
        ("episode", "Episode 4: 0 commands"),
        ("completion_confirmed", "Completion confirmed"),
    ]


async def test_half_surrogate_pairs_do_no_harm(trial):
    t = trial(["A \ud83d\n$ ls", "DONE", "DONE"], outputs=["$ ", "out \udcff"])
    await t.run("do \udc80")
    for messages in t.llm.requests:
        for message in messages:
            message["content"].encode()


HALF_PAIR = r'{"analysis": "%s", "plan": "p", "commands": [{"keystrokes": "echo %s\n", "duration": 0.5}]}'


@pytest.mark.parametrize(("parser", "answer"), [(None, "A %s\n$ echo %s"), ("json", HALF_PAIR)])
@pytest.mark.parametrize(
    ("text", "meant"),
    [("a \ud83d", "a \ufffd"), ("\ud83d\ude00", "😀"), ("\ude00\ud83d", "\ufffd\ufffd"), ("\ufffd", "\ufffd")],
)
async def test_half_a_surrogate_pair_is_typed_as_a_sign_with_a_warning(trial, parser, answer, text, meant):
    keys = {"parser": parser} if parser else {}
    said = LLMResponse(answer % (text, text), reasoning_content=text)
    done = '{"analysis": "a", "plan": "p", "commands": [], "task_complete": true}' if parser else "DONE"
    t = trial([said, done, done], interleaved_thinking=True, **keys)
    await t.run()
    assert t.session.sent[0][0] == f"echo {meant}\n"
    is_lost = "\ufffd" in meant and meant != text
    assert t.prompts[1].count("half a surrogate pair in keystrokes") == is_lost
    assert t.steps[1].message.startswith(f"Analysis: {meant}")
    response, reply = t.recorder.values("response_received")[0]
    assert (response.content, reply.commands[0].keystrokes) == (answer % (meant, meant), f"echo {meant}\n")
    for value in (*t.llm.requests, *(step.model_dump() for step in t.steps), response, reply):
        assert not any(f"\\ud{digit}" in ascii(value).replace("\\ud83d\\ude00", "") for digit in "89abcdef")


# -- seams -------------------------------------------------------------------------------------------------------------


class Refuse(Gate):
    name = "refuse"

    async def before_commands(self, run, reply):
        return "not allowed here" if any("rm" in c.keystrokes for c in reply.commands) else reply


async def test_a_gate_refuses_and_the_claim_stays(trial):
    t = trial(["DONE", "$ rm x\nDONE", "DONE"], gates=[Refuse()])
    result = await t.run()
    assert t.session.sent == []
    assert t.prompts[2] == "not allowed here"
    assert t.steps[2].tool_calls[0].arguments["keystrokes"] == "rm x\n"
    assert (result.status, result.n_episodes) == ("completed", 3)


class Replace(Gate):
    name = "replace"

    async def before_commands(self, run, reply):
        return ParseResult([Command("safe\n", 90)], is_task_complete=reply.is_task_complete)


async def test_a_gate_changes_what_is_typed_and_recorded(trial):
    t = trial(["$ wild", "DONE", "DONE"], gates=[Replace()])
    await t.run()
    assert t.session.sent == [("safe\n", 60.0)]
    assert t.steps[1].tool_calls[0].arguments == {"keystrokes": "safe\n", "duration": 60.0}


async def test_a_refusal_after_a_change_records_the_change(trial):
    class Never(Refuse):
        async def before_commands(self, run, reply):
            return f"not {reply.commands[0].keystrokes.strip()}"

    class Warn(Replace):
        async def before_commands(self, run, reply):
            return replace(await super().before_commands(run, reply), warning="made safe")

    t = trial(["$ wild", "DONE", "DONE"], gates=[Warn(), Never()])
    await t.run()
    assert t.session.sent == []
    assert [call.arguments["keystrokes"] for call in t.steps[1].tool_calls] == ["safe\n"]
    observed = t.steps[1].observation.results[0]
    assert observed.content == t.prompts[1]
    assert observed.content.startswith("Previous response had warnings:\nWARNINGS: made safe\n")
    assert observed.content.endswith("\n\nnot safe")


async def test_two_runs_after_each_other_are_fine_two_at_once_are_not(trial, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    t = trial(["DONE"] * 4, logs_dir=None)
    await t.run()
    first = t.steps[:]
    await t.run()
    assert [step.step_id for step in t.steps] == [1, 2, 3, 1, 2, 3]
    assert len(first) == 3

    waiting = anyio.Event()

    class Slow(FakeSession):
        async def is_session_alive(self):
            waiting.set()
            await anyio.sleep_forever()

    t = trial(["DONE"] * 2, session=Slow(["$ "]))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_swallow, t.agent)
        await waiting.wait()
        with pytest.raises(RuntimeError, match="running already"):
            await t.agent.run("another")
        tasks.cancel_scope.cancel()


async def _swallow(agent: Agent):
    await agent.run("one")
