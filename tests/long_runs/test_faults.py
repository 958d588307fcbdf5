"""Windows that are too small and calls that fail: the run goes on while there is room, and ends cleanly where not."""

import time
from itertools import repeat

import anyio
import pytest

from terminus_plugins.context.summarize.strategy import SummarizeStrategy
from tests.support.provider_server import Reply, answer, cut, fault, raw, silent

from .conftest import ASIDES, TOO_LONG, Model, Screen, text_of

pytestmark = pytest.mark.anyio

RULES = ("FORMAT RULES: one command a line", "TASK: Search the house.", "END OF RULES")

FAULTS = {
    "500": fault(500),
    "400": fault(400, "unknown field"),
    "401": fault(401, "no such key"),
    "413": fault(413, "prompt is too long"),
    "429": fault(429),
    "overflow": fault(400, TOO_LONG.format(4000), code="context_length_exceeded"),
    "connection cut": cut(),
    "no JSON": raw(b"<html>oops</html>"),
    "no choices": raw(b'{"id": "1", "object": "chat.completion", "choices": []}'),
    "empty": answer(""),
    "blank": answer(" \n"),
    "null": answer(None, reasoning="I thought about it"),
    "cut at nothing": answer("", finish_reason="length"),
    "silent": silent(),
}


def turns(n):
    return [*(f"go {i}" for i in range(n)), "DONE", "DONE"]


def check_kept(message):
    """The format rules and the task are in a first message."""
    for text in RULES:
        assert text in text_of(message)


# -- a call beside the chat fails --------------------------------------------------------------------------------------


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # many cases, and nothing of the loop's own is in play
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("kind", ["summary", "questions", "answers"])
async def test_each_call_failing_leads_to_one_short_call(journey, kind, name):
    model = Model(turns(4), window=4000, **{kind: FAULTS[name]})
    trip = journey(model, believes=4000, observed=3000, llm_settings={"timeout_sec": 4} if name == "silent" else ())
    await trip.run()
    assert trip.ending == ("completed", "")
    asked = model.log.index("summary")
    calls = ["summary", "questions", "answers"]
    assert model.log[asked:][: calls.index(kind) + 2] == [*calls[: calls.index(kind) + 1], "short"]
    after = model.bodies[model.log.index("short") + 1]["messages"]
    assert [message["role"] for message in after] == ["user", "assistant", "user"]
    check_kept(after[0])
    assert text_of(after[1]) == ASIDES["short"]
    assert text_of(after[2]).endswith("end")
    if name != "connection cut":  # the server has told tokens that nobody could read
        trip.totals_are_right()


@pytest.mark.parametrize("linear", [False, True])
async def test_all_calls_failing_leaves_the_task_and_the_observation(journey, linear):
    """lo-03: no summary can be had; the run goes on with room for answers."""
    bad = fault(500)
    model = Model(turns(4), window=4000, summary=bad, short=bad)
    trip = journey(model, believes=4000, observed=3000, linear=linear)
    await trip.run()
    assert trip.ending == ("completed", "")
    asked = model.log.index("summary")
    assert model.log[asked : asked + 3] == ["summary", "short", "turn"]
    (only,) = model.bodies[asked + 2]["messages"]
    check_kept(only)
    text = text_of(only)
    assert "SCREEN after" in text
    assert f"ran go {asked - 1}\n" in text
    assert text.index("end") < text.index("END OF RULES")
    trip.totals_are_right()
    documents = trip.documents()
    assert documents.keys() == {"trajectory.json"} | ({"trajectory.cont-1.json"} if linear else set())
    steps = documents["trajectory.cont-1.json" if linear else "trajectory.json"]["steps"]
    assert text in [step["message"] for step in steps if step["source"] == "user"]


@pytest.mark.parametrize("free", [10, 100, 1000], ids=lambda free: f"lo-03: {free} free")
async def test_a_nearly_full_chat_whose_summary_raises(journey, free):
    """The window is 8,000 tokens and the history nearly that; every call beside the chat fails."""
    usage = {"prompt_tokens": 8000 - free - 5, "completion_tokens": 5, "total_tokens": 8000 - free}
    bad = fault(500)
    model = Model([answer("go", usage=usage), "on", "DONE", "DONE"], window=8000, summary=bad, short=bad)
    trip = journey(model, believes=8000)
    await trip.run()
    assert trip.ending == ("completed", "")
    assert "turn!" not in model.log
    assert "summary!" not in model.log


async def test_attempts_number_the_files_and_successes_the_segments(journey):
    """The first summary fails at its third call and a fall-back replaces the chat; the second one works."""
    answers = iter([fault(500), "1. The green one.", "1. The green one."])
    model = Model(turns(9), window=4000, answers=lambda request: next(answers), short=fault(500))
    trip = journey(model, believes=4000, observed=3000, linear=True)
    await trip.run()
    names = set(trip.documents())
    assert {"trajectory.summarization-1-summary.json", "trajectory.summarization-1-questions.json"} <= names
    assert "trajectory.summarization-1-answers.json" not in names
    assert "trajectory.summarization-2-answers.json" in names
    replaced = trip.recorder.values("history_replaced")
    assert [handoff.index for handoff in replaced] == list(range(1, len(replaced) + 1))
    assert len(replaced[0].subagents) == 2
    assert len(replaced[1].subagents) == 3
    trip.totals_are_right()


async def test_the_cost_limit_holds_for_calls_beside_the_chat(journey):
    model = Model(turns(4), window=4000, summary=answer("z" * 400))
    trip = journey(model, believes=4000, observed=3000, max_cost_usd=0.006)
    await trip.run()
    assert trip.ending == ("limit_reached", "max_cost_usd")
    assert model.log[-1] == "summary"
    trip.totals_are_right()


@pytest.mark.parametrize("kind", ["summary", "questions", "answers", "short"])
async def test_a_cancel_is_never_swallowed(journey, kind):
    asides = {"summary": fault(500)} if kind == "short" else {}
    model = Model(turns(4), window=4000, **{**asides, kind: silent()})
    trip = journey(model, believes=4000, observed=3000, llm_settings={"timeout_sec": 600})
    started = time.monotonic()
    with anyio.move_on_after(30) as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trip.run)
            await anyio.to_thread.run_sync(trip.server.wait_for, {"summary": 5, "answers": 7}.get(kind, 6))
            tasks.cancel_scope.cancel()
    assert not scope.cancelled_caught
    assert time.monotonic() - started < 25
    assert trip.recorder.values("run_finished")[0].status == "cancelled"
    assert model.log[-1] == kind
    assert trip.document()["final_metrics"]["extra"]["status"] == "cancelled"


# -- the window is smaller than believed -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param(
            400, "400 bad request: prompt has 9000 tokens while this model's context length is 8192", id="ll-05 1"
        ),
        pytest.param(400, "400 bad request: input tokens 300000 above the configured limit of 272000", id="ll-05 2"),
        pytest.param(
            400,
            "400 bad request: input length and max_tokens together exceed context limit 180000 + 32000 > 200000",
            id="ll-05 3",
        ),
        pytest.param(413, "413: prompt is too long", id="ll-05 4"),
    ],
)
async def test_an_overflow_is_answered_by_a_summary(journey, status, message):
    model = Model(["one", "two", fault(status, message), "DONE", "DONE"])
    trip = journey(model, llm_settings={"max_attempts": 3})
    await trip.run()
    assert trip.ending == ("completed", "")
    assert model.log[:6] == ["turn", "turn", "turn", "summary", "questions", "answers"]


@pytest.mark.parametrize(
    ("status", "message", "requests"),
    [
        pytest.param(400, '400 bad request: unknown field "foo"', 1, id="ll-05 5"),
        pytest.param(429, "429: too many tokens per minute", 2, id="ll-05 6"),
    ],
)
async def test_another_fault_is_not(journey, status, message, requests):
    model = Model(["one", *repeat(fault(status, message, headers={"Retry-After": "0"}), requests)])
    trip = journey(model, llm_settings={"max_attempts": 2})
    await trip.run()
    assert trip.result.status == "error"
    assert model.log == ["turn"] * (1 + requests)


async def test_overflow_on_the_first_request(journey):
    """The terminal is full of text: its part of the prompt is shortened, and the rules stay."""
    model = Model(["one", "DONE", "DONE"], window=1500)
    trip = journey(model, session=Screen(outputs=["start" + "w" * 9000 + "finish"]))
    await trip.run()
    assert trip.ending == ("completed", "")
    assert model.log == ["turn!", "turn", "turn", "turn"]
    (long,), (short,) = model.bodies[0]["messages"], model.bodies[1]["messages"]
    check_kept(short)
    assert len(text_of(short)) < len(text_of(long)) * 0.6
    assert "start" in text_of(short)
    assert "finish" in text_of(short)
    steps = trip.document()["steps"]
    assert [step["message"] for step in steps[:2]] == [text_of(long), text_of(short)]
    assert "trajectory.cont-1.json" not in trip.documents()
    trip.totals_are_right()


async def test_overflow_on_the_first_request_twice(journey):
    model = Model(["one", "DONE", "DONE"], window=300)
    trip = journey(model, observed=30, session=Screen(outputs=["w" * 9000], on_keys=lambda keys: "ok"))
    await trip.run()
    assert model.log == ["turn!", "turn!", "turn", "turn", "turn"]
    check_kept(model.bodies[2]["messages"][0])
    assert "www" not in text_of(model.bodies[2]["messages"][0])
    assert trip.ending == ("completed", "")


@pytest.mark.parametrize("linear", [False, True])
async def test_a_window_that_cannot_hold_the_rules(journey, linear):
    model = Model(["one"], window=10)
    trip = journey(model, linear=linear)
    await trip.run()
    assert trip.ending == ("limit_reached", "context")
    assert model.log == ["turn!"] * 3
    assert set(trip.documents()) == {"trajectory.json"}
    assert (trip.result.totals.prompt_tokens, trip.result.totals.cost_usd) == (0, None)


async def test_a_refused_hand_over_gives_way_to_a_start_over(journey):
    """Twice in one episode: the summary is refused as well, and what comes then is certainly small."""
    model = Model(["one", "two", "three", "DONE", "DONE"], window=1500, answers="1. " + "v" * 6000)
    trip = journey(model, believes=100_000, observed=1800)
    await trip.run()
    assert trip.ending == ("completed", "")
    assert model.log.count("turn!") <= 2
    for messages in model.messages("turn"):
        check_kept(messages[0])


async def test_three_refusals_in_one_episode_end_the_run(journey):
    too_long = fault(400, TOO_LONG.format(1), code="context_length_exceeded")
    model = Model(["one", "two", *repeat(too_long, 9)])
    trip = journey(model)
    await trip.run()
    assert trip.ending == ("limit_reached", "context")
    assert model.log.count("turn") == 2 + 3
    assert trip.result.n_episodes == 3
    trip.totals_are_right()


async def test_refusals_of_other_episodes_do_not_count(journey):
    too_long = fault(400, TOO_LONG.format(1), code="context_length_exceeded")
    model = Model(["one", too_long, "two", too_long, "three", too_long, "four", "DONE", "DONE"])
    trip = journey(model)
    await trip.run()
    assert trip.ending == ("completed", "")
    assert trip.agent.settings.agent.context
    assert len(trip.recorder.values("history_replaced")) == 3


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # as above
@pytest.mark.parametrize("knows", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("window", [60, 120, 250, 500, 800, 1200, 2000, 3000])
async def test_tiny_windows(journey, window, knows):
    """Whatever the window: no request asks for nothing, the rules are always there, and the end is a clear one."""
    model = Model(turns(25), window=window)
    trip = journey(model, believes=window if knows else None, observed=900)
    await trip.run()
    assert trip.ending in {("completed", ""), ("limit_reached", "context")}
    if window >= 800:
        assert trip.ending == ("completed", "")
    for messages in model.messages("turn"):
        check_kept(messages[0])
    assert len(model.log) <= 27 * 7
    trip.totals_are_right()


async def test_no_strategy_ends_cleanly_with_all_rollouts(journey):
    model = Model(turns(9), window=1000)
    trip = journey(
        model,
        context="none",
        linear=True,
        collect_rollout_details=True,
        llm_settings={"collect_rollout_details": True},
    )
    await trip.run()
    assert trip.ending == ("limit_reached", "context")
    answered = model.log.count("turn")
    assert answered > 3
    details = trip.result.rollout_details
    assert [each["episode"] for each in details] == list(range(1, answered + 1))
    for each, request in zip(details, trip.server.requests, strict=False):
        assert len(each["prompt_token_ids"]) == request.usage["prompt"]
        assert len(each["completion_token_ids"]) == len(each["logprobs"]) == request.usage["completion"]


# -- parts that are used otherwise -------------------------------------------------------------------------------------


async def test_one_instance_serves_many_runs(journey):
    context = SummarizeStrategy(SummarizeStrategy.Config())
    for _ in range(2):
        model = Model(turns(4), window=4000)
        trip = journey(model, believes=4000, observed=3000, context=context)
        await trip.run()
        assert model.log.count("summary") == 1
        assert (trip.folder / "trajectory.summarization-1-summary.json").exists()


def test_replies_are_what_the_tests_think():
    assert all(isinstance(reply, Reply) for reply in FAULTS.values())
