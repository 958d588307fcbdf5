"""Whatever is wrong before a run exists: one clear line on stderr, exit 2, no traceback."""

import json
import shlex
import subprocess
import sys
from contextlib import chdir

import pytest

from tests.support.command_line import DONE, last_json

USAGE = [
    ((), "terminus: Missing argument 'INSTRUCTION'."),
    (("",), "terminus: the instruction is empty"),
    (("x", "--jsno"), "terminus: No such option '--jsno'."),
    (("x", "--max-episodes", "many"), "'many' is not a valid integer"),
    (("x", "y"), "unexpected extra argument"),
]
SETTINGS = [
    (("--max-episodes", "0"), "setting agent.max_episodes (command line): input should be greater than or equal to 1"),
    (("--max-cost", "nan"), "setting agent.max_cost_usd (command line): input should be"),
    (("--max-time", "-1"), "setting agent.max_time_sec (command line): input should be greater than 0"),
    (("--set", "agent.modle=x"), "unknown setting agent.modle (command line); did you mean 'model'?"),
    (("--set", "agnet.model=x"), "unknown setting agnet (command line); did you mean 'agent'?"),
    (("--set", "model=x"), "unknown setting model (command line)"),
    (("--set", "agent=5"), "setting agent (command line): a table would be right"),
    (("--set", "session.tmux=5"), "setting session.tmux (command line): a table would be right"),
    (("--set", "agent.model.x=5"), "setting agent.model (command line): input should be a valid string"),
    (("--set", r'agent.logs_dir="a\u0000b"'), "setting agent.logs_dir (command line): it holds a NUL character"),
    (("--set", r'agent.logs_dir="a\ud83d"'), "setting agent.logs_dir (command line): it holds half a surrogate pair"),
    (("--set", r'agent.session_id="a\u0000b"'), "setting agent.session_id (command line): it holds a NUL character"),
    (
        ("--logs-dir", "~nobody_of_this_name/x"),
        "setting agent.logs_dir (command line): ~nobody_of_this_name/x: no such",
    ),
    (("--set", "nothing"), "--set nothing: expected KEY=VALUE"),
    (("--set", ".=1"), "--set .=1: expected KEY=VALUE"),
    (("--set", "agent.observers=[1, "), "setting agent.observers (command line): input should be a valid list"),
    (("--set", "session.tmux.pane_widht=5"), "unknown setting session.tmux.pane_widht; did you mean 'pane_width'?"),
    (("--set", "session.tmux.pane_width=wide"), "setting session.tmux.pane_width: input should be a valid integer"),
    (("--set", "session.tmxu.pane_width=5"), "unknown session 'tmxu'; did you mean 'tmux'?"),
    (("--parser", "jsom"), "unknown parser 'jsom'; did you mean 'json'?"),
    (("--llm", "litelm"), "unknown llm 'litelm'; did you mean 'litellm'?"),
    (("--session", "tmucks"), "unknown session 'tmucks'; did you mean 'tmux'?"),
    (("--environment", "locale"), "unknown environment 'locale'; did you mean 'local'?"),
    (("--completion", "two_steps"), "unknown completion 'two_steps'; did you mean 'two_step'?"),
    (("--context", "nope"), "unknown context 'nope'"),
    (("--gate", "guard"), "unknown gate 'guard'"),
    (("--observer", "atiff"), "unknown observer 'atiff'; did you mean 'atif'?"),
    (("--observer", "no:atiff"), "unknown observer 'atiff'; did you mean 'atif'?"),
    (("--config", "missing.toml"), "cannot read settings file missing.toml: No such file or directory"),
    (("--config", "."), "cannot read settings file .: Is a directory"),
    (("-p", "no:tmucks"), "no:tmucks: no plugin 'tmucks' to block; did you mean 'tmux'?"),
    (("-p", "no:json"), "unknown parser 'json'; known: tools, xml; plugin 'json'"),
    (("-p", "missing.py"), "no file missing.py"),
    (("-p", "no_such_module"), "No module named 'no_such_module'"),
    (("--logs-dir", "/proc/nowhere"), "cannot use logs folder /proc/nowhere"),
    (("--llm", "scripted", "--api-base", "http://x"), "unknown setting llm.scripted.api_base"),
]


def one_line(done):
    """The only line of stderr."""
    (line,) = done.stderr.splitlines()
    assert line.startswith("terminus: "), line
    return line


@pytest.mark.parametrize(("words", "line"), USAGE, ids=[line for _, line in USAGE])
def test_wrong_usage(words, line, in_process):
    done = in_process("run", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in one_line(done)


@pytest.mark.parametrize(("words", "line"), SETTINGS, ids=[" ".join(words) for words, _ in SETTINGS])
def test_wrong_settings(words, line, terminus, in_process):
    done = in_process("run", "task", *terminus.script(*DONE), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert line in one_line(done)
    assert not terminus.runs


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[agent\n", "is not valid TOML"),
        ("[agent]\nmax_episodes = 'x'\n", "setting agent.max_episodes (bad.toml): input should be a valid integer"),
        ("[llm]\nscripted = 3\n", "setting llm.scripted (bad.toml) is a value; command line sets something inside it"),
        ("[agent]\ntop = 1\n", "unknown setting agent.top (bad.toml)"),
        ("[agents]\n", "unknown setting agents"),
        ("[agent]\nplugins = ['no_such_module']\n", "No module named 'no_such_module'"),
    ],
)
def test_wrong_settings_file(text, line, terminus, in_process):
    (terminus.folder / "bad.toml").write_text(text)
    done = in_process("run", "task", *terminus.script(*DONE), "--config", "bad.toml")
    assert done.returncode == 2
    assert line in one_line(done)


def test_wrong_environment_variable(terminus):
    done = terminus("run", "task", TERMINUS_AGENT__MAX_EPISODE="3")
    assert done.returncode == 2
    assert "unknown setting agent.max_episode (environment variable TERMINUS_AGENT__MAX_EPISODE)" in one_line(done)


@pytest.mark.parametrize("words", [("run",), ("run", "x", "--parser", "jsom"), ("config", "--set", "a.b=1")])
def test_with_json_the_fault_is_a_result_too(words, terminus):
    done = terminus(*words, "--json")
    assert done.returncode == 2
    result = last_json(done)
    assert result["status"] == "error"
    assert result["reason"] in one_line(done)
    assert result["n_episodes"] == 0


def test_words_after_two_dashes_are_no_options(in_process):
    done = in_process("run", "x", "--", "--json")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_folder_that_holds_a_run_is_refused(terminus):
    (terminus.folder / "old").mkdir()
    (terminus.folder / "old" / "trajectory.json").write_text(json.dumps({}))
    done = terminus("run", "x", *terminus.script(*DONE), "--logs-dir", "old")
    assert done.returncode == 2
    assert "holds a run already" in one_line(done)


@pytest.mark.parametrize("words", [("run", "x"), ("demo",)])
def test_a_working_folder_that_is_gone(words, terminus, in_process):
    script = terminus.script(*DONE)
    gone = terminus.folder / "gone"
    gone.mkdir()
    with chdir(gone):
        gone.rmdir()
        done = in_process(*words, *script)
    assert done.returncode == 2
    assert "No such file or directory" in one_line(done)


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        (("plugins",), ">&-", 0),
        (("plugins",), "2>&-", 0),
        (("plugins", "--nothing"), "2>&-", 2),
        (("run", "-"), "<&-", 2),
        (("run", "-"), "<&- >&- 2>&-", 2),
        (("run", "x", "--llm", "scripted"), ">&- 2>&-", 2),
    ],
)
def test_closed_streams_are_empty_ones(words, closed, code, terminus):
    line = f"{shlex.join([sys.executable, '-m', 'terminus_core', *words])} {closed}"
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=terminus.folder,
        env=terminus.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("command", [("run", "x"), ("demo",), ("plugins",), ("hooks",), ("config",)])
def test_somebody_elses_distribution_of_this_name(command, terminus):
    terminus.distribution("terminus-core", {})
    done = terminus(*command)
    assert done.returncode == 2
    assert "terminus-core 1.2.3 is somebody else's program" in one_line(done)
