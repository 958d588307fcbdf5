"""Replaced histories and calls beside the chat, with both kinds of history."""

import pytest

pytestmark = pytest.mark.anyio

GROUP = "summarization"
PARTS = ("summary", "questions", "answers")


async def hand_over(rig, run, number):
    """What a context strategy does: three calls beside the chat, then a new history."""
    run.llm.answers += [rig.answer(f"{part} {number}", (100, 10, 50, 0.5)) for part in PARTS]
    asked = [{"role": "user", "content": "summarise"}]
    subagents = [await run.ask_aside(part, [*run.chat.messages, *asked], attempt=number, group=GROUP) for part in PARTS]
    history = [{"role": "user", "content": "task"}, {"role": "assistant", "content": f"questions {number}"}]
    run.replace_history(history, f"hand-over {number}", subagents)


async def run_with_two_summaries(rig, *, linear):
    run = rig.start({"trajectory": {"linear_history": linear}})
    run.record_step("user", "prompt")
    for number in (1, 2):
        rig.turn(run, rig.answer(f"before {number}", (10, 2, 4, 0.25)))
        await hand_over(rig, run, number)
    rig.turn(run, rig.answer("last", (20, 3)))
    return run


RUN = {
    "total_prompt_tokens": 2 * 310 + 20,
    "total_completion_tokens": 2 * 32 + 3,
    "total_cached_tokens": 2 * 154,
    "total_cost_usd": 2 * 1.75,
}


async def test_one_document_goes_on(rig):
    run = await run_with_two_summaries(rig, linear=False)
    rig.finish(run)
    document = rig.read()
    assert [step["source"] for step in document["steps"]] == [
        *("user", "agent", "system", "user", "agent", "system", "user", "agent"),
    ]
    assert document["final_metrics"] == RUN | {
        "total_steps": 8,
        "extra": {"status": "completed", "reason": ""},
    }
    assert "continued_trajectory_ref" not in document
    assert "continuation_index" not in document["agent"]["extra"]
    assert not [path for path in rig.folder.iterdir() if "cont" in path.name]
    (result,) = document["steps"][5]["observation"]["results"]
    for reference, part in zip(result["subagent_trajectory_ref"], PARTS, strict=True):
        assert reference["trajectory_path"] == f"trajectory.summarization-2-{part}.json"
        assert rig.read(reference["trajectory_path"])["steps"][-1]["message"] == f"{part} 2"


async def test_linear_history_is_a_chain_of_documents(rig):
    run = await run_with_two_summaries(rig, linear=True)
    rig.finish(run)
    names = ["trajectory.json", "trajectory.cont-1.json", "trajectory.cont-2.json"]
    chain = [rig.read(name) for name in names]
    assert [each.get("continued_trajectory_ref") for each in chain] == [*names[1:], None]
    assert [each["agent"]["extra"].get("continuation_index") for each in chain] == [None, 1, 2]
    assert [each["session_id"] for each in chain] == ["run-1"] * 3
    assert [each["trajectory_id"] for each in chain] == ["run-1", "run-1.cont-1", "run-1.cont-2"]
    assert [
        [
            (step["message"], step.get("is_copied_context", False))
            for step in each["steps"]
            if step["source"] != "system"
        ]
        for each in chain
    ] == [
        [("prompt", False), ("before 1", False)],
        [("task", True), ("questions 1", True), ("hand-over 1", False), ("before 2", False)],
        [("task", True), ("questions 2", True), ("hand-over 2", False), ("last", False)],
    ]
    assert chain[0]["steps"][-1]["source"] == chain[1]["steps"][-1]["source"] == "system"


async def test_with_linear_history_the_sums_of_a_document_are_its_own(rig):
    run = await run_with_two_summaries(rig, linear=True)
    rig.finish(run)
    first, second, last = (rig.read(f"trajectory{part}.json")["final_metrics"] for part in ("", ".cont-1", ".cont-2"))
    own = {
        "total_prompt_tokens": 10,
        "total_completion_tokens": 2,
        "total_cached_tokens": 4,
        "total_cost_usd": 0.25,
    }
    assert first == own | {"total_steps": 3}
    assert second == own | {"total_steps": 5}
    assert last == {
        "total_prompt_tokens": 20,
        "total_completion_tokens": 3,
        "total_cached_tokens": 0,
        "total_steps": 4,
        "extra": {"status": "completed", "reason": "", "run": RUN},
    }
    asides = [rig.read(f"trajectory.summarization-{n}-{part}.json") for n in (1, 2) for part in PARTS]
    tokens = [each["final_metrics"]["total_prompt_tokens"] for each in asides]
    assert sum(tokens) + 10 + 10 + 20 == run.totals.prompt_tokens


async def test_every_answer_is_in_the_replies_in_the_order_of_the_calls(rig):
    run = await run_with_two_summaries(rig, linear=True)
    texts = [reply["content"] for reply in rig.replies()]
    assert texts == [text for n in (1, 2) for text in (f"before {n}", *(f"{part} {n}" for part in PARTS))] + ["last"]
    assert len(run.files) == len({*run.files}) == 1 + 3 + 6


@pytest.mark.parametrize("linear", [False, True])
async def test_all_files_are_whole_while_the_run_goes_on_and_nothing_is_left_hidden(rig, linear):
    run = await run_with_two_summaries(rig, linear=linear)
    for path in run.files:
        if path.suffix == ".json":
            rig.read(path.name)
    async with run.observers[0]:
        rig.finish(run)
    assert rig.hidden() == []
    assert sorted(run.files) == sorted(path for path in rig.folder.iterdir() if path != run.journal.path)


async def test_a_segment_points_at_nothing_that_is_not_there(rig, caplog):
    run = rig.start({"trajectory": {"linear_history": True}})
    run.record_step("user", "prompt")
    (rig.folder / "trajectory.cont-1.json").mkdir()
    run.replace_history([{"role": "user", "content": "task"}], "hand-over", [])
    assert "continued_trajectory_ref" not in rig.read()
    assert "Failed to dump trajectory" in caplog.text
    (rig.folder / "trajectory.cont-1.json").rmdir()
    caplog.clear()
    rig.finish(run)
    assert rig.read()["continued_trajectory_ref"] == "trajectory.cont-1.json"
    assert [step["message"] for step in rig.read("trajectory.cont-1.json")["steps"]] == ["task", "hand-over"]
    assert caplog.messages == []


IMAGE = "data:image/jpeg;base64,AAAA"
CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "type", "arguments": '{"keys": "ls"}'}},
    {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "no object"}},
]


async def test_a_call_beside_the_chat_holds_exactly_what_was_sent(rig):
    run = rig.start()
    run.llm.answers = [
        rig.answer(
            "the answer",
            (100, 10, 50, 0.5),
            model_name="lab/canned-1b",
            reasoning_content="hm",
            completion_token_ids=[1, 2],
        )
    ]
    await run.ask_aside(
        "summary",
        group=GROUP,
        messages=[
            {"role": "system", "content": "rules"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": IMAGE}}],
            },
            {"role": "assistant", "content": "", "tool_calls": CALLS, "reasoning_content": "so"},
            {"role": "tool", "tool_call_id": "c1", "content": "a b"},
            {"role": "tool", "tool_call_id": "c2", "content": ""},
            {"role": "tool", "tool_call_id": "of nobody", "content": "lost"},
            {"role": "user", "content": "summarise"},
        ],
    )
    document = rig.read("trajectory.summarization-1-summary.json")
    copied = {"is_copied_context": True}
    answer_time = document["steps"][-1].pop("timestamp")
    assert answer_time.endswith("+00:00")
    assert [{key: value for key, value in step.items() if key != "step_id"} for step in document["steps"]] == [
        {"source": "system", "message": "rules"} | copied,
        {
            "source": "user",
            "message": [
                {"type": "text", "text": "see"},
                {"type": "image", "source": {"media_type": "image/jpeg", "path": "images/3a16eafd3875dd26.jpeg"}},
            ],
        }
        | copied,
        {
            "source": "agent",
            "message": "",
            "reasoning_content": "so",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "type", "arguments": {"keys": "ls"}},
                {"tool_call_id": "c2", "function_name": "look", "arguments": {"arguments": "no object"}},
            ],
            "observation": {
                "results": [{"source_call_id": "c1", "content": "a b"}, {"source_call_id": "c2", "content": ""}]
            },
        }
        | copied,
        {"source": "user", "message": "lost", "extra": {"role": "tool", "tool_call_id": "of nobody"}} | copied,
        {"source": "user", "message": "summarise"},
        {
            "source": "agent",
            "model_name": "lab/canned-1b",
            "message": "the answer",
            "reasoning_content": "hm",
            "metrics": {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "cached_tokens": 50,
                "cost_usd": 0.5,
                "completion_token_ids": [1, 2],
            },
        },
    ]
    assert document["trajectory_id"] == "run-1.summarization-1-summary"
    assert document["final_metrics"] == {
        "total_prompt_tokens": 100,
        "total_completion_tokens": 10,
        "total_cached_tokens": 50,
        "total_cost_usd": 0.5,
        "total_steps": 6,
    }


async def test_a_call_without_a_history_has_nothing_copied(rig):
    run = rig.start()
    run.llm.answers = [rig.answer("which?", (None, None))]
    await run.ask_aside("questions", [{"role": "user", "content": "ask"}], group=GROUP)
    asked, answered = rig.read("trajectory.summarization-1-questions.json")["steps"]
    assert "is_copied_context" not in asked
    assert "metrics" not in answered
    assert answered["model_name"] == "lab/canned-1"


async def test_a_message_of_no_known_form_costs_its_document_only(rig, caplog):
    run = rig.start()
    run.llm.answers = [rig.answer("one"), rig.answer("two")]
    await run.ask_aside("summary", [{"role": "assistant", "content": "", "tool_calls": [{"odd": 1}]}], group=GROUP)
    assert "Failed to dump trajectory" in caplog.text
    run.record_step("user", "prompt")
    rig.finish(run)
    assert rig.read()["final_metrics"]["total_prompt_tokens"] == 10
    assert [reply["content"] for reply in rig.replies()] == ["one"]
