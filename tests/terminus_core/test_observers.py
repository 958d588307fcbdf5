"""Events and filters: who is called, in which order, and what a failure does."""

import logging
import types
from dataclasses import dataclass

import anyio
import pytest

from terminus_core import PluginError, hookimpl

pytestmark = pytest.mark.anyio


def observer(label, calls, **options):
    class Observer:
        name = label

        @hookimpl(**options)
        def terminus_run_started(self):
            calls.append(label)

        @hookimpl(**options)
        def terminus_prepare_instruction(self, instruction):
            return f"{instruction} {label}"

    return Observer()


class Failing:
    name = "failing"

    @hookimpl
    def terminus_run_started(self):
        raise KeyError("x")

    @hookimpl
    def terminus_step_recorded(self, step):
        if step.step_id == 3:
            raise KeyError("x")

    @hookimpl
    def terminus_filter_observation(self, text):
        raise ValueError("y")


async def test_observers_are_told_in_order_with_first_and_last_obeyed(trial):
    calls = []
    observers = [
        observer("last", calls, trylast=True),
        observer("b", calls),
        observer("a", calls),
        observer("first", calls, tryfirst=True),
    ]
    t = trial(["DONE", "DONE"], observers=observers)
    await t.run("task")
    assert calls == ["first", "b", "a", "last"]
    assert "TASK task first b a last\n" in t.prompts[0]
    assert t.recorder.values("run_started")[0].instruction == "task"


async def test_an_observer_need_not_be_hashable_and_is_told_once(trial):
    @dataclass
    class Count:
        steps: int = 0

        @hookimpl
        def terminus_step_recorded(self):
            self.steps += 1

    count = Count()
    await trial(["DONE", "DONE"], observers=[count, count]).run()
    assert count.steps == 3


async def test_plugins_come_by_name_before_observers(trial):
    calls = []

    def module(name):
        made = types.ModuleType(name)

        @hookimpl
        def terminus_run_started():
            calls.append(name)

        made.terminus_run_started = terminus_run_started
        return made

    t = trial(["DONE", "DONE"], observers=[observer("an observer", calls)], plugins=[module("z"), module("b")])
    await t.run()
    assert calls == ["b", "z", "an observer"]


async def test_a_failing_observer_is_named_and_stops_nobody_pl_06(trial, caplog):
    t = trial(["$ a", "DONE", "DONE"], observers=[Failing()])
    t.recorder.events.clear()
    with caplog.at_level(logging.ERROR):
        result = await t.run()
    assert result.status == "completed"
    assert len(t.steps) == 4
    assert "observer 'failing' failed in terminus_step_recorded: KeyError" in caplog.text
    assert "observer 'failing' failed in terminus_filter_observation: ValueError: y" in caplog.text
    assert t.prompts[1].startswith("New Terminal Output:")


async def test_strict_observers_end_the_run(trial):
    t = trial(["$ a", "DONE", "DONE"], observers=[Failing()], observers_strict=True)
    with pytest.raises(KeyError) as caught:
        await t.run()
    assert any("observer 'failing'" in note for note in caught.value.__notes__)
    assert not t.backend.is_open


async def test_a_filter_that_returns_nonsense_changes_nothing(trial, caplog):
    class Odd:
        name = "odd"

        @hookimpl
        def terminus_prepare_messages(self, messages):
            return "no list"

    t = trial(["DONE", "DONE"], observers=[Odd()])
    await t.run()
    assert t.llm.requests[0][0]["role"] == "user"
    assert "returned str, expected list or None" in caplog.text


async def test_filters_change_what_is_sent_and_seen(trial):
    class Change:
        name = "change"

        @hookimpl
        def terminus_prepare_messages(self, messages):
            return [{"role": "system", "content": "be brief"}, *messages]

        @hookimpl
        def terminus_filter_observation(self, text):
            return text.replace("secret", "******")

    t = trial(["$ env", "DONE", "DONE"], outputs=["$ ", "KEY=secret"], observers=[Change()])
    await t.run()
    assert [message["role"] for message in t.llm.requests[1]] == ["system", "user", "assistant", "user"]
    assert t.prompts[1] == "New Terminal Output:\nKEY=******"
    assert t.steps[1].observation.results[0].content == t.prompts[1]


async def test_an_observer_that_registers_parts_is_refused(trial):
    class Wrong:
        name = "wrong"

        @hookimpl
        def terminus_register_gates(self):
            return []

    t = trial(["DONE"], observers=[Wrong()])
    with pytest.raises(PluginError, match="belongs in the plugin's module"):
        await t.run()


async def test_all_events_of_a_run_in_order(trial):
    t = trial(["$ a", "DONE", "DONE"])
    await t.run()
    turn = ["request_started", "response_received", "record_marker"]
    assert t.recorder.names() == [
        "run_started",
        "step_recorded",
        *turn,
        "command_sent",
        "step_recorded",
        *turn,
        "record_marker",
        "step_recorded",
        *turn,
        "record_marker",
        "step_recorded",
        "run_finished",
    ]


async def test_an_observer_that_cannot_be_entered_is_logged(trial, caplog):
    class Shut:
        name = "shut"

        async def __aenter__(self):
            raise OSError("disk")

        async def __aexit__(self, *error):
            raise AssertionError("never entered")

    result = await trial(["DONE", "DONE"], observers=[Shut()]).run()
    assert result.status == "completed"
    assert "'shut' could not be entered: OSError: disk" in caplog.text


def closing(label, left, leave=None, enter=None):
    class Closing:
        name = label

        async def __aenter__(self):
            if enter is not None:
                await enter()

        async def __aexit__(self, *error):
            if leave is not None:
                await leave()
            left.append(label)

    return Closing()


async def failing():
    raise OSError("disk")


async def test_an_observer_that_hangs_or_fails_at_the_end_is_logged_and_the_others_are_left(trial, caplog, monkeypatch):
    monkeypatch.setattr("terminus_core.observer_life.CLOSING_SEC", 0.4)
    monkeypatch.setattr("terminus_core.observer_life.LEAST_SEC", 0.1)
    left = []
    observers = [
        closing("first", left),
        closing("hangs", left, leave=anyio.sleep_forever),
        closing("fails", left, leave=failing),
        closing("last", left),
    ]
    assert (await trial(["DONE", "DONE"], observers=observers).run()).status == "completed"
    assert left == ["last", "first"]
    assert "observer 'hangs' could not be left: it took longer than" in caplog.text
    assert "observer 'fails' could not be left: OSError: disk" in caplog.text


async def test_observers_are_left_where_a_later_one_cannot_be_entered(trial):
    left = []
    t = trial(["DONE"], observers=[closing("a", left), closing("b", left, enter=failing)], observers_strict=True)
    with pytest.raises(OSError, match="disk"):
        await t.run()
    assert left == ["a"]


async def test_observers_are_left_where_entering_a_later_one_is_cancelled(trial):
    left = []

    async def cancelled():
        scope.cancel()
        await anyio.sleep_forever()

    t = trial(["DONE"], observers=[closing("a", left), closing("b", left, enter=cancelled)])
    with anyio.CancelScope() as scope:
        await t.run()
    assert left == ["a"]


async def test_every_argument_of_an_event_is_given_in_whatever_way_it_is_taken(trial):
    class Ways:
        name = "ways"

        def __init__(self):
            self.told = []

        @hookimpl
        def terminus_filter_observation(self, run, text=""):
            return text.upper()

        @hookimpl
        def terminus_step_recorded(self, *, run, step=None):
            self.told.append((run.n_steps, step.step_id))

        @hookimpl
        def terminus_command_sent(self, run, /, command, *, index=7):
            self.told.append((command.keystrokes, index))

    ways = Ways()
    t = trial(["$ a", "DONE", "DONE"], outputs=["$ ", "seen"], observers=[ways])
    await t.run()
    assert t.prompts[1] == "New Terminal Output:\nSEEN"
    assert ways.told == [(1, 1), ("a\n", 0), (2, 2), (3, 3), (4, 4)]


async def test_a_plugin_s_arguments_are_given_likewise(trial):
    told = []
    module = types.ModuleType("defaults")

    @hookimpl
    def terminus_command_sent(*, command=None, run=None, index=None):
        told.append((run.n_episodes, command.keystrokes, index))

    module.terminus_command_sent = terminus_command_sent
    await trial(["$ a", "DONE", "DONE"], plugins=[module]).run()
    assert told == [(1, "a\n", 0)]
