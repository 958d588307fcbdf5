"""``terminus run`` with a scripted model in the real terminal."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import DONE, last_json, reply

MARKUP = "progress [/] done [/bold] see items[0] and path [/srv/x] [link=http://a]y"
TEMPLATE = """Write {"name": "x"} to cfg.json, then run awk '{print $1}' {0} {instruction} {terminal_state!r} ${HOME}"""


def test_completed(terminus):
    done = terminus("run", "say hello", *terminus.script(reply("echo hel''lo\n"), *DONE))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for line in (
        "task: say hello",
        "[1] the state \u2014 the plan",
        "[1] > echo hel''lo\u23ce",
        "[1] tokens: 100 in, 10 out, $0.0100",
        "[2] says that the task is complete",
        "completed",
        f"trajectory: {terminus.runs[0] / 'trajectory.json'}",
        f"folder: {terminus.runs[0]}",
    ):
        assert line in lines
    assert [line for line in lines if line.startswith("[1] < ") and line.endswith(": hello")]
    assert [line for line in lines if line.startswith("3 episodes, tokens: 300 in, 30 out, $0.0300, ")]
    assert [line for line in lines if line.startswith("to watch: ") and " attach-session -r " in line]
    assert "\x1b" not in done.stdout
    assert terminus.trajectory()["final_metrics"]["extra"]["status"] == "completed"


def test_json_is_the_last_line_of_stdout_and_all_else_is_on_stderr(terminus):
    chatty = terminus.plugin(
        "from terminus_core import hookimpl\n"
        "@hookimpl\ndef terminus_run_finished(run, result):\n    print('a plugin that prints')\n"
    )
    done = terminus("run", "task", *terminus.script(*DONE), *chatty, "--json")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    result = last_json(done)
    assert result.pop("session_id")
    assert Path(result.pop("logs_dir")).name == terminus.runs[0].name
    assert result == {
        "status": "completed",
        "reason": "",
        "error_kind": "",
        "error_group": "",
        "incomplete": {},
        "failed_observers": [],
        "n_episodes": 2,
        "totals": {"prompt_tokens": 200, "completion_tokens": 20, "cache_tokens": 0, "cost_usd": 0.02},
        "files": [str(terminus.runs[0] / name) for name in ("trajectory.json", "replies.jsonl")],
        "metadata": {},
    }
    assert "a plugin that prints" in done.stderr
    assert "task: task" in done.stderr


def test_quiet_prints_the_summary_only(terminus, in_process):
    done = in_process("run", "task", *terminus.script(*DONE), "--quiet")
    assert done.stdout.splitlines()[0] == "completed"
    done = in_process("run", "task", *terminus.script(*DONE), "--quiet", "--json", "--observer", "no:atif")
    assert len(done.stdout.splitlines()) == 1
    assert last_json(done)["files"] == []


def test_the_task_that_is_shown_is_redacted(terminus, in_process, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "zzq-hidden-value")
    done = in_process("run", "log in with zzq-hidden-value", *terminus.script(*DONE), "--observer", "redact")
    assert "task: log in with ***" in done.stdout.splitlines()
    assert "zzq-hidden" not in done.stdout + done.stderr


def test_instruction_from_stdin(terminus):
    done = terminus("run", "-", *terminus.script(*DONE), stdin="two\nlines\n")
    assert done.returncode == 0
    assert "two\nlines\n" in terminus.trajectory()["steps"][0]["message"]


def test_instruction_from_a_file(terminus, in_process):
    (terminus.folder / "task.txt").write_text("three\nlines\nof it\n")
    done = in_process("run", "--task-file", "task.txt", *terminus.script(*DONE))
    assert done.returncode == 0
    assert "three\nlines\nof it\n" in terminus.trajectory()["steps"][0]["message"]
    for words, line in (
        (("--task-file", "task.txt", "x"), "INSTRUCTION and --task-file are both given; expected one of them"),
        (("--task-file", "none.txt"), "cannot read task file none.txt: No such file or directory"),
    ):
        done = in_process("run", *words)
        assert done.returncode == 2
        assert line in done.stderr


def test_ends_without_completion(terminus, in_process):
    done = in_process("run", "task", *terminus.script(*DONE), "--max-episodes", "1", "--json")
    assert done.returncode == 1
    assert last_json(done)["status"] == "max_episodes"


def test_a_fault_of_the_provider(terminus, in_process):
    done = in_process("run", "task", *terminus.script({"error": "the roof\n[/] is on fire"}), "--json")
    assert done.returncode == 3
    assert last_json(done)["status"] == "error"
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("terminus: ")]
    assert "the roof\u23ce[/] is on fire" in line


def test_a_terminal_that_cannot_be_had(terminus, in_process):
    done = in_process("run", "task", *terminus.script(*DONE), "--set", "session.tmux.tmux_path=/no/tmux")
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    assert line.startswith("terminus: ")
    assert "tmux" in line
    assert "[1]" not in done.stdout


def test_a_shell_that_ends_before_it_is_ready(terminus, in_process):
    done = in_process("run", "task", *terminus.script(*DONE), "--set", 'session.tmux.shell="false"')
    assert done.returncode == 4
    assert "Traceback" not in done.stderr


def test_a_session_that_ends(terminus, in_process):
    done = in_process("run", "task", *terminus.script(reply("exit\n"), *DONE), "--json")
    assert done.returncode == 1
    assert last_json(done)["status"] == "session_ended"


def test_markup_is_printed_literally_cl_01(terminus, in_process):
    script = terminus.script(reply(f"echo '{MARKUP}'\n", analysis=MARKUP), {"error": MARKUP})
    done = in_process("run", MARKUP, *script)
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    assert f"task: {MARKUP}" in lines
    assert f"[1] {MARKUP} \u2014 the plan" in lines
    assert f"[1] > echo '{MARKUP}'\u23ce" in lines
    assert [line for line in lines if line.startswith("[1] < ") and line.endswith(f": {MARKUP}")]
    assert MARKUP in done.stderr


def test_templates_in_the_task_stay_as_they_are_cl_02(terminus, in_process):
    script = terminus.script(reply("cat <<'E'\n{0} {instruction} %s ${HOME}\nE\n"), *DONE)
    done = in_process("run", TEMPLATE, *script)
    assert done.returncode == 0
    steps = terminus.trajectory()["steps"]
    assert TEMPLATE in steps[0]["message"]
    assert "\n{0} {instruction} %s ${HOME}\n" in steps[1]["observation"]["results"][0]["content"]


def test_control_characters_do_no_harm(terminus, in_process):
    evil = "\x1b]0;title\x07 \x1b[2J \x9b31m \u202e \u200b \r\b \ud83d"
    done = in_process("run", "task", *terminus.script(reply(analysis=evil), *DONE))
    assert done.returncode == 0
    assert not set(done.stdout) & set("\x1b\x07\x9b\u202e\u200b\r\b")
    assert "\u241b]0;title\u2407" in done.stdout


def test_a_stream_that_knows_few_characters(terminus):
    done = terminus("run", "\u00fc \u65e5\u672c", *terminus.script(*DONE), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "task: \\xfc \\u65e5\\u672c" in done.stdout.splitlines()


def test_an_answer_that_cannot_be_used_and_warnings_are_shown(terminus, in_process):
    odd = reply("true\n")
    odd["content"] = "Here you are: " + odd["content"]
    done = in_process("run", "task", *terminus.script({"content": "Sure!"}, odd, *DONE))
    assert "[1] the answer could not be used: " in done.stdout
    assert "[2] warnings: " in done.stdout


GATE = """
from dataclasses import replace
from terminus_core import Command, Gate, hookimpl
class Guard(Gate):
    name = "guard"
    async def before_commands(self, run, reply):
        if run.n_episodes == 1:
            return "rm is not allowed here"
        return replace(reply, commands=[Command("echo changed\\n", 1.0)])
@hookimpl
def terminus_register_gates():
    return [Guard]
"""


def test_what_a_gate_does_is_shown(terminus, in_process):
    script = terminus.script(reply("rm x\n", "rm y\n"), reply("rm z\n"), *DONE)
    done = in_process("run", "task", *script, *terminus.plugin(GATE), "--gate", "guard")
    lines = done.stdout.splitlines()
    assert "[1] 0 of 2 commands typed: rm is not allowed here" in lines
    assert "[2] instead > echo changed\u23ce" in lines


# -- layers ------------------------------------------------------------------------------------------------------------


def test_a_settings_file_in_the_working_folder_is_named_not_used(terminus, in_process):
    (terminus.folder / "terminus.toml").write_text("[agent]\nmax_episodes = 1\n")
    script = terminus.script(*DONE)
    done = in_process("run", "task", *script)
    assert done.returncode == 0
    assert done.stderr == ("terminus: terminus.toml in this folder is not used; --config terminus.toml would use it\n")
    assert in_process("run", "task", *script, "--config", "terminus.toml").returncode == 1


def test_options_win_over_the_environment_and_that_over_the_file(terminus):
    path = terminus.folder / "own.toml"
    path.write_text(
        "[agent]\nmodel = 'file'\nsession_id = 'file'\nlogs_dir = 'file'\nobservers = ['atif', 'no:atif']\n"
    )
    done = terminus(
        "run", "task", *terminus.script(*DONE), "--config", str(path), "-m", "option", "--observer", "atif",
        TERMINUS_AGENT__MODEL="variable", TERMINUS_AGENT__SESSION_ID="variable",
    )  # fmt: skip
    assert done.returncode == 0
    document = json.loads((terminus.folder / "file" / "trajectory.json").read_text())
    assert document["session_id"] == "variable"
    assert document["agent"]["model_name"] == "option"


# -- plugins as the command line shows them ----------------------------------------------------------------------------

GOOD = """
from terminus_core import hookimpl
class Seen:
    name = "seen"
    @hookimpl
    def terminus_run_finished(self, result):
        result.metadata["seen"] = result.metadata.get("seen", 0) + 1
@hookimpl
def terminus_register_observers():
    return [Seen]
"""


def named(source, name):
    return source.replace('"seen"', f'"{name}"')


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        pytest.param("raise ImportError('half installed')", "ImportError: half installed", id="pl-01"),
        pytest.param("import not_there_at_all", "No module named 'not_there_at_all'", id="pl-02"),
        pytest.param(
            "from terminus_core import hookimpl\n@hookimpl\ndef terminus_command_sent(run, command, shell): ...\n",
            "terminus_command_sent takes no argument 'shell'",
            id="pl-03",
        ),
    ],
)
def test_a_broken_plugin_is_one_warning_and_the_others_work(broken, reason, terminus):
    terminus.distribution("extras", {"a": named(GOOD, "a"), "b": broken, "c": named(GOOD, "c")})
    words = ("run", "task", *terminus.script(*DONE), "--observer", "a", "--observer", "c", "--json", "--quiet")
    done = terminus(*words)
    assert done.returncode == 0
    assert last_json(done)["metadata"] == {"a": 1, "c": 1}
    (line,) = [line for line in done.stderr.splitlines() if "cannot be used" in line]
    assert line.startswith("terminus: plugin 'b' (extras 1.2.3) cannot be used: ")
    assert reason in line
    strict = terminus(*words, "--strict-plugins")
    assert strict.returncode == 2
    assert reason in last_json(strict)["reason"]


def test_an_observer_that_fails_is_told_once_and_the_run_goes_on_pl_06(terminus, in_process):
    failing = terminus.plugin(
        "from terminus_core import hookimpl\n"
        "@hookimpl\ndef terminus_step_recorded(run, step):\n    raise KeyError('third step')\n"
    )
    done = in_process("run", "task", *terminus.script(*DONE), *failing)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "plugin 'mine'" in line
    assert "terminus_step_recorded" in line
    assert "KeyError: 'third step'" in line


def test_one_name_twice_is_an_error_that_names_both_pl_06(terminus):
    terminus.distribution("extras", {"a": GOOD, "b": GOOD})
    assert terminus("run", "task", *terminus.script(*DONE)).returncode == 0
    done = terminus("run", "task", "--observer", "seen", *terminus.script(*DONE))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "two plugins bring the observer named 'seen'" in line
    assert "'a'" in line
    assert "'b'" in line


# -- bugs --------------------------------------------------------------------------------------------------------------

BUG = """
from terminus_core import hookimpl, CompletionPolicy
class Buggy(CompletionPolicy):
    name = "buggy"
    async def decide(self, run, turn):
        raise ZeroDivisionError("oh [/] no")
@hookimpl
def terminus_register_completion_policies():
    return [Buggy]
"""


def test_a_bug_is_one_line_and_its_traceback_lies_in_the_runs_folder(terminus, in_process):
    words = (*terminus.script(*DONE), *terminus.plugin(BUG), "--completion", "buggy")
    done = in_process("run", "task", *words, "--json", "--quiet")
    assert done.returncode == 1
    path = terminus.runs[0] / "traceback.txt"
    line = done.stderr.splitlines()[0]
    where = f"in plugin 'mine' ({terminus.folder / 'mine.py'}), completion 'buggy'"
    assert line == f"terminus: ZeroDivisionError: oh [/] no, {where} (traceback: {path})"
    assert "Traceback" not in done.stderr
    assert "mine.py" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert last_json(done)["status"] == "error"
    assert terminus.trajectory()["final_metrics"]["extra"]["status"] == "error"


def test_verbose_shows_details(terminus, in_process):
    done = in_process("run", "task", *terminus.script(*DONE), "--verbose")
    assert done.returncode == 0
    assert "Trajectory dumped to" in done.stderr
