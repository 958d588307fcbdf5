"""Native tool calls in the history: every request stays valid, whatever happens to the history."""

import json
from itertools import count

import pytest

from terminus_plugins.context.truncate import TruncateStrategy
from tests.support.provider_server import answer, fault

from .conftest import ASIDES, Model, ToolParser, end_of, text_of

pytestmark = pytest.mark.anyio

_ids = count(1)


def calls(*keys):
    made = [
        {
            "id": f"call-{next(_ids)}",
            "type": "function",
            "function": {"name": "type_keys", "arguments": json.dumps({"keys": each})},
        }
        for each in keys
    ]
    return answer("", tool_calls=made, finish_reason="tool_calls")


def turns(n):
    """Answers with one or two calls each; then a claim and its confirmation."""
    return [*(calls(f"go {i}", *[f"and {i}"] * (i % 2)) for i in range(n)), calls("DONE"), calls("DONE")]


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("window", "believes"), [(16_000, 16_000), (9_800, None)], ids=["proactive", "passive"])
async def test_summaries(journey, window, believes, linear):
    model = Model(turns(8), window=window)
    trip = journey(model, believes=believes, observed=9_900, parser=ToolParser(), linear=linear)
    await trip.run()
    assert trip.ending == ("completed", "")
    assert model.log.count("summary") >= 1
    summary, answers = model.messages("summary")[0], model.messages("answers")[0]
    assert len(end_of(summary)) == len(summary[-1 - len(end_of(summary))]["tool_calls"])
    assert text_of(answers[-2]) == ASIDES["summary"]
    (questions, *_) = model.messages("questions")
    assert [message["role"] for message in questions] == ["user"]
    after = model.bodies[model.log.index("answers") + 1]["messages"]
    assert [message["role"] for message in after] == ["user", "assistant", "user"]
    assert "tool_calls" not in after[1]
    for kind, body in zip(model.log, model.bodies, strict=True):
        assert ("tools" in body) == (kind.rstrip("!") != "questions")
    trip.totals_are_right()


@pytest.mark.parametrize("kind", ["summary", "answers"])
async def test_a_call_instead_of_a_text_is_no_summary(journey, kind):
    model = Model(turns(4), window=16_000, **{kind: lambda request: calls("go on")})
    trip = journey(model, believes=16_000, observed=9_900, parser=ToolParser())
    await trip.run()
    assert trip.ending == ("completed", "")
    assert "short" in model.log


async def test_starting_over(journey):
    model = Model(turns(5), window=16_000, summary=fault(500), short=fault(500))
    trip = journey(model, believes=16_000, observed=9_900, parser=ToolParser())
    await trip.run()
    assert trip.ending == ("completed", "")
    after = model.bodies[model.log.index("short") + 1]["messages"]
    assert [message["role"] for message in after] == ["user"]


@pytest.mark.parametrize("linear", [False, True])
async def test_truncating(journey, linear):
    context = TruncateStrategy(TruncateStrategy.Config(keep_turns=1))
    model = Model(turns(20), window=16_000)
    trip = journey(model, believes=16_000, observed=9_900, parser=ToolParser(), context=context, linear=linear)
    await trip.run()
    assert trip.ending == ("completed", "")
    assert len(trip.recorder.values("history_replaced")) >= 2
    if linear:
        copied = [step for step in trip.document("trajectory.cont-1.json")["steps"] if step.get("is_copied_context")]
        assert any(step.get("tool_calls") for step in copied)
        assert any(step.get("extra", {}).get("tool_call_id") for step in copied)
    trip.totals_are_right()
