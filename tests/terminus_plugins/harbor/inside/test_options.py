"""Every option of Harbor's Terminus 2 is taken under its old name, and does what it did."""

import pytest
from harbor.agents.terminus_2.terminus_2 import Terminus2, Terminus2Options

from terminus_core import ConfigError
from terminus_plugins.harbor import TerminusAgent

MODEL = "openai/scripted"
INFO = {"max_input_tokens": 1000, "max_output_tokens": 100}
# Option, its value, and the setting that it becomes.
SETTINGS = [
    ("max_turns", 7, "agent.max_episodes", 7),
    ("parser_name", "xml", "agent.parser", "xml"),
    ("api_base", "http://127.0.0.1:9/v1", "llm.litellm.api_base", "http://127.0.0.1:9/v1"),
    ("temperature", 0.0, "llm.litellm.temperature", 0.0),
    ("reasoning_effort", "high", "llm.litellm.reasoning_effort", "high"),
    ("collect_rollout_details", True, "agent.collect_rollout_details", True),
    ("session_id", "mine", "agent.session_id", "mine"),
    ("enable_summarize", False, "agent.context", "none"),
    (
        "proactive_summarization_threshold",
        100,
        "context.summarize",
        {"proactive_summarization_threshold": 100},
    ),
    ("max_thinking_tokens", 2048, "llm.litellm.max_thinking_tokens", 2048),
    ("model_info", INFO, "llm.litellm.model_info", INFO),
    ("trajectory_config", {"raw_content": True, "linear_history": True}, "trajectory.linear_history", True),
    ("trajectory_config", {"raw_content": True}, "trajectory", {"raw_content": True}),
    ("tmux_pane_width", 100, "session.tmux.pane_width", 100),
    ("tmux_pane_height", 30, "session.tmux.pane_height", 30),
    ("record_terminal_session", False, "agent.observers", ["atif", "prompt_caching"]),
    ("record_terminal_session", True, "agent.observers", ["atif", "prompt_caching", "asciinema"]),
    ("interleaved_thinking", True, "agent.interleaved_thinking", True),
    ("use_responses_api", True, "llm.litellm.api", "responses"),
    ("llm_backend", "litellm", "llm.litellm.session_id", None),
    ("llm_kwargs", {"top_p": 0.5}, "llm.litellm.llm_kwargs.top_p", 0.5),
    ("llm_kwargs", {"litellm_debug": True, "timeout": 9, "num_retries": 4}, "llm.litellm.timeout_sec", 9),
    ("llm_kwargs", {"num_retries": 4}, "llm.litellm.max_attempts", 5),
    ("llm_call_kwargs", {"extra_body": {"a": 1}}, "llm.litellm.llm_call_kwargs", {"extra_body": {"a": 1}}),
]
# Options that become no setting; other tests show what they do.
BESIDE = {"store_all_messages": True, "session_id_headers": ["X-Session"], "suppress_max_turns_warning": True}
# Options of every agent, for which Harbor itself stands.
HARBORS_OWN = {"base_url": "http://127.0.0.1:9/v1", "disable_web_search": True}


def made(tmp_path, **options):
    return TerminusAgent(tmp_path, MODEL, **options)


def setting(agent, dotted):
    value = agent.settings
    for key in dotted.split("."):
        value = value[key]
    return value


@pytest.mark.parametrize(("name", "value", "dotted", "expected"), SETTINGS)
def test_an_option_becomes_a_setting(tmp_path, name, value, dotted, expected):
    Terminus2(tmp_path, MODEL, **{name: value})  # Harbor's agent takes this value
    assert setting(made(tmp_path, **{name: value}), dotted) == expected


def test_no_option_of_harbors_agent_is_missing(tmp_path):
    known = {name for name, *_ in SETTINGS} | BESIDE.keys() | HARBORS_OWN.keys()
    assert set(Terminus2Options.model_fields) - known == set()
    for name, value in (BESIDE | HARBORS_OWN).items():
        made(tmp_path, **{name: value})


@pytest.mark.parametrize("name", ["max_turns", "max_episodes", "episodes"])
def test_the_older_names_of_max_turns(tmp_path, name, caplog):
    assert setting(made(tmp_path, **{name: 3}), "agent.max_episodes") == 3
    assert "after 3 turns" in caplog.text
    caplog.clear()
    made(tmp_path, max_turns=3, suppress_max_turns_warning=True)
    assert not caplog.text


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"llm_backend": "tinker"}, "'tinker' is not supported: other ways to a model are plugins"),
        ({"max_turn": 3}, "Unknown option 'max_turn'"),
        ({"trajectory_config": {"raw": True}}, "trajectory_config.raw"),
        ({"session_id_headers": ["a b"]}, "Invalid HTTP header name"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_a_reason(tmp_path, options, reason):
    with pytest.raises(ValueError, match=r"Invalid kwargs for agent 'terminus-core'") as refused:
        made(tmp_path, **options)
    assert reason in str(refused.value)
    with pytest.raises(ValueError, match="Invalid kwargs"):
        TerminusAgent.preflight(options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"settings": {"agent": {"llm": "nowhere"}}}, "unknown llm 'nowhere'"),
        ({"settings": {"session": {"tmux": {"pane_widht": 3}}}}, "did you mean 'pane_width'"),
        ({"observers": ["nobody"]}, "unknown observer 'nobody'"),
        ({"llm_kwargs": {"stream": True}}, "'stream' may not stand here"),
        ({"parser_name": "yaml"}, "unknown parser 'yaml'"),
    ],
)
def test_wrong_settings_are_told_before_a_trial_begins(tmp_path, options, reason):
    with pytest.raises(ConfigError, match=reason):
        made(tmp_path, **options)


def test_given_options_win_over_settings(tmp_path):
    settings = {
        "agent": {"max_episodes": 9, "parser": "xml", "observers": ["atif"]},
        "session": {"tmux": {"pane_width": 90, "wait": "fixed"}},
    }
    agent = made(tmp_path, settings=settings, max_turns=3, tmux_pane_width=70, observers=["loop_guard"])
    assert agent.settings["agent"] == {
        "max_episodes": 3,
        "parser": "xml",
        "observers": ["atif", "loop_guard", "asciinema"],
        "model": MODEL,
    }
    assert agent.settings["session"] == {"tmux": {"pane_width": 70, "wait": "fixed", "leave_running": True}}
    assert settings["agent"]["max_episodes"] == 9


def test_where_urls_and_keys_come_from(tmp_path, monkeypatch):
    """The same as for Harbor's agent: option, ``--base-url``, the agent's variables, the process's."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    urls = {
        "http://127.0.0.1:1/v1": {},
        "http://127.0.0.1:2/v1": {"extra_env": {"OPENAI_BASE_URL": "http://127.0.0.1:2/v1"}},
        "http://127.0.0.1:3/v1": {"base_url": "http://127.0.0.1:3/v1"},
        "http://127.0.0.1:4/v1": {"api_base": "http://127.0.0.1:4/v1"},
    }
    for url, options in urls.items():
        ours, theirs = made(tmp_path, **options), Terminus2(tmp_path, MODEL, **options)
        assert setting(ours, "llm.litellm.api_base") == theirs._llm._api_base == url
    agent = made(tmp_path, extra_env={"OPENAI_API_KEY": "sk-of-the-agent"})
    assert setting(agent, "llm.litellm.llm_kwargs.api_key") == "sk-of-the-agent"
    agent = made(tmp_path, llm_kwargs={"api_key": "sk-of-the-option"})
    assert setting(agent, "llm.litellm.llm_kwargs.api_key") == "sk-of-the-option"


def test_what_it_says_about_itself(tmp_path):
    agent = made(tmp_path)
    info = agent.to_agent_info()
    assert (info.name, info.model_info.name, info.model_info.provider) == ("terminus-core", "scripted", "openai")
    assert info.version
    ours, theirs = TerminusAgent.capabilities.model_dump(), Terminus2.capabilities.model_dump()
    assert ours == theirs
    assert TerminusAgent.options_schema()["properties"].keys() >= Terminus2.options_schema()["properties"].keys()
