"""Whole runs in a real terminal, with the default parts and a scripted model."""

import json

import pytest
from pydantic import ValidationError

from terminus_core import Agent, Trajectory, hookimpl
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM

pytestmark = pytest.mark.anyio

SETTINGS = {"session": {"tmux": {"shell": "env PS1='$ ' HISTFILE= bash --norc --noprofile"}}}


def reply(*keystrokes, done=False):
    commands = [{"keystrokes": keys, "duration": 0.1} for keys in keystrokes]
    answer = {"analysis": "seen", "plan": "go on", "commands": commands, "task_complete": done}
    return {"content": json.dumps(answer), "usage": {"prompt_tokens": 100, "completion_tokens": 7, "cost_usd": 0.125}}


TURNS = [
    {"content": "no answer at all", "usage": {"prompt_tokens": 90, "completion_tokens": 4}},
    reply("echo one\n", "echo two\n"),
    reply("echo three\n", done=True),
    reply(done=True),
]


@pytest.fixture
def work(rig, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))

    async def run(replies, settings=SETTINGS, folder=rig.folder):
        llm = {"llm": {**settings.get("llm", {}), "scripted": {"replies": replies}}}
        return await Agent(llm="scripted", logs_dir=str(folder), settings={**settings, **llm}).run("Count.")

    return run


async def test_tr_05_what_is_written_is_what_readers_accept(rig, work):
    result = await work(TURNS)
    document = rig.read()
    steps = document["steps"]
    assert [step["step_id"] for step in steps] == [1, 2, 3, 4, 5]
    assert document["final_metrics"] == {
        "total_prompt_tokens": 390,
        "total_completion_tokens": 25,
        "total_cached_tokens": 0,
        "total_cost_usd": 0.375,
        "total_steps": 5,
        "extra": {"status": "completed", "reason": ""},
    }
    assert steps[1]["metrics"] == {"prompt_tokens": 90, "completion_tokens": 4}
    assert [step["metrics"] for step in steps[2:]] == [
        {"prompt_tokens": 100, "completion_tokens": 7, "cost_usd": 0.125}
    ] * 3
    named = []
    for step in steps[1:]:
        (found,) = step["observation"]["results"]
        if "source_call_id" in found:
            assert found["source_call_id"] in [call["tool_call_id"] for call in step["tool_calls"]]
            named.append(step["step_id"])
    assert named == [4]
    assert sorted(result.files) == [rig.folder / "replies.jsonl", rig.folder / "trajectory.json"]
    assert rig.hidden() == []
    steps[3]["observation"]["results"][0]["source_call_id"] = "call_1_1"
    with pytest.raises(ValidationError, match="source_call_id"):
        Trajectory.model_validate(document)


async def test_tr_06_a_key_of_the_settings_is_neither_in_a_file_nor_in_the_log(rig, work, caplog):
    caplog.set_level("DEBUG")
    llm = {"litellm": {"llm_kwargs": {"api_key": "not-a-real-key-0000"}}}
    await work([reply(done=True), reply(done=True)], SETTINGS | {"llm": llm})
    assert rig.read()["agent"]["extra"]["settings"]["llm"]["litellm"] == {"llm_kwargs": {"api_key": "***"}}
    for path in rig.folder.iterdir():
        assert b"not-a-real-key" not in path.read_bytes()
    assert "not-a-real-key" not in caplog.text


async def test_the_replies_of_a_run_can_be_played_again(rig, work, tmp_path_factory):
    await work(TURNS)
    again = type(rig)(tmp_path_factory.mktemp("again"))
    await work(str(rig.folder), folder=again.folder)
    first, second = rig.read(), again.read()
    for document in (first, second):
        for name in ("session_id", "trajectory_id"):
            del document[name]
        del document["agent"]["extra"]
        for step in document["steps"]:
            del step["timestamp"]
    assert first == second
    assert again.replies() == rig.replies()


async def test_the_end_is_recorded_when_the_model_fails(rig, work):
    await work([reply("echo one\n"), {"error": "on fire"}])
    document = rig.read()
    assert document["final_metrics"]["extra"]["status"] == "error"
    assert "on fire" in document["final_metrics"]["extra"]["reason"]
    assert len(document["steps"]) == 2
    assert rig.hidden() == []


async def test_a_step_that_another_records_at_the_start_is_kept(rig):
    class Early:
        name = "early"

        @hookimpl
        def terminus_run_started(self, run):
            run.record_step("system", "The rules of the house.")

    (rig.folder / ".trajectory.json.growing-a").touch()
    agent = Agent(
        llm=FakeLLM([reply(done=True)["content"]] * 2),
        environment=FakeEnvironment(),
        session=FakeBackend(),
        observers=[Early(), "atif"],
        logs_dir=rig.folder,
    )
    assert (await agent.run("Count.")).status == "completed"
    steps = rig.read()["steps"]
    assert [step["step_id"] for step in steps] == [1, 2, 3, 4]
    assert steps[0]["message"] == "The rules of the house."
    assert rig.hidden() == []
