"""What people who train models on runs need: rollouts, reasoning that goes back, no turn after a cut answer."""

import pytest

from terminus_core import hookimpl
from tests.support.provider_server import answer

from .conftest import Model, Screen, text_of

pytestmark = pytest.mark.anyio


def turns(n):
    return [*(f"go {i}" for i in range(n)), "DONE", "DONE"]


async def test_rollouts_of_turns_and_of_calls_beside_the_chat(journey):
    model = Model(turns(4), window=16_000)
    trip = journey(
        model,
        believes=16_000,
        observed=9_900,
        linear=True,
        collect_rollout_details=True,
        llm_settings={"collect_rollout_details": True},
    )
    await trip.run()
    details = trip.result.rollout_details
    assert [each["kind"] for each in details] == model.log
    asked = model.log.index("summary")
    assert {each["episode"] for each in details[asked : asked + 4]} == {asked + 1}
    for each, request in zip(details, trip.server.requests, strict=True):
        assert len(each["prompt_token_ids"]) == request.usage["prompt"]
        assert len(each["completion_token_ids"]) == len(each["logprobs"]) == request.usage["completion"]
    recorded = [
        step["metrics"]
        for document in trip.documents().values()
        for step in document["steps"]
        if "metrics" in step and not step.get("is_copied_context")
    ]
    for name in ("prompt_token_ids", "completion_token_ids", "logprobs"):
        assert sorted(each[name] for each in recorded) == sorted(each[name] for each in details)


async def test_without_the_setting_nothing_is_kept(journey):
    trip = journey(Model(turns(2)))
    await trip.run()
    assert trip.result.rollout_details == []


@pytest.mark.parametrize("interleaved", [True, False])
async def test_reasoning_goes_back_only_where_it_is_wanted(journey, interleaved):
    model = Model([answer("one", reasoning="the cellar is dark"), *turns(1)])
    trip = journey(model, interleaved_thinking=interleaved)
    await trip.run()
    sent = [message.get("reasoning_content") for message in model.bodies[-1]["messages"]]
    assert sent[1] == ("the cellar is dark" if interleaved else None)
    trip.totals_are_right()


@pytest.mark.parametrize(("setting", "answers"), [("abort", 1), ("repair", 3)])
async def test_cut_answers(journey, setting, answers):
    model = Model([*["one"] * 2, *[answer("", finish_reason="length")] * 9])
    trip = journey(model, on_output_limit=setting)
    await trip.run()
    assert trip.ending == ("limit_reached", "cut_answers")
    assert model.log == ["turn"] * (2 + answers)
    last = trip.document()["steps"][-1]
    assert (last["message"], last["extra"]["finish_reason"]) == ("", "length")
    trip.totals_are_right()


async def test_what_was_said_survives_a_refusal(journey):
    """A text that a plugin says goes out with the prompt, also when that had to be handed over."""

    class Voice:
        name = "voice"

        @hookimpl
        def terminus_response_received(self, run, response):
            if response.content == "four":
                run.say("MIND THE STEP")

    model = Model(["one", "two", "three", "four", "DONE", "DONE"], window=9_800)
    trip = journey(model, observed=9_900, observers=[Voice()])
    await trip.run()
    assert trip.ending == ("completed", "")
    assert model.log[4] == "turn!"
    handover = model.bodies[model.log.index("answers") + 1]["messages"][-1]
    assert "MIND THE STEP" in text_of(handover)


async def test_a_filtered_instruction_stays_in_a_shortened_first_prompt(journey):
    class Skills:
        name = "skills"

        @hookimpl
        def terminus_prepare_instruction(self, instruction):
            return f"{instruction}\nSKILL: open doors"

        @hookimpl
        def terminus_filter_observation(self, text):
            return text.replace("secret", "******")

    model = Model(["DONE", "DONE"], window=1_500)
    trip = journey(model, observers=[Skills()], session=Screen(outputs=["secret" * 1_500]))
    await trip.run()
    assert trip.ending == ("completed", "")
    assert model.log[:2] == ["turn!", "turn"]
    first = text_of(model.bodies[1]["messages"][0])
    assert "SKILL: open doors" in first
    assert "secret" not in first


async def test_the_screen_in_a_question_is_filtered(journey):
    class Filter:
        name = "filter"

        @hookimpl
        def terminus_filter_observation(self, text):
            return text.replace("SCREEN", "FILTERED")

    model = Model(turns(4), window=16_000)
    trip = journey(model, believes=16_000, observed=9_900, observers=[Filter()])
    await trip.run()
    (asked,) = model.messages("questions")[0]
    assert "FILTERED after" in text_of(asked)
    assert "SCREEN" not in text_of(asked)
