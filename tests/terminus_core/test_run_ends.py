"""However a run ends: status, reason, complete records, everything closed."""

import json
import logging
import re
import stat

import anyio
import pytest

from terminus_core import (
    Agent,
    CompletionPolicy,
    ConfigError,
    ContextLengthExceededError,
    ContextStrategy,
    EnvironmentFailedError,
    Gate,
    LLMError,
    LLMResponse,
    Observer,
    SessionClosedError,
    StreamsUnsupportedError,
    Usage,
    hookimpl,
)
from terminus_core.testing import FakeBackend, FakeLLM, FakeSession

pytestmark = pytest.mark.anyio


async def test_limit_of_episodes(trial):
    result = await trial(["$ ls"] * 9, max_episodes=3).run()
    assert (result.status, result.n_episodes) == ("max_episodes", 3)


async def test_limit_of_cost_is_kept_before_the_next_call(trial):
    t = trial([LLMResponse(content="$ ls", usage=Usage(1, 1, 0, 0.4))] * 9, max_cost_usd=1.0)
    result = await t.run()
    assert (result.status, result.reason, len(t.llm.requests)) == ("limit_reached", "max_cost_usd", 3)
    assert result.totals.cost_usd == pytest.approx(1.2)


async def test_limit_of_cost_with_an_unknown_price_is_refused_before_the_first_call(trial):
    llm = FakeLLM(["DONE"])
    llm.knows_price = False
    with pytest.raises(ConfigError, match="price"):
        await trial([], llm=llm, max_cost_usd=1.0).run()
    assert llm.requests == []


async def test_limit_of_cost_with_answers_that_tell_none_ends_the_run(trial):
    replies = [LLMResponse(content="$ ls", usage=Usage(1, 1, 0, 0.4)), *[LLMResponse(content="$ ls")] * 9]
    llm = FakeLLM(replies)
    del llm.knows_price  # it is optional
    result = await trial([], llm=llm, max_cost_usd=1.0).run()
    assert (result.status, result.reason, len(llm.requests)) == ("limit_reached", "max_cost_usd", 2)


async def test_limit_of_time_holds_while_the_model_thinks(trial):
    class Silent(FakeLLM):
        async def call(self, request):
            await anyio.sleep_forever()

    t = trial([], llm=Silent(), max_time_sec=0.2)
    result = await t.run()
    assert (result.status, result.reason) == ("limit_reached", "max_time_sec")
    assert not t.backend.is_open


async def test_provider_faults_are_a_result(trial):
    t = trial(["$ ls", LLMError("the key was refused")])
    result = await t.run()
    assert (result.status, result.reason) == ("error", "the key was refused")
    assert result.error.exit_code == 3
    assert len(t.steps) == 2
    assert t.recorder.values("run_finished") == [result]


async def test_a_full_window_without_a_strategy(trial):
    t = trial(["$ ls", ContextLengthExceededError("too long")])
    result = await t.run()
    assert (result.status, result.reason) == ("limit_reached", "context")


async def test_at_most_two_rescues_an_episode(trial):
    class Hopeful(ContextStrategy):
        name = "hopeful"
        rescues = 0

        async def before_request(self, run, prompt):
            return prompt

        async def on_context_length_exceeded(self, run, prompt):
            self.rescues += 1
            return "shorter"

    strategy = Hopeful()
    t = trial([ContextLengthExceededError("too long")] * 9, context=strategy)
    result = await t.run()
    assert (result.status, result.reason) == ("limit_reached", "context")
    assert (strategy.rescues, len(t.llm.requests)) == (2, 3)
    assert t.prompts[1:] == ["shorter"] * 2


async def test_a_dead_session_ends_the_run_at_the_gate(trial, caplog):
    def on_keys(keys):
        t.session.alive = False

    t = trial(["$ exit", "DONE"], on_keys=on_keys)
    with caplog.at_level(logging.DEBUG):
        result = await t.run()
    assert (result.status, result.n_episodes) == ("session_ended", 2)
    assert "Session has ended, breaking out of agent loop" in caplog.text
    assert len(t.llm.requests) == 1


async def test_a_session_that_dies_in_a_batch_leaves_the_turn(trial):
    def on_keys(keys):
        if keys == "exit\n":
            raise SessionClosedError("the shell has ended (status 0)")

    t = trial(["$ exit\n$ later"], on_keys=on_keys, outputs=["$ ", "logout"])
    result = await t.run()
    assert result.status == "session_ended"
    assert len(t.session.sent) == 1
    text = t.steps[-1].observation.results[0].content
    assert "logout" in text
    assert "the shell has ended (status 0)" in text


async def test_a_confirming_claim_with_a_dying_session_is_completed(trial):
    outputs = ["$ ", "ok", SessionClosedError("gone"), SessionClosedError("gone")]
    result = await trial(["DONE", "DONE\n$ exit"], outputs=outputs).run()
    assert result.status == "completed"


async def test_no_answer_of_the_environment_is_not_a_dead_session(trial):
    class Lost(FakeSession):
        async def is_session_alive(self):
            if self.sent:
                raise EnvironmentFailedError("no answer from the host")
            return True

    t = trial(["$ ls", "DONE"], session=Lost(["$ "]))
    result = await t.run()
    assert (result.status, result.error.exit_code) == ("error", 4)
    assert len(t.steps) == 2


async def test_a_terminal_that_cannot_be_had(trial):
    t = trial(["DONE"], backend=FakeBackend(fails=EnvironmentFailedError("install tmux")))
    result = await t.run()
    assert (result.status, result.reason, result.error.exit_code) == ("error", "install tmux", 4)
    assert t.llm.requests == []


async def test_a_terminal_that_does_not_answer_the_first_look(trial):
    t = trial(["DONE"], outputs=[TimeoutError()])
    result = await t.run()
    assert (result.status, result.reason, result.error.exit_code) == ("error", "the terminal does not answer", 4)
    assert t.recorder.values("run_finished") == [result]
    assert t.llm.requests == []


async def test_a_session_that_needs_streams_says_what_to_change(trial):
    failure = StreamsUnsupportedError("environment 'plain' has no byte streams")
    result = await trial(["DONE"], backend=FakeBackend(fails=failure)).run()
    assert (result.status, result.error.exit_code) == ("error", 4)
    assert result.reason == (
        "session 'fake' needs byte streams: environment 'plain' has no byte streams; choose another with --session"
    )


async def test_a_shell_that_ends_before_it_is_ready_is_no_terminal(trial):
    result = await trial(["DONE"], backend=FakeBackend(fails=SessionClosedError("status 3"))).run()
    assert (result.status, result.error.exit_code) == ("error", 4)
    assert "status 3" in result.reason


async def test_bugs_are_raised_again_after_the_result(trial):
    class Buggy(CompletionPolicy):
        name = "buggy"

        async def decide(self, run, turn):
            raise KeyError("x")

    t = trial(["$ ls"], completion=Buggy())
    with pytest.raises(KeyError):
        await t.run()
    (result,) = t.recorder.values("run_finished")
    assert (result.status, result.reason) == ("error", "KeyError: 'x'")
    assert not t.backend.is_open


async def test_a_bug_names_the_part_that_it_lies_in(trial):
    class Strict(Gate):
        name = "strict_gate"

        async def before_commands(self, run, reply):
            await run.ask_aside("check", None)

    class Thinking(FakeLLM):
        async def call(self, request):
            return [].pop()

    for keys, note in (
        ({"gates": [Strict()]}, "in gate 'strict_gate'"),
        ({"llm": Thinking()}, "in llm 'fake'"),
    ):
        t = trial(["$ ls"], **keys)
        with pytest.raises((TypeError, IndexError)) as caught:
            await t.run()
        assert caught.value.__notes__ == [note]
        assert t.agent.failed_run.result.status == "error"


async def test_cancel_lo_07(trial):
    """Everything is closed, the result is told, and the cancel comes out."""
    left = []

    class Closing:
        name = "closing"

        async def __aenter__(self):
            return self

        async def __aexit__(self, *error):
            await anyio.sleep(0.01)
            left.append("closed")

    class Hanging(FakeSession):
        async def send_keys(self, keystrokes, **_):
            self.sent.append((keystrokes, 0))
            scope.cancel()
            await anyio.sleep_forever()

    t = trial(["$ a\n$ b"], session=Hanging(["$ "]), observers=[Closing()])
    with anyio.CancelScope() as scope:
        await t.run()
    assert scope.cancelled_caught
    assert [keys for keys, _ in t.session.sent] == ["a\n"]
    assert [call.arguments["keystrokes"] for call in t.steps[-1].tool_calls] == ["a\n", "b\n"]
    assert [result.status for result in t.recorder.values("run_finished")] == ["cancelled"]
    assert left == ["closed"]
    assert not t.backend.is_open


async def test_stop_ends_after_the_step(trial):
    class Stopper:
        name = "stopper"

        @hookimpl
        def terminus_command_sent(self, run):
            run.stop("limit_reached", "enough")

    t = trial(["$ a", "$ b"], observers=[Stopper()])
    result = await t.run()
    assert (result.status, result.reason, len(t.steps)) == ("limit_reached", "enough", 2)


async def test_stop_knows_the_statuses(trial):
    t = trial(["DONE", "DONE"])
    await t.run()
    (run,) = t.recorder.values("run_started")
    with pytest.raises(ValueError, match="no status 'bogus'; there are completed, max_episodes"):
        run.stop("bogus")


async def test_say_stands_before_the_next_prompt_and_is_recorded(trial):
    class Nudge:
        name = "nudge"

        @hookimpl
        def terminus_step_recorded(self, run, step):
            if step.step_id == 2:
                run.say("Try something else.")

    t = trial(["$ a", "DONE", "DONE"], outputs=["$ ", "out"], observers=[Nudge()])
    await t.run()
    assert t.prompts[1] == "Try something else.\n\nNew Terminal Output:\nout"
    assert (t.steps[2].source, t.steps[2].message) == ("user", "Try something else.")
    assert [step.step_id for step in t.steps] == [1, 2, 3, 4, 5]


# -- the run's folder --------------------------------------------------------------------------------------------------


async def test_the_folder_is_private_and_tells_how_the_run_ended(trial, tmp_path):
    folder = tmp_path / "deep" / "run"
    await trial(["DONE", "DONE"], logs_dir=folder).run()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    record = json.loads((folder / "run.json").read_text())
    assert (record["status"], record["n_episodes"], record["instruction"]) == ("completed", 2, "the task")


@pytest.mark.parametrize("name", ["run.json", "trajectory.json"])
async def test_a_folder_that_holds_a_run_is_refused(trial, tmp_path, name):
    class Sink(Observer):
        name = "sink"
        owns = frozenset({"trajectory.json"})

    (tmp_path / name).write_text("{}")
    with pytest.raises(ConfigError, match="holds a run already"):
        await trial(["DONE"], logs_dir=tmp_path, observers=[Sink()]).run()
    assert (tmp_path / name).read_text() == "{}"


@pytest.mark.parametrize("session_id", ["../../x y;z", "/etc/x", "..", "\n\t\x1b", "ä b", "plain-id_1.x"])
async def test_the_default_folder_is_one_of_its_own_whatever_the_id(trial, tmp_path, monkeypatch, session_id):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    t = trial(["DONE", "DONE"], logs_dir=None, session_id=session_id)
    await t.run()
    (folder,) = (tmp_path / "terminus" / "runs").iterdir()
    assert re.fullmatch(r"[0-9]{8}-[0-9]{6}-[\w.-]+", folder.name, re.ASCII)
    assert json.loads((folder / "run.json").read_text())["session_id"] == session_id


async def test_runs_inside_a_repository_are_ignored_by_git(trial, tmp_path):
    (tmp_path / ".git").mkdir()
    for _ in range(2):
        await trial(["DONE", "DONE"], logs_dir=None, runs_dir=tmp_path / "a" / "runs").run()
    assert (tmp_path / "a" / "runs" / ".gitignore").read_text() == "*\n"
    assert len([*(tmp_path / "a" / "runs").glob("*/run.json")]) == 2


async def test_a_folder_of_runs_that_cannot_be_made(trial, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file/runs for runs: Not a directory; set agent\.runs_dir or --logs-dir"):
        await trial(["DONE"], logs_dir=None, runs_dir=tmp_path / "file" / "runs").run()


async def test_a_link_in_the_folder_leads_the_run_to_no_other_file(trial, tmp_path):
    (tmp_path / "bashrc").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".run.json.new").symlink_to(tmp_path / "bashrc")
    await trial(["DONE", "DONE"], logs_dir=tmp_path / "run").run()
    assert (tmp_path / "bashrc").read_text() == "mine"
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "completed"


async def test_a_folder_below_the_home_folder(trial, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    await trial(["DONE", "DONE"], logs_dir="~/runs").run()
    assert (tmp_path / "runs" / "run.json").is_file()
    assert not (tmp_path / "~").exists()


async def test_any_other_folder_is_accepted(trial, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert (await trial(["DONE", "DONE"], logs_dir=tmp_path).run()).status == "completed"


# -- what an agent is made with ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"modle": "x"}, "no keyword 'modle'; did you mean 'model'"),
        ({"max_episodes": 0}, "agent.max_episodes"),
        ({"completion": "two_stp"}, "unknown completion 'two_stp'; did you mean 'two_step'"),
        ({"observers": ["atiff"]}, "unknown observer 'atiff'"),
        ({"settings": {"agent": {"paser": "json"}}}, "unknown setting agent.paser; did you mean 'parser'"),
        ({"settings": {"completion": {"two_step": {"x": 1}}}}, "completion 'two_step' has no settings"),
        ({"settings": {"completion": {"three_step": {"x": 1}}}}, "unknown completion 'three_step'"),
        ({"settings": {"tables": {}}}, "unknown setting tables"),
    ],
)
async def test_a_wrong_setting_is_one_clear_line(keys, line):
    with pytest.raises(ConfigError) as caught:
        Agent(**keys)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
