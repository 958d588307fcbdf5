"""What a plugin does wrong is named while it happens, and nothing that should be masked is shown because of it."""

import time
import types

import pytest

from terminus_core import Gate, PluginError, PluginManager, hookimpl

pytestmark = pytest.mark.anyio


async def test_a_hook_that_blocks_is_named_before_it_returns(trial, caplog):
    class Slow:
        name = "slow"

        def __init__(self):
            self.named = None

        @hookimpl
        def terminus_run_started(self):
            end = time.monotonic() + 30
            while not caplog.messages and time.monotonic() < end:
                time.sleep(0.05)
            self.named = list(caplog.messages)

    slow = Slow()
    await trial(["DONE", "DONE"], observers=[slow]).run()
    (line,) = slow.named
    assert line.startswith("observer 'slow' in terminus_run_started has kept the run waiting for 1 s")


async def test_a_filter_of_secrets_that_fails_shows_nothing(trial, caplog):
    class Broken:
        name = "broken"

        @hookimpl
        def terminus_redact(self, text):
            if "secret" in text:
                raise ValueError("too secret")

    t = trial(["$ echo secret", "DONE", "DONE"], observers=[Broken()])
    await t.run("keep the secret")
    shown = str(t.steps) + str(t.recorder.values("command_sent"))
    assert "secret" not in shown
    assert "***" in shown
    assert t.session.sent[0][0] == "echo secret\n"
    assert "failed in terminus_redact: ValueError" in caplog.text


async def test_a_wrapper_is_called_around_all_others(trial):
    calls = []

    class Around:
        name = "around"

        @hookimpl(wrapper=True)
        def terminus_run_started(self, run):
            calls.append("before")
            result = yield
            calls.append("after")
            return result

    class Inner:
        name = "inner"

        @hookimpl
        def terminus_run_started(self):
            calls.append("inner")
            raise KeyError("not the wrapper's business")

    await trial(["DONE", "DONE"], observers=[Inner(), Around()]).run()
    assert calls == ["before", "inner", "after"]


def test_two_parts_of_one_name_in_one_plugin():
    one, two = (type(name, (Gate,), {"name": "same", "before_commands": never}) for name in ("One", "Two"))
    module = types.ModuleType("twice")
    module.terminus_register_gates = hookimpl(lambda: [one, two])
    module.terminus_register_gates.__name__ = "terminus_register_gates"
    with pytest.raises(PluginError, match="two parts are named 'same'"):
        PluginManager([module])


async def never(self, run, reply):
    return reply


def test_a_plugin_that_was_asked_for_and_does_nothing_is_named(caplog):
    PluginManager([types.ModuleType("idle")])
    assert "plugin 'idle' (idle) implements no hook: it changes nothing" in caplog.text
