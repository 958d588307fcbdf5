"""When a claim counts, by policy, in whole runs."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from terminus_core import ConfigError
from terminus_plugins.completion.verify import Verify
from tests.support.scripted_run import DONE, typing


def test_single_believes_the_first_claim(program):
    done = program("--completion", "single", replies=[typing("echo one\n"), typing("echo two\n", done=True)])
    assert (done.code, done.end) == (0, ("completed", ""))
    assert "two" in done.observations[1]
    assert len(done.turns) == 2


def test_single_asks_if_the_commands_of_the_claim_were_lost(program):
    lost = {"content": '{"analysis": "a", "plan": "p", "commands": "ls", "task_complete": true}'}
    done = program("--completion", "single", replies=[lost, DONE])
    assert done.code == 0
    assert "say so again" in done.observations[0]


def test_checklist_asks_with_the_task_and_the_list(program):
    items = '["It is green.", "It runs."]'
    replies = [DONE, typing("true\n"), DONE, DONE]
    done = program("--completion", "checklist", "--set", f"completion.checklist.items={items}", replies=replies)
    assert (done.code, len(done.turns)) == (0, 4)
    for question in (done.observations[0], done.observations[2]):
        assert "The task was:\nthe task\n" in question
        assert question.endswith("1. It is green.\n2. It runs.")
        assert "say so again" in question
    assert "It is green" not in done.observations[1] + done.observations[3]


def test_checklist_brings_a_list_of_its_own(program):
    done = program("--completion", "checklist", replies=[DONE, DONE])
    assert done.code == 0
    assert "\n5. " in done.observations[0]


def test_verify_lets_a_command_decide_and_tells_its_output(program):
    replies = [DONE, typing("echo 42 > answer.txt\n", done=True)]
    check = "test -f answer.txt || { echo there is no answer; exit 3; }"
    done = program("--completion", "verify", "--set", f"completion.verify.command={check}", replies=replies)
    assert (done.code, len(done.turns)) == (0, 2)
    assert "failed (status 3). Its output:\nthere is no answer\n" in done.observations[0]
    assert "no answer" not in done.observations[1]


def test_verify_brings_a_script_for_each_check_and_takes_it_away(program):
    script = program.folder / "outside" / "check.sh"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\necho "I am $0"\ntest -f answer.txt\n')
    replies = [DONE, typing(f"echo exit 0 > {script}\n", done=True), typing("touch answer.txt\n", done=True)]
    done = program("--completion", "verify", "--set", f"completion.verify.file={script}", replies=replies)
    assert (done.code, len(done.turns)) == (0, 3)  # what became of the file meanwhile plays no part
    places = [line.split()[2] for text in done.observations[:2] for line in text.splitlines() if "I am" in line]
    assert len(set(places)) == 2
    assert [place for place in places if Path(place).exists() or Path(place.removesuffix(".run")).exists()] == []


def test_verify_has_a_time_limit_and_a_limit_of_output(program):
    replies = [DONE, typing("touch slow\n", done=True), typing("rm slow; touch done\n", done=True)]
    check = "test -f done || { test -f slow && sleep 60; seq 1 1000; exit 1; }"
    options = ("timeout_sec=1", "output_chars=9", f"command={check}")
    done = program(
        "--completion",
        "verify",
        *(word for each in options for word in ("--set", f"completion.verify.{each}")),
        replies=replies,
    )
    assert (done.code, len(done.turns)) == (0, 3)
    assert "Its output:\n[…]\n999\n1000\n" in done.observations[0]
    assert "did not end within 1 seconds" in done.observations[1]


def test_verify_wants_one_check(program):
    done = program("--completion", "verify", replies=[DONE])
    assert done.code == 2
    assert done.stderr.startswith("terminus: setting completion.verify: either command or file is needed")
    for settings in ({"command": "true", "file": "x"}, {"command": "true", "timeout_sec": 0}):
        with pytest.raises(ValidationError, match=r"either command or file|greater than 0"):
            Verify.Config(**settings)


def test_verify_reads_its_script_before_the_run(tmp_path):
    with pytest.raises(ConfigError, match="cannot read"):
        Verify(Verify.Config(file=tmp_path / "nothing"))
