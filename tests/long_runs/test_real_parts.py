"""Whole runs with the default parts: a real shell in a real terminal, the JSON format, three kinds of history."""

import json

import pytest

from terminus_plugins.context.summarize.strategy import SummarizeStrategy
from terminus_plugins.context.truncate import TruncateStrategy
from tests.support.provider_server import fault

from .conftest import Model, text_of

pytestmark = pytest.mark.anyio


def reply(*keystrokes, done=False):
    commands = [{"keystrokes": each, "duration": 5} for each in keystrokes]
    return json.dumps({"analysis": "a", "plan": "p", "commands": commands, "task_complete": done})


def script():
    """Numbers in a file, a lot of output, and at the end what the file holds."""
    return [
        *(reply(f"echo {i} >> found; seq {i}000 {i}900\n") for i in range(1, 7)),
        reply("cat found | tr '\\n' ,; echo\n"),
        reply(done=True),
        reply(done=True),
    ]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder that the shell starts in."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


CONTEXTS = {
    "summarize": SummarizeStrategy(SummarizeStrategy.Config()),
    "truncate": TruncateStrategy(TruncateStrategy.Config(keep_turns=1)),
}


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("faults", [{}, {"summary": fault(500), "short": fault(500)}], ids=["good", "failing"])
@pytest.mark.parametrize("linear", [False, True], ids=["one document", "linear history"])
async def test_the_work_goes_on(journey, place, context, faults, linear):
    if faults and context == "truncate":
        faults = {}
    model = Model(script(), window=9_000, **faults)
    trip = journey(
        model, believes=9_000, linear=linear, raw=linear, context=CONTEXTS[context], real=True, parser="json"
    )
    await trip.run("Write six numbers into the file found.")
    assert trip.ending == ("completed", "")
    assert (place / "found").read_text() == "1\n2\n3\n4\n5\n6\n"
    assert any("1,2,3,4,5,6," in text_of(message) for message in model.bodies[-2]["messages"])
    replaced = trip.recorder.values("history_replaced")
    assert replaced
    if context == "summarize" and not faults:
        (asked, *_) = model.messages("questions")
        assert "900" in text_of(asked[0])  # the end of the real screen
    assert len(list(trip.folder.glob("trajectory.cont-*.json"))) == (len(replaced) if linear else 0)
    trip.totals_are_right()
