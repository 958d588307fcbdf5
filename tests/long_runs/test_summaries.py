"""Summaries that work: what is asked, what the chat becomes, what is written, what is counted."""

from itertools import pairwise

import pytest

from terminus_plugins.context.summarize.strategy import SummarizeStrategy
from tests.support.provider_server import answer

from .conftest import ASIDES, Model, Screen, text_of

pytestmark = pytest.mark.anyio

FIRST = "FORMAT RULES: one command a line\nTASK: Search the house."


@pytest.fixture(params=[False, True], ids=["one document", "linear history"])
def linear(request):
    return request.param


@pytest.fixture(params=["proactive", "passive"])
def summarized(request, journey, linear):
    """A run whose history is summarized once, after four turns: before a request, or after a refusal."""
    window, believes = (16_000, 16_000) if request.param == "proactive" else (9_800, 100_000)
    model = Model(["one", "two", "three", "four", "DONE", "DONE"], window=window)
    trip = journey(model, believes=believes, linear=linear, observed=9_900)
    trip.mode = request.param
    return trip


async def test_three_calls_and_a_hand_over(summarized):
    result = await summarized.run()
    assert (result.status, result.n_episodes) == ("completed", 6)
    refused = ["turn!"] if summarized.mode == "passive" else []
    log = summarized.model.log
    asked = log.index("summary")
    assert log[asked - len(refused) : asked + 4] == [*refused, "summary", "questions", "answers", "turn"]
    assert log.count("summary") == 1
    assert summarized.result.totals.prompt_tokens > 0
    summarized.totals_are_right()


async def test_what_each_call_sees(summarized):
    await summarized.run()
    model = summarized.model
    (summary,), (questions,), (answers,) = (model.messages(kind) for kind in ("summary", "questions", "answers"))
    before = model.bodies[model.log.index("summary") - 1]["messages"]
    assert summary[:3] == before[:3]  # the history
    assert "Search the house." in text_of(summary[-1])
    assert [message["role"] for message in questions] == ["user"]
    text = text_of(questions[0])
    assert ASIDES["summary"] in text
    assert "Search the house." in text
    assert "SCREEN after" in text
    assert "ran one" not in text
    assert answers[:-3] == summary[: len(answers) - 3]  # the history, perhaps a turn less of it
    assert answers[-3] == summary[-1]
    assert text_of(answers[-2]) == ASIDES["summary"]
    assert ASIDES["questions"] in text_of(answers[-1])


async def test_what_the_chat_becomes(summarized):
    await summarized.run()
    model = summarized.model
    after = model.bodies[model.log.index("answers") + 1]["messages"]
    assert [message["role"] for message in after] == ["user", "assistant", "user"]
    first, questions, handover = map(text_of, after)
    assert first.startswith(FIRST)
    assert first.endswith(text_of(model.messages("questions")[0][0]))
    assert questions == ASIDES["questions"]
    assert ASIDES["answers"] in handover
    waiting = model.bodies[model.log.index("summary") - 1]["messages"]
    done = [text_of(message) for message in waiting if message["role"] == "assistant"]
    if summarized.mode == "proactive":
        done.append(next(text for text in ("one", "two", "three", "four", "five") if text not in done))
    assert f"ran {done[-1]}\n" in handover
    assert handover.endswith("end")


async def test_what_is_written(summarized, linear):
    await summarized.run()
    documents = summarized.documents()
    calls = {f"trajectory.summarization-1-{kind}.json" for kind in ("summary", "questions", "answers")}
    assert documents.keys() == {"trajectory.json", *calls} | ({"trajectory.cont-1.json"} if linear else set())
    main = documents["trajectory.json"]
    system = next(step for step in main["steps"] if step["source"] == "system")
    (entry,) = system["observation"]["results"]
    assert {each["trajectory_path"] for each in entry["subagent_trajectory_ref"]} == calls
    for kind in ("summary", "questions", "answers"):
        steps = documents[f"trajectory.summarization-1-{kind}.json"]["steps"]
        (sent,) = summarized.model.messages(kind)
        assert [step["message"] for step in steps] == [*map(text_of, sent), ASIDES[kind]]
        assert "is_copied_context" not in steps[-1]
    handover = text_of(summarized.model.bodies[summarized.model.log.index("answers") + 1]["messages"][-1])
    if linear:
        assert main["steps"][-1] == system
        assert main["continued_trajectory_ref"] == "trajectory.cont-1.json"
        head = documents["trajectory.cont-1.json"]["steps"][:3]
        assert [step.get("is_copied_context", False) for step in head] == [True, True, False]
        step = head[2]
    else:
        step = main["steps"][main["steps"].index(system) + 1]
    assert (step["source"], step["message"]) == ("user", handover)


async def test_a_segment_is_what_was_sent(summarized, linear):
    await summarized.run()
    names = ["trajectory.json", "trajectory.cont-1.json"] if linear else ["trajectory.json"]
    bodies = [
        body["messages"]
        for kind, body in zip(summarized.model.log, summarized.model.bodies, strict=True)
        if kind == "turn"
    ]
    last_of_segment = [before for before, after in pairwise(bodies) if len(after) < len(before)] + [bodies[-1]]
    documents = summarized.documents()
    if not linear:
        last_of_segment = last_of_segment[:1]
    for name, messages in zip(names, last_of_segment, strict=True):
        said = []
        for step in documents[name]["steps"]:
            if step["source"] == "system":
                break
            said.append(step["message"])
            said += [each["content"] for each in step.get("observation", {}).get("results", [])]
        assert said[: len(messages)] == [text_of(message) for message in messages]


async def test_segments_have_their_own_sums_and_the_last_names_the_runs(summarized, linear):
    await summarized.run()
    documents = summarized.documents()
    totals = summarized.result.totals
    last = documents["trajectory.cont-1.json" if linear else "trajectory.json"]["final_metrics"]
    if not linear:
        assert last["total_prompt_tokens"] == totals.prompt_tokens
        return
    assert last["extra"]["run"]["total_prompt_tokens"] == totals.prompt_tokens
    sums = sum(document["final_metrics"]["total_prompt_tokens"] for document in documents.values())
    assert sums == totals.prompt_tokens


async def test_a_pending_claim_travels_with_the_observation(journey):
    """The question after a claim waits while the history is replaced; the next claim answers it."""
    model = Model(["one", "two", "three", "DONE\nlook", "DONE"], window=9_800)
    trip = journey(model, observed=9_900)
    await trip.run()
    assert trip.ending == ("completed", "")
    asked = next(i for i, kind in enumerate(model.log) if kind == "summary")
    assert text_of(model.bodies[asked + 3]["messages"][-1]).endswith("ARE YOU SURE?")


async def test_a_limit_below_the_threshold_is_not_summarized_before_each_turn(journey):
    model = Model([f"go {i}" for i in range(40)])
    trip = journey(model, believes=6000, observed=900)
    await trip.run()
    assert 1 <= model.log.count("summary") <= 5
    assert "turn!" not in model.log


async def test_the_threshold_is_free_tokens(journey):
    """Each turn is about 800 tokens: with 6,000 of 10,000 wanted free, four of them are too many."""
    summaries = {}
    for threshold in (0, 2000, 6000):
        model = Model([f"go {i}" for i in range(6)])
        context = SummarizeStrategy(SummarizeStrategy.Config(proactive_summarization_threshold=threshold))
        await journey(model, believes=10_000, observed=3000, context=context).run()
        summaries[threshold] = model.log.index("summary") if "summary" in model.log else None
    assert summaries[0] is None
    assert summaries[2000] is None
    assert summaries[6000] in {3, 4, 5}


async def test_without_usage_the_chat_is_counted(journey):
    model = Model([answer(f"go {i}", usage=None) for i in range(20)])
    trip = journey(model, believes=20_000, observed=3000)
    await trip.run()
    assert 1 <= model.log.count("summary") <= 3
    assert "turn!" not in model.log


async def test_the_newest_turns_are_unwound_until_there_is_room(journey):
    """A window that turns out to be a fifth of what was believed."""
    model = Model([f"go {i}" for i in range(9)], window=20_000)
    trip = journey(model, believes=100_000, observed=9_900)
    await trip.run()
    (summary, *_) = model.messages("summary")
    refused = model.messages("turn")[model.log.index("turn!")]
    assert len(summary) < len(refused)
    assert summary[:-1] == refused[: len(summary) - 1]
    assert "summary!" not in model.log


async def test_many_summaries_keep_rules_and_task(journey, linear):
    model = Model([f"go {i}" for i in range(60)], window=4000)
    trip = journey(model, believes=4000, observed=2000, linear=linear)
    result = await trip.run()
    assert result.status == "completed"
    n_summaries = model.log.count("summary")
    assert n_summaries >= 5
    for messages in model.messages("turn"):
        assert text_of(messages[0]).startswith(FIRST)
        assert text_of(messages[0]).count("FORMAT RULES") == 1
    trip.totals_are_right()
    if linear:
        names = sorted(trip.folder.glob("trajectory.cont-*.json"))
        assert len(names) == n_summaries
        assert trip.document("trajectory.cont-1.json")["continued_trajectory_ref"] == "trajectory.cont-2.json"


async def test_a_summary_that_frees_nothing_is_not_repeated(journey):
    """The model chatters: its summary is as long as the history."""
    long_text = "y" * 9000
    model = Model([f"go {i}" for i in range(12)], summary=long_text, short=long_text)
    trip = journey(model, believes=4000, observed=600)
    await trip.run()
    assert model.log.count("summary") <= 4


async def test_a_screen_that_cannot_be_had(journey):
    class Blind(Screen):
        async def capture_pane(self, *, entire=False):
            raise TimeoutError

    model = Model(["one", "two", "three", "four"], window=9_800)
    session = Blind(on_keys=lambda keys: "z" * 9_900)
    trip = journey(model, session=session)
    await trip.run()
    assert "(not available)" in text_of(model.messages("questions")[0][0])


@pytest.mark.parametrize(("threshold", "asks"), [(0, False), (8_000, True)])
async def test_chosen_and_set_by_name(journey, threshold, asks):
    model = Model([f"go {i}" for i in range(4)])
    settings = {"context": {"summarize": {"proactive_summarization_threshold": threshold}}}
    await journey(model, believes=16_000, observed=9_900, context="summarize", settings=settings).run()
    assert ("summary" in model.log) == asks
