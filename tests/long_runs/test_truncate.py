"""The strategy truncate: no call beside the chat, and a beginning that stays the same for most turns."""

from itertools import pairwise

import pytest

from terminus_core import LLMResponse
from terminus_core.testing import FakeLLM
from terminus_plugins.context.truncate import TruncateStrategy

from .conftest import Model, Screen, text_of
from .prefixes import common, messages_bytes

pytestmark = pytest.mark.anyio


def strategy(**settings):
    return TruncateStrategy(TruncateStrategy.Config(**settings))


def turns(n):
    return [*(f"go {i}" for i in range(n)), "DONE", "DONE"]


@pytest.mark.parametrize(("window", "believes"), [(20_000, 20_000), (20_000, None)], ids=["known", "unknown"])
@pytest.mark.parametrize("linear", [False, True])
async def test_old_observations_are_shortened_in_steps(journey, linear, window, believes):
    model = Model(turns(25), window=window)
    trip = journey(model, believes=believes, observed=9_900, context=strategy(), linear=linear)
    await trip.run()
    assert trip.ending == ("completed", "")
    assert set(model.log) <= {"turn", "turn!"}
    bodies = [body for kind, body in zip(model.log, model.bodies, strict=True) if kind == "turn"]
    last = [text_of(message) for message in bodies[-1]["messages"]]
    assert [text for text in last if text.startswith("go ")] == [f"go {i}" for i in range(25)]
    assert "left out here" in last[2]
    assert len(last[2]) < 600
    assert len(last[-5]) > 9_000
    n_steps = len(trip.recorder.values("history_replaced"))
    assert 2 <= n_steps <= 12
    if linear:
        assert len(list(trip.folder.glob("trajectory.cont-*.json"))) == n_steps
    trip.totals_are_right()


async def test_the_beginning_survives_most_turns(journey):
    model = Model(turns(40), window=20_000)
    trip = journey(model, believes=20_000, observed=9_900, context=strategy())
    await trip.run()
    requests = [messages_bytes(request.body) for request in trip.server.requests]
    kept = [common(before, after) == len(before) for before, after in pairwise(requests)]
    assert kept.count(False) == len(trip.recorder.values("history_replaced"))
    assert kept.count(True) >= 0.7 * len(kept)


async def test_a_segment_is_what_was_sent(journey):
    model = Model(turns(12), window=20_000)
    trip = journey(model, believes=20_000, observed=9_900, context=strategy(), linear=True)
    await trip.run()
    steps = trip.document(f"trajectory.cont-{len(trip.recorder.values('history_replaced'))}.json")["steps"]
    said = []
    for step in steps:
        said.append(step["message"])
        said += [each["content"] for each in step.get("observation", {}).get("results", [])]
    sent = [text_of(message) for message in model.bodies[-1]["messages"]]
    assert said[: len(sent)] == sent


async def test_when_all_is_short_the_run_ends_with_a_limit(journey):
    """What the model says is never shortened: long answers fill the window in the end."""
    model = Model(["w" * 3_000] * 99, window=9_000)
    trip = journey(model, believes=9_000, observed=100, context=strategy())
    await trip.run()
    assert trip.ending == ("limit_reached", "context")
    trip.totals_are_right()


async def test_overflow_on_the_first_request(journey):
    model = Model(["DONE", "DONE"], window=1_500)
    trip = journey(model, context=strategy(), session=Screen(outputs=["w" * 9_000]))
    await trip.run()
    assert trip.ending == ("completed", "")
    assert model.log == ["turn!", "turn", "turn"]


async def test_the_waiting_observation_may_be_what_is_too_long(journey):
    model = Model(["one", "DONE", "DONE"], window=1_500)
    trip = journey(model, believes=1_500, observed=9_900, context=strategy())
    await trip.run()
    assert trip.ending == ("completed", "")
    assert "turn!" in model.log
    assert "left out here" in text_of(model.bodies[-1]["messages"][2])


async def test_images_in_old_observations_go(journey):
    context = strategy(keep_turns=0)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    run = journey(Model([]), context=context).agent._parts.new_run("task")
    run.llm = FakeLLM()
    chat = run.chat
    chat.add_turn(chat.prompt_messages("rules"), LLMResponse("one"))
    chat.add_turn(chat.prompt_messages("look " + "z" * 900, [image]), LLMResponse("two"))
    await context.on_context_length_exceeded(run, "next")
    assert isinstance(chat.messages[2]["content"], str)
    assert chat.messages[2]["content"].endswith("[images, left out]")
