"""``terminus plugins``, ``hooks`` and ``config``."""

import inspect
import json
import os
import pty
import subprocess
import sys

import pytest

from terminus_core import hookspecs

DEFAULTS = {
    "local": {"environment": ["local"]},
    "tmux": {"session": ["tmux"]},
    "json": {"parser": ["json"]},
    "xml": {"parser": ["xml"]},
    "litellm": {"llm": ["litellm"]},
    "scripted": {"llm": ["scripted"]},
    "two_step": {"completion": ["two_step"]},
    "none": {"context": ["none"]},
    "atif": {"observer": ["atif"]},
}
OBSERVER = """
from terminus_core import hookimpl
class Seen:
    name = "{name}"
    @hookimpl
    def terminus_record_marker(self, marker): ...
@hookimpl
def terminus_register_observers():
    return [Seen]
@hookimpl
def terminus_command_sent(run): ...
"""


def listed(done):
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def test_every_default_plugin_is_listed(in_process):
    by_name = {info["name"]: info for info in listed(in_process("plugins", "--json"))}
    for name, parts in DEFAULTS.items():
        assert by_name[name]["parts"] == parts
        assert by_name[name]["distribution"] == "terminus-agent"
        assert by_name[name]["version"]
        assert (by_name[name]["status"], by_name[name]["reason"]) == ("loaded", "")
    table = in_process("plugins").stdout.splitlines()
    assert table[0].split() == ["plugin", "brings", "distribution", "version", "status"]
    for name, parts in DEFAULTS.items():
        ((role, (part,)),) = parts.items()
        (line,) = [line for line in table if line.split()[0] == name]
        assert f" {role} {part}" in line
        assert "terminus-agent" in line


def test_plugins_that_cannot_be_used_are_listed_with_the_reason(terminus):
    same = OBSERVER.format(name="same")
    terminus.distribution("extras", {"a": same, "b": same, "c": "import not_there", "d": "raise KeyError('[/]')"})
    words = ("plugins", "-p", "no:xml", "-p", "not_there_either")
    done = terminus(*words, "--json")
    by_name = {info["name"]: info for info in listed(done)}
    assert {name: info["status"] for name, info in by_name.items() if info["status"] != "loaded"} == {
        "c": "failed",
        "d": "failed",
        "not_there_either": "failed",
        "xml": "blocked",
    }
    assert "No module named 'not_there'" in by_name["c"]["reason"]
    assert by_name["c"]["distribution"] == "extras"
    assert "KeyError: '[/]'" in by_name["d"]["reason"]
    assert "Traceback" not in done.stderr
    strict = terminus(*words, "--strict-plugins")
    assert (strict.returncode, strict.stdout) == (2, "")


def test_every_hook_is_listed_with_its_signature(terminus, in_process):
    hooks = {hook["name"]: hook for hook in listed(in_process("hooks", "--json"))}
    specs = {name: spec for name, spec in vars(hookspecs).items() if name.startswith("terminus_")}
    assert hooks.keys() == specs.keys()
    for name, spec in specs.items():
        assert hooks[name]["doc"] == inspect.getdoc(spec).splitlines()[0].replace("``", "")
    assert hooks["terminus_command_sent"]["signature"] == "(run: Run, command: Command, index: int) -> None"
    assert hooks["terminus_register_llms"]["implemented_by"] == ["litellm", "scripted"]
    assert "observer atif" in hooks["terminus_step_recorded"]["implemented_by"]
    mine = terminus.plugin(OBSERVER.format(name="seen"))
    hooks = {hook["name"]: hook for hook in listed(in_process("hooks", "--json", *mine))}
    assert "observer seen" in hooks["terminus_record_marker"]["implemented_by"]
    assert "mine" in hooks["terminus_command_sent"]["implemented_by"]
    lines = in_process("hooks").stdout.splitlines()
    at = lines.index("terminus_command_sent(run: Run, command: Command, index: int) -> None")
    assert lines[at + 1] == "    A command has been typed and its wait is over; index counts from 0 in its batch."
    assert lines[at + 2].startswith("    implemented by: observer ")


def test_config_says_where_each_setting_comes_from(terminus, monkeypatch, in_process):
    path = terminus.folder / "own.toml"
    path.write_text(
        "[agent]\nmodel = 'file'\n[session.tmux]\npane_width = 100\npane_height = 50\n"
        "[llm.litellm]\nllm_kwargs = {api_key = 'not-a-real-key-0000', seed = 1}\n"
    )
    monkeypatch.setenv("TERMINUS_SESSION__TMUX__PANE_HEIGHT", "60")
    words = ("--config", str(path), "--max-episodes", "9", "--gate", "no:atif", "--observer", "no:atif")
    settings = {each["key"]: each for each in listed(in_process("config", *words, "--json"))}
    found = {key: (each["value"], each["origin"]) for key, each in settings.items()}
    assert found["agent.max_episodes"] == (9, "command line")
    assert found["agent.observers"] == (["prompt_caching", "redact", "no:atif"], "command line")
    assert found["agent.parser"] == ("json", "default")
    assert found["agent.model"] == ("file", str(path))
    assert found["trajectory.raw_content"] == (False, "default")
    assert found["session.tmux.pane_width"] == (100, str(path))
    assert found["session.tmux.pane_height"] == (60, "environment variable TERMINUS_SESSION__TMUX__PANE_HEIGHT")
    assert found["session.tmux.history_limit"][1] == "default"
    assert found["llm.litellm.model"] == ("file", f"agent.model, {path}")
    assert found["llm.litellm.llm_kwargs"] == ({"api_key": "***", "seed": 1}, str(path))
    assert settings["agent.max_episodes"]["description"]
    table = in_process("config", *words)
    assert "not-a-real-key" not in table.stdout
    assert "agent.max_episodes = 9 (command line)  # episodes until the run ends" in table.stdout.splitlines()
    some = in_process("config", "session.tmux.pane", *words).stdout.splitlines()
    assert [line.split()[0] for line in some] == ["session.tmux.pane_width", "session.tmux.pane_height"]
    assert "no setting begins with 'sessions'; did you mean" in in_process("config", "sessions").stderr


REQUIRED = """
from pydantic import BaseModel, ConfigDict, SecretStr
from terminus_core import CompletionPolicy, hookimpl
class Mine(CompletionPolicy):
    name = "mine"
    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid")
        place: str
        phrase: SecretStr = SecretStr("not-a-real-key-0000")
    async def decide(self, run, turn): ...
@hookimpl
def terminus_register_completion_policies():
    return [Mine]
"""


def test_config_shows_required_settings_and_hides_secret_ones(terminus, in_process):
    words = ("config", *terminus.plugin(REQUIRED), "--json")
    found = {each["key"]: each for each in listed(in_process(*words))}
    assert (found["completion.mine.place"]["value"], found["completion.mine.place"]["origin"]) == (None, "required")
    assert found["environment.container.read_only"]["value"] is False, "whether or not the part can be made"
    done = in_process(*words, "--set", "completion.mine.place=here")
    found = {each["key"]: each for each in listed(done)}
    assert found["completion.mine.place"]["value"] == "here"
    assert "not-a-real-key" not in done.stdout


@pytest.mark.parametrize("command", ["plugins", "config"])
def test_a_terminal_gets_a_table_that_fits_and_literal_text(command, terminus):
    """On a terminal rich lays the table out; brackets stay brackets."""
    terminus.distribution("extras", {"odd": "raise KeyError('[/] [bold]x')"})
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "terminus_core", command],
        cwd=terminus.folder,
        env=terminus.env | {"COLUMNS": "100", "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(side)
    shown = b""
    try:
        while data := os.read(main, 65536):
            shown += data
    except OSError:  # the other side is closed: Linux says EIO
        pass
    os.close(main)
    assert "[/] [bold]x" in process.communicate(timeout=60)[1]
    assert process.returncode == 0
    rows = shown.decode().splitlines()
    assert max(map(len, rows)) > 80
    if command == "plugins":
        assert "[/]" in shown.decode()


@pytest.mark.parametrize("command", ["plugins", "hooks", "config"])
def test_json_is_all_of_stdout_though_a_plugin_prints(command, terminus):
    source = OBSERVER.format(name="chatty") + "\nprint('a plugin that prints')\n"
    done = terminus(command, "--json", *terminus.plugin(source))
    assert done.returncode == 0
    assert json.loads(done.stdout)
    assert done.stderr == "a plugin that prints\n"
