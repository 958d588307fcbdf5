"""What the first release promised still holds: hooks and values only gain.

A change that the promise allows needs nothing here. ``python -m tests.test_compatibility`` writes the list of a
release; it is done once, before that release.
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from terminus_core import Agent, PluginManager, hookimpl
from terminus_core.hook_rules import OBSERVABLE
from terminus_core.roles import ROLES
from tests.fixtures import first_release_plugin as plugin
from tests.support.public_interface import public_interface

CALLED = []
RELEASE = Path(__file__).parent / "fixtures" / "first_release.json"


@pytest.mark.anyio
async def test_a_plugin_of_the_first_release_still_runs(tmp_path):
    plugin.CALLS.clear()
    named = {role: "first" for role in ROLES if role not in {"gate", "observer"}}
    agent = Agent(
        plugins=[plugin],
        gates=["first"],
        observers=["first"],
        observers_strict=True,
        logs_dir=tmp_path / "run",
        **named,
    )
    result = await agent.run("the task")
    assert (result.status, result.n_episodes) == ("completed", 5)
    assert result.totals.prompt_tokens == 60
    assert plugin.CALLS[:2] == ["entered", "run_started"]
    assert plugin.CALLS[-2:] == ["run_finished completed 5 6", "left"]
    for call in (
        "event resize",
        "event screen",
        "event input",
        "request_started 1",
        "response_received bad True",
        "response_received done False",
        "command_sent 'ls\\n' 0",
        "record_marker note 2 True",
        "step_recorded user",
        "step_recorded agent",
        "subagent_finished summary 1 1",
        "history_replaced 1 True 1",
    ):
        assert call in plugin.CALLS


def test_that_plugin_implements_every_hook_of_its_release():
    promised = json.loads(RELEASE.read_text())["hooks"]
    source = Path(plugin.__file__).read_text()
    implemented = {
        name: [word for word in re.findall(r"\w+", arguments) if word != "self"]
        for name, arguments in re.findall(r"def (terminus_\w+)\((.*?)\):", source)
    }
    assert implemented == {name: list(arguments) for name, arguments in promised.items()}


def test_hooks_of_a_release_may_be_implemented_with_fewer_arguments():
    small = SimpleNamespace()
    for name in OBSERVABLE:
        setattr(small, name, hookimpl(specname=name)(lambda: CALLED.append(1)))
    PluginManager([small]).dispatcher().run_started(None)
    assert CALLED == [1]


@pytest.mark.parametrize("group", ["names", "testing"])
def test_names_are_only_gained(group):
    assert set(json.loads(RELEASE.read_text())[group]) <= set(public_interface()[group])


@pytest.mark.parametrize("group", ["hooks", "values", "methods", "settings"])
def test_arguments_and_fields_are_only_gained(group):
    now = public_interface()[group]
    for name, promised in json.loads(RELEASE.read_text())[group].items():
        present = now[name]
        assert list(present)[: len(promised)] == list(promised) or set(promised) <= set(present), name
        if group == "hooks":
            continue
        for member, needed in promised.items():
            check = _check_method if group == "methods" else _check_field
            check(f"{name}.{member}", needed, present[member])
        new = set(present) - set(promised)
        assert group == "methods" or not [member for member in new if present[member]], f"{name} needs more: {new}"


def _check_field(name, needed, needed_now):
    assert needed or not needed_now, f"{name} has to be given now"


def _check_method(name, promised, present):
    order = [parameter for parameter in present if parameter in promised]
    assert order == list(promised), f"{name} has lost or moved parameters"
    new = [parameter for parameter in present if parameter not in promised and present[parameter]]
    assert not new, f"{name} needs {new} now"
    for parameter, needed in promised.items():
        assert needed or not present[parameter], f"{name} needs {parameter} now"


def test_a_part_has_to_implement_no_more_than_it_had_to():
    promised = json.loads(RELEASE.read_text())["needed"]
    for name, methods in public_interface()["needed"].items():
        assert set(methods) <= set(promised.get(name, methods)), name


def test_a_loss_would_be_noticed():
    now = public_interface()
    assert now["hooks"]["terminus_command_sent"] == {"run": True, "command": True, "index": True}
    assert now["values"]["Command"] == {"keystrokes": True, "duration_sec": False, "call_id": False}
    assert now["methods"]["Session"]["send_keys"]["min_timeout_sec"] is False
    assert "n_episodes" in now["methods"]["Run"]
    assert now["needed"]["Gate"] == ["before_commands", "name"]
    with pytest.raises(AssertionError, match="has lost or moved"):
        _check_method("x", {"a": True, "b": False}, {"b": False, "a": True})
    with pytest.raises(AssertionError, match="needs"):
        _check_method("x", {"a": True}, {"a": True, "b": True})
    with pytest.raises(AssertionError, match="has to be given now"):
        _check_field("x", False, True)


if __name__ == "__main__":
    RELEASE.write_text(json.dumps(public_interface(), indent=1) + "\n")
