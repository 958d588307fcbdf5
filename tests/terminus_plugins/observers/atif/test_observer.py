"""What is in a run's folder, from the first step to the end."""

import hashlib
import logging
import os
import stat
from importlib.metadata import PackageNotFoundError, version

import pytest

from terminus_core import Step
from terminus_plugins.observers.atif import AtifObserver, observer

# -- the document ----------------------------------------------------------------------------------------------


def test_every_step_is_on_disk_as_it_is_recorded(rig):
    run = rig.start()
    run.record_step("user", "the prompt")
    assert [step["message"] for step in rig.read()["steps"]] == ["the prompt"]
    for number in range(2, 12):
        rig.turn(run, rig.answer(f"answer {number}"))
        document = rig.read()
        assert [step["step_id"] for step in document["steps"]] == list(range(1, number + 1))
        assert document["steps"][-1]["message"] == f"answer {number}"
        assert document["final_metrics"]["total_steps"] == number
        assert document["final_metrics"]["total_prompt_tokens"] == 10 * (number - 1)


def test_the_layout(rig):
    run = rig.start()
    run.record_step("user", "prompt")
    rig.turn(run, rig.answer("é", prompt_token_ids=[1, 2, 3]))
    first, second = (step["timestamp"] for step in rig.read()["steps"])
    text = (rig.folder / "trajectory.json").read_text(encoding="utf-8")
    head, steps = text.split('  "steps": [\n')
    assert head.startswith(
        '{\n  "schema_version": "ATIF-v1.8",\n  "session_id": "run-1",\n  "trajectory_id": "run-1",\n  "agent": {\n'
        '    "name": "terminus-core",\n'
    )
    assert steps == (
        "    {\n"
        '      "step_id": 1,\n'
        f'      "timestamp": "{first}",\n'
        '      "source": "user",\n'
        '      "message": "prompt"\n'
        "    },\n"
        "    {\n"
        '      "step_id": 2,\n'
        f'      "timestamp": "{second}",\n'
        '      "source": "agent",\n'
        '      "model_name": "lab/canned-1",\n'
        '      "message": "é",\n'
        '      "metrics": {\n'
        '        "prompt_tokens": 10,\n'
        '        "completion_tokens": 2,\n'
        '        "prompt_token_ids": [1, 2, 3]\n'
        "      }\n"
        "    }\n"
        "  ],\n"
        '  "final_metrics": {\n'
        '    "total_prompt_tokens": 10,\n'
        '    "total_completion_tokens": 2,\n'
        '    "total_cached_tokens": 0,\n'
        '    "total_steps": 2\n'
        "  }\n"
        "}\n"
    )


def test_who_acted(rig):
    run = rig.start({"llm": {"canned": {"temperature": 0, "llm_kwargs": {"seed": 1}}}})
    run.parser.tools = [{"type": "function", "function": {"name": "look"}}]
    run.record_step("user", "prompt")
    agent = rig.read()["agent"]
    extra = agent.pop("extra")
    assert agent == {
        "name": "terminus-core",
        "version": version("terminus-agent"),
        "model_name": "lab/canned-1",
        "tool_definitions": run.parser.tools,
    }
    assert extra == {
        "parser": "plain",
        "temperature": 0,
        "llm_kwargs": {"seed": 1},
        "prompt_sha256": hashlib.sha256(b"Be plain.\n\n").hexdigest(),
        "plugins": {"atif": "0.1.0"},
        "settings": run.settings.masked(),
    }


def test_who_acted_with_nothing_set(rig, monkeypatch):
    def unknown(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(observer, "version", unknown)
    rig.start().record_step("user", "prompt")
    agent = rig.read()["agent"]
    assert agent["version"] == "unknown"
    assert set(agent["extra"]) == {"parser", "prompt_sha256", "plugins", "settings"}


def test_tr_06_no_secret_of_the_settings_is_in_a_file(rig):
    run = rig.start(
        {
            "llm": {
                "canned": {
                    "llm_kwargs": {
                        "api_key": "not-a-real-key-0000",
                        "extra_headers": {"Authorization": "Bearer not-a-real-key-0001"},
                    },
                    "api_base": "http://me:not-a-real-key-0002@127.0.0.1/v1",
                }
            },
            "environment": {"ssh": {"password": "not-a-real-key-0003"}},
        }
    )
    run.record_step("user", "prompt")
    rig.turn(run, rig.answer())
    rig.finish(run)
    assert rig.read()["agent"]["extra"]["llm_kwargs"]["api_key"] == "***"
    for path in rig.folder.iterdir():
        assert b"not-a-real-key" not in path.read_bytes()


def test_sums_and_how_the_run_ended(rig):
    run = rig.start()
    run.record_step("user", "prompt")
    rig.turn(run, rig.answer(usage=(10, 2, 4, 0.25)))
    rig.turn(run, rig.answer(usage=(20, 3, 0, 0.5)))
    assert "extra" not in rig.read()["final_metrics"]
    rig.finish(run)
    assert rig.read()["final_metrics"] == {
        "total_prompt_tokens": 30,
        "total_completion_tokens": 5,
        "total_cached_tokens": 4,
        "total_cost_usd": 0.75,
        "total_steps": 3,
        "extra": {"status": "completed", "reason": ""},
    }
    assert rig.read()["steps"][1]["metrics"]["cached_tokens"] == 4


def test_a_run_without_a_step_leaves_no_document(rig):
    rig.finish(rig.start())
    assert list(rig.folder.iterdir()) == []


# -- replies ---------------------------------------------------------------------------------------------------


def test_each_answer_as_it_was_received(rig):
    run = rig.start()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    rig.turn(run, rig.answer("one\ntwo é", (10, 0, None, 0.5), model_name="lab/canned-1b", finish_reason="stop"))
    rig.turn(run, rig.answer("", tool_calls=[call], reasoning_content="hm", logprobs=[-0.5, float("-inf")]))
    rig.turn(run, rig.answer("half \ud83d", (None, None), extra={"id": "r"}))
    assert rig.replies() == [
        {
            "content": "one\ntwo é",
            "model_name": "lab/canned-1b",
            "usage": {"prompt_tokens": 10, "completion_tokens": 0, "cost_usd": 0.5},
            "finish_reason": "stop",
        },
        {
            "content": "",
            "reasoning_content": "hm",
            "usage": {"prompt_tokens": 10, "completion_tokens": 2},
            "tool_calls": [call],
        },
        {"content": "half \ufffd", "usage": {}, "extra": {"id": "r"}},
    ]


# -- values that JSON or the format does not know --------------------------------------------------------------


def test_tr_02_numbers_that_json_does_not_know_are_left_out_with_a_warning(rig, caplog):
    run = rig.start()
    response = rig.answer(usage=(10, 2, 0, float("nan")), completion_token_ids=[7, 8])
    response.logprobs = [-0.5, float("-inf")]
    run.record_step("user", "prompt", extra={"load": float("inf"), "loads": [0.5, float("nan")]})
    rig.turn(run, response)
    run.record_step("user", "later")
    prompt, odd, later = rig.read()["steps"]
    assert prompt["extra"] == {"loads": [0.5, None]}
    assert odd["metrics"] == {"prompt_tokens": 10, "completion_tokens": 2, "completion_token_ids": [7, 8]}
    assert later["message"] == "later"
    assert "total_cost_usd" not in rig.read()["final_metrics"]
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert "trajectory.json, step 1: NaN or Infinity left out" in warnings
    assert "trajectory.json, step 2: NaN or Infinity left out" in warnings


def test_tr_03_halves_of_surrogate_pairs_do_not_break_the_file(rig, caplog):
    run = rig.start()
    run.record_step("user", "prompt")
    fields = {
        "source": "agent",
        "message": "\ud83d then \ude00\ude00",
        "observation": {"results": [{"content": "\udcff"}]},
    }
    run.hooks.step_recorded(run, Step.model_construct(step_id=2, **fields), 0)
    broken = rig.read()["steps"][1]
    assert broken["message"] == "\ufffd then \ufffd\ufffd"
    assert broken["observation"]["results"][0]["content"] == "\ufffd"
    run.n_steps = 2
    run.record_step("user", "later \U0001f600")
    assert rig.read()["steps"][2]["message"] == "later \U0001f600"
    assert "trajectory.json, step 2: halves of surrogate pairs replaced" in caplog.messages


# -- saves that fail -------------------------------------------------------------------------------------------


def test_an_invalid_record_is_a_failed_save_and_the_end_says_so(rig, caplog):
    run = rig.start()
    run.record_step("user", "prompt")
    rig.turn(run, rig.answer())
    run.hooks.step_recorded(
        run, Step.model_construct(step_id=3, source="user", message="x", metrics={"cost_usd": 1}), 0
    )
    assert "Failed to dump trajectory: 1 validation error" in caplog.text
    run.n_steps = 3
    caplog.clear()
    rig.turn(run, rig.answer())
    assert "Failed to dump trajectory: 1 validation error" in caplog.text
    rig.finish(run)
    document = rig.read()
    assert len(document["steps"]) == 2
    assert document["final_metrics"]["total_prompt_tokens"] == 20
    assert document["final_metrics"]["extra"]["status"] == "completed"
    assert caplog.messages[-1] == f"File is not complete: {rig.folder / 'trajectory.json'}"


def test_a_step_out_of_order_is_invalid(rig, caplog):
    run = rig.start()
    run.record_step("user", "prompt")
    run.n_steps = 4
    run.record_step("user", "step 5")
    assert caplog.messages[-1] == "Failed to dump trajectory: step_id is 5, 2 would be right"
    assert len(rig.read()["steps"]) == 1


def test_a_failed_save_is_made_good_by_the_next(rig, caplog):
    run = rig.start()
    rig.folder.rmdir()
    run.record_step("user", "prompt")
    rig.turn(run, rig.answer("one"))
    failures = [message for message in caplog.messages if message.startswith("Failed")]
    assert [failure.partition(":")[0] for failure in failures] == [
        "Failed to dump trajectory",
        "Failed to write replies",
        "Failed to dump trajectory",
    ]
    assert run.files == []
    rig.folder.mkdir()
    caplog.clear()
    rig.finish(run)
    assert [step["message"] for step in rig.read()["steps"]] == ["prompt", "one"]
    assert [reply["content"] for reply in rig.replies()] == ["one"]
    assert caplog.messages == []
    assert sorted(run.files) == [rig.folder / "replies.jsonl", rig.folder / "trajectory.json"]


def test_a_folder_that_takes_no_file_is_told_at_the_end(rig, caplog):
    run = rig.start()
    rig.folder.rmdir()
    run.record_step("user", "prompt")
    rig.turn(run, rig.answer())
    rig.finish(run)
    assert caplog.messages[-2:] == [
        f"File is not complete: {rig.folder / 'trajectory.json'}",
        f"File is not complete: {rig.folder / 'replies.jsonl'}",
    ]
    rig.folder.mkdir()


def test_without_a_run_nothing_is_written(rig, caplog):
    AtifObserver().terminus_step_recorded(None, Step(step_id=1, source="user", message="x"))
    assert caplog.record_tuples == [
        (observer.__name__, logging.WARNING, "No context available, skipping trajectory dump")
    ]


def test_a_save_is_told_to_whoever_debugs(rig, caplog):
    caplog.set_level(logging.DEBUG)
    rig.start().record_step("user", "prompt")
    assert (
        "terminus_plugins.observers.atif.observer",
        logging.DEBUG,
        f"Trajectory dumped to {rig.folder / 'trajectory.json'}",
    ) in caplog.record_tuples


# -- files -----------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_files_are_private_listed_once_and_nothing_is_left_hidden(rig):
    run = rig.start()
    async with run.observers[0]:
        for _ in range(3):
            rig.turn(run, rig.answer())
        assert rig.hidden() != []
        rig.finish(run)
    assert rig.hidden() == []
    assert sorted(run.files) == sorted(rig.folder.iterdir())
    assert len(run.files) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in run.files} == {0o600}


def test_the_start_sweeps_what_a_killed_run_has_left(rig):
    run = rig.start()
    run.record_step("user", "prompt")
    rig.turn(run, rig.answer())
    (rig.folder / ".mine").touch()
    before = rig.read()
    rig.start()
    assert rig.hidden() == [".mine"]
    assert rig.read() == before


def test_a_save_costs_what_is_new(rig, monkeypatch):
    """Bytes and calls to the disk of a save, over 10,000 steps."""
    calls = []

    def counted(name, size):
        act = getattr(os, name)

        def counting(*arguments, **keywords):
            calls.append(size(*arguments))
            return act(*arguments, **keywords)

        monkeypatch.setattr(os, name, counting)

    counted("pwrite", lambda fd, data, offset: len(data))
    for name in ("open", "link", "rename", "unlink", "ftruncate"):
        counted(name, lambda *_: 0)
    run = rig.start()
    costs = []
    for _ in range(10_000):
        run.record_step("user", "a prompt of some length")
        costs.append((len(calls), sum(calls)))
        calls.clear()
    early, late = costs[10:110], costs[-100:]
    assert max(n for n, _ in late) == max(n for n, _ in early)
    assert max(size for _, size in late) <= max(size for _, size in early) + 20  # longer numbers
    assert len(rig.read()["steps"]) == 10_000
