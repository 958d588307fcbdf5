"""Layers of settings, values as written, clear lines, secrets."""

import json
import string
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terminus_core import ConfigError, Settings
from terminus_core.settings import AgentSettings, load_settings, nearest, read_value

NUMBERS = {"max_episodes": st.integers(1, 10**9), "output_limit_bytes": st.integers(100, 10**9)}
TEXTS = st.text(string.ascii_letters + string.digits + "._/-", min_size=1)
VALUES = st.one_of(
    *[st.tuples(st.just(f"agent.{key}"), values) for key, values in NUMBERS.items()],
    st.tuples(st.just("agent.model"), TEXTS),
    st.tuples(st.just("agent.session_id"), TEXTS),
    st.tuples(st.just("agent.observers"), st.lists(TEXTS)),
    st.tuples(st.just("trajectory.raw_content"), st.booleans()),
    st.tuples(st.sampled_from(["session.tmux.pane_width", "session.other.pane_width"]), st.integers()),
    st.tuples(st.just("llm.litellm.llm_kwargs"), st.dictionaries(TEXTS, st.integers())),
)
LAYER = st.lists(VALUES, max_size=5).map(dict)


def value_at(tables, key):
    table, *rest = key.split(".")
    value = getattr(tables, table)
    for word in rest:
        value = value[word] if isinstance(value, dict) else getattr(value, word)
    return value


def as_toml(layer):
    """Dotted keys are TOML; JSON's numbers, texts, lists and booleans are TOML's too."""
    lines = []
    for key, value in layer.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{json.dumps(name)} = {each}" for name, each in value.items())
            lines.append(f"{key} = {{{inner}}}")
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines)


@settings(deadline=None)
@given(file=LAYER, environ=LAYER, command_line=LAYER)
def test_the_command_line_wins_then_the_environment_then_the_file(file, environ, command_line):
    variables = {f"TERMINUS_{key.upper().replace('.', '__')}": json.dumps(value) for key, value in environ.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings.toml"
        path.write_text(as_toml(file))
        loaded = load_settings(path, environ=variables, overrides=command_line.items())
        names = [(file, str(path)), (environ, "environment variable"), (command_line, "command line")]
        for key in {**file, **environ, **command_line}:
            layer, name = next((layer, name) for layer, name in reversed(names) if key in layer)
            assert value_at(loaded.settings, key) == layer[key]
            assert loaded.origin(key).startswith(name)
    untouched = AgentSettings.model_fields.keys() - {
        key.split(".")[1] for key in {**file, **environ, **command_line} if key.startswith("agent.")
    }
    for name in untouched:
        assert getattr(loaded.settings.agent, name) == getattr(AgentSettings(), name)
        assert loaded.origin(f"agent.{name}") == "default"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOME", "/" + "x" * 5_000),
        ("XDG_CONFIG_HOME", "/" + "x" * 5_000),
        ("XDG_CONFIG_HOME", "~nobody_of_this_name/x"),
    ],
    ids=["home-cannot-be-entered", "folder-cannot-be-entered", "no-home"],
)
def test_a_home_that_cannot_be_had_holds_no_file(variable, value, monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv(variable, value)
    assert load_settings(environ={}).origins == {}


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("\ufeff[agent]\nmax_episodes = 3\n", encoding="utf-8")
    assert load_settings(path, environ={}).settings.agent.max_episodes == 3


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    )
)
def test_a_value_written_as_json_comes_back(value):
    assert read_value(json.dumps(value)) == value


@settings(deadline=None)
@given(st.text())
def test_a_text_setting_keeps_any_text_that_is_not_a_quoted_one(text):
    value = read_value(text, ("agent", "model"))
    assert value in (text, None) or text.strip()[0] in "\"'"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ('"5"', "5"),
        ("'5'", "5"),
        ("[1, 2]", [1, 2]),
        ("['a', 'b']", ["a", "b"]),
        ('{"a": 1}', {"a": 1}),
        ("{a = 1}", {"a": 1}),
        ("0x10", 16),
        ("openai/gpt-5", "openai/gpt-5"),
        ("NaN", "NaN"),
        ("2026-01-01", "2026-01-01"),
        ("10:30:00", "10:30:00"),
        ("[1, ", "[1, "),
        ("a\nb = 1", "a\nb = 1"),
        ("5\nb = 1", "5\nb = 1"),
        ("", ""),
        ("[" * 100_000, "[" * 100_000),
        ("7" * 6000, "7" * 6000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_values_are_read_as_json_then_toml_then_text(text, value):
    assert read_value(text) == value


@pytest.mark.parametrize("text", ["123e4567", "0123", "true", "5"])
def test_a_text_setting_is_no_number(text):
    loaded = load_settings(environ={"TERMINUS_AGENT__SESSION_ID": text})
    assert loaded.settings.agent.session_id == text


@pytest.mark.parametrize(
    "overrides",
    [
        [("session.tmux.pane_width", 1), ("session.tmux", {"pane_height": 2})],
        [("session", {"tmux": {"pane_width": 1}}), ("session.tmux.pane_height", 2)],
        [("session.tmux", {}), ("session.tmux", {"pane_width": 1, "pane_height": 2}), ("session.tmux", {})],
    ],
)
def test_tables_are_merged(overrides):
    assert load_settings(environ={}, overrides=overrides).settings.session == {
        "tmux": {"pane_width": 1, "pane_height": 2}
    }


def test_a_whole_value_can_be_changed_inside_without_touching_the_one_given():
    given_value = {"a": 1}
    overrides = [("llm.x.llm_kwargs", given_value), ("llm.x.llm_kwargs.b", 2)]
    loaded = load_settings(environ={}, overrides=overrides)
    assert loaded.settings.llm == {"x": {"llm_kwargs": {"a": 1, "b": 2}}}
    assert given_value == {"a": 1}
    assert loaded.origin("llm.x.llm_kwargs") == "command line"


def test_the_default_file_is_read_where_xdg_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "terminus").mkdir()
    (tmp_path / "terminus" / "terminus.toml").write_text("[agent]\nmodel = 'm'\n")
    loaded = load_settings(environ={})
    assert loaded.settings.agent.model == "m"
    assert loaded.origin("agent.model") == str(tmp_path / "terminus" / "terminus.toml")


def test_defaults_that_a_program_brings_give_way_to_everything():
    loaded = load_settings(environ={"TERMINUS_AGENT__LLM": "b"}, defaults=[("agent.llm", "a"), ("agent.model", "m")])
    assert (loaded.settings.agent.llm, loaded.settings.agent.model) == ("b", "m")
    assert (loaded.origin("agent.llm"), loaded.origin("agent.model")) == (
        "environment variable TERMINUS_AGENT__LLM",
        "default",
    )


def test_a_fault_names_the_setting_that_it_is_about():
    """Not another one whose name begins alike."""
    origins = {"agent.model": "a file", "agent.max_episodes": "command line"}
    with pytest.raises(ConfigError, match=r"agent\.max_episodes \(command line\)"):
        Settings.check({"agent": {"model": "m", "max_episodes": 0}}, origins)
    with pytest.raises(ConfigError, match=r"unknown setting agent\.modelx; did you mean 'model'"):
        Settings.check({"agent": {"modelx": "m"}}, {"agent.model": "a file"})


@settings(deadline=None)
@given(st.text(), st.lists(st.text()))
def test_nearest_always_names_what_is_known(name, known):
    line = nearest(name, known)
    assert all(each in line for each in known)
