"""``terminus config set`` and ``unset``, and ``terminus keys``: files of the user's."""

import stat
import tomllib
from pathlib import Path

import pytest

from tests.support.command_line import DONE, last_json, reply

FILE = """\
# my settings
[agent]
model = "old" # the one before

[session.tmux]
pane_width = 100
"""
KEY = "kept-value-0123456789"


@pytest.fixture
def folder(terminus, monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Path(terminus.env["HOME"], ".config", "terminus")


def test_one_setting_is_changed_and_the_rest_stays(folder, in_process):
    file = folder / "terminus.toml"
    file.write_text(FILE)
    for words in (
        ("agent.gates", '["deny"]'),
        ("agent.model", "openai/gpt-5"),
        ("llm.litellm.llm_kwargs", '{"seed": 1, "odd key": [true, 1.5]}'),
        ("session.tmux.pane_height", "50"),
    ):
        assert in_process("config", "set", *words).returncode == 0
    assert in_process("config", "unset", "session.tmux.pane_width").returncode == 0
    assert file.read_text().startswith('# my settings\n[agent]\nmodel = "openai/gpt-5"\ngates = ["deny"]\n\n[session')
    assert tomllib.loads(file.read_text()) == {
        "agent": {"model": "openai/gpt-5", "gates": ["deny"]},
        "session": {"tmux": {"pane_height": 50}},
        "llm": {"litellm": {"llm_kwargs": {"seed": 1, "odd key": [True, 1.5]}}},
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("set", "agent.modle", "x"), "unknown setting agent.modle (command line); did you mean 'model'?"),
        (("set", "agent.max_episodes", "0"), "setting agent.max_episodes (command line): input should be"),
        (("set", "session.tmux.pane_widht", "1"), "unknown setting session.tmux.pane_widht"),
        (("set", "model", "x"), "'model' is not a setting; expected one such as agent.model"),
        (("set", "llm.litellm.api_key", "x"), "is a secret, and arguments can be seen by others"),
        (("set", "agent.model", "null"), "TOML has no null: terminus config unset agent.model"),
        (("set", "agent.parser", "xml"), "cannot change agent.parser in"),
        (("unset", "agent.gates"), "does not set agent.gates"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_set_changes_nothing(words, line, folder, in_process):
    file = folder / "terminus.toml"
    file.write_text('agent.model = "dotted"\n')
    done = in_process("config", *words)
    assert done.returncode == 2
    assert line in done.stderr
    assert file.read_text() == 'agent.model = "dotted"\n'


def test_keys_are_kept_apart_and_reach_neither_the_terminal_nor_a_trajectory(folder, terminus):
    kept = terminus("keys", "set", "openai", stdin=f"{KEY}\n")
    assert kept.stdout == f"OPENAI_API_KEY is kept in {folder / 'keys.toml'}\n"
    assert terminus("keys", "set", "AWS_SECRET_ACCESS_KEY", stdin="another\n").returncode == 0
    assert stat.S_IMODE((folder / "keys.toml").stat().st_mode) == 0o600
    rows = last_json(terminus("keys", "list", "--json", OPENAI_API_KEY="of the environment"))
    assert rows == [
        {"variable": "AWS_SECRET_ACCESS_KEY", "in_use": True},
        {"variable": "OPENAI_API_KEY", "in_use": False},
    ]
    seen = terminus.plugin(
        "import os\nfrom terminus_core import hookimpl\n"
        "@hookimpl\ndef terminus_run_finished(run, result):\n"
        "    result.metadata['same'] = os.environ['OPENAI_API_KEY'] == os.environ['WANTED']\n"
    )
    words = ("run", "task", *terminus.script(reply("env; set\n"), *DONE), *seen, "--json")
    done = terminus(*words, WANTED=KEY)
    assert last_json(done)["metadata"] == {"same": True}
    files = [path for path in terminus.runs[0].rglob("*") if path.is_file()]
    text = "".join(path.read_text() for path in files).replace(f"WANTED={KEY}", "")
    assert "terminus" in text
    assert f"OPENAI_API_KEY={KEY}" not in text
    assert "another" not in text
    assert last_json(terminus(*words, WANTED="e", OPENAI_API_KEY="e"))["metadata"] == {"same": True}
    assert terminus("keys", "rm", "openai").returncode == 0
    assert KEY not in (folder / "keys.toml").read_text()


def test_keys_that_cannot_be_used(folder, terminus):
    for words, stdin, line in (
        (("set", "openai"), "\n", "no key for OPENAI_API_KEY: expected one line of printable characters"),
        (("set", "Open AI"), "x\n", "'Open AI' is not a provider"),
        (("rm", "openai"), "", "no key for OPENAI_API_KEY is kept"),
    ):
        done = terminus("keys", *words, stdin=stdin)
        assert done.returncode == 2
        assert line in done.stderr
    (folder / "keys.toml").write_text('OPENAI_API_KEY = "x"\n')
    (folder / "keys.toml").chmod(0o644)
    done = terminus("run", "task", *terminus.script(*DONE))
    assert done.returncode == 2
    assert f"others may read {folder / 'keys.toml'}: chmod 600" in done.stderr
