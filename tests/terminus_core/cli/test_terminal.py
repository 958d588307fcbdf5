"""What a person sees of a run on a real terminal."""

import pytest

from tests.support.command_line import DONE, reply
from tests.support.person import Person

WARNS = """
import logging
from terminus_core import hookimpl
@hookimpl
def terminus_command_sent(run, command, index):
    print("a plugin prints", command.keystrokes.strip())
    raise KeyError("the plugin's own mistake")
"""
SIZES = [(80, 24), pytest.param((160, 50), marks=pytest.mark.slow), pytest.param((60, 20), marks=pytest.mark.slow)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_the_panel_says_what_goes_on_and_leaves_its_lines(size, terminus):
    """One run from its start to the summary: the panel, warnings, a resize, what stays."""
    slow = reply(("echo it be''gins; until [ -e go ]; do sleep 0.1; done\n", 45.0), plan="Wait for the file.")
    words = [*terminus.script(slow, *DONE), *terminus.plugin(WARNS)]
    task = "Wait until there is a file named go, and then say so"
    columns, rows = size
    with Person(terminus.folder, terminus.env, columns, rows) as person:
        person.types(f"terminus run '{task}' {' '.join(words)}")
        seen = person.sees("it begins", "1 s of 45 s")
        flat = " ".join(line.removeprefix("      ").strip() for line in seen.splitlines())
        for text in (f"task  {task}", "model scripted, episode 1, ", "plan  Wait for the file."):
            assert text in flat
        assert "spent tokens: 100 in, 10 out, $0.0100" in seen
        assert "now   waiting for the command: " in seen
        person.resizes(columns - 8, rows - 2)
        person.sees("2 s of 45 s")
        (terminus.folder / "go").touch()
        seen = person.is_done()
    left = seen[seen.index("to watch: ") :]
    assert "now   " not in left
    assert "\u2502" not in left
    assert "\u2500" not in left
    for line in (
        f"task: {task}",
        "[1] the state \u2014 Wait for the file.",
        "a plugin prints echo it be''gins; until [ -e go ]; do sleep 0.1; done",
        "completed",
        f"asked: {task}",
        "last words: the plan",
        f"folder: {terminus.runs[0]}",
        f"next: terminus view {terminus.runs[0]}",
    ):
        assert line in left.splitlines()
    assert "the plugin's own mistake" in left
    assert left.count("attach-session -r") == 1


RETRYING = """
import anyio
from terminus_core import LLMResponse, RequestFailure, hookimpl
from terminus_core.testing import FakeLLM
class Busy(FakeLLM):
    name = "busy"
    def __init__(self):
        super().__init__(["no JSON"])
    async def call(self, request):
        request.on_attempt(1)
        failure = RequestFailure(reason="HTTP 429, rate limited", attempt=1, max_attempts=3, pause_sec=60.0)
        request.on_failure(failure)
        await anyio.sleep(60)
@hookimpl
def terminus_register_llms():
    return [Busy]
"""


def test_a_request_that_failed_says_why_and_when_it_is_sent_again(terminus):
    with Person(terminus.folder, terminus.env, 60, 20) as person:
        person.types(f"terminus run task --llm busy {' '.join(terminus.plugin(RETRYING))}")
        seen = person.sees("now   retrying in 60.0 s (attempt 2 of 3): HTTP 429, rate")
        assert "retrying in 60.0 s (attempt 2 of 3): HTTP 429, rate limited" in person.everything
        assert "      limited" in seen
        person.presses("C-c")
        assert "cancelled: SIGINT" in person.is_done()


@pytest.mark.slow
def test_two_quick_ctrl_c_still_print_the_summary(terminus):
    with Person(terminus.folder, terminus.env, 80, 24) as person:
        person.types(f"terminus run task {' '.join(terminus.script(reply(('sleep 300', 60.0)), *DONE))}")
        person.sees("waiting for the command: ")
        person.presses("C-c", "C-c")
        left = person.is_done()
        assert "cancelled: SIGINT" in left
        person.types("echo code $?")
        person.sees("code 130")


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: "x".join(map(str, size)))
def test_a_person_is_asked_for_what_is_missing(size, terminus):
    """Without a task, without a model, with `-`, with a task that looks like an option; keys, lists, completion."""
    script = " ".join(terminus.script(*DONE))
    with Person(terminus.folder, terminus.env, *size) as person:
        person.types(f"terminus run {script} -q")
        person.sees("What is to be done? For example:", "task:")
        person.types("count the stars")
        assert "asked: count the stars" in person.is_done()
        person.types("clear; terminus run 'any task'")
        person.sees("openai/gpt-5", "OPENAI_API_KEY", "terminus keys set openai", "model:")
        person.presses("C-c")
        person.sees("model: ^C")
        person.types("clear; terminus run '-v is what I want explained'")
        person.sees("a task that begins with - goes after --")
        person.types(f"clear; terminus run - {script} -q")
        person.sees("Type the task; Ctrl-D on an empty line ends it.")
        person.types("from the keyboard")
        person.presses("C-d")
        person.sees("asked: from the keyboard")
        person.types("clear; terminus keys set openai")
        person.sees("OPENAI_API_KEY (not shown):")
        person.types("typed-in-secret")
        assert "typed-in-secret" not in person.sees("OPENAI_API_KEY is kept in")
        person.types("clear; terminus runs")
        person.sees("count the stars", "completed")
        person.types("clear; tput reset; terminus config agent")
        seen = person.sees("agent.max_cost_usd = 10.0 (default of the command line)", where="everything")
        assert "US dollars until the run ends" in seen
        person.types("clear; terminus completion --install; . ~/.bashrc")
        person.sees("It works in every new shell.")
        person.types("terminus new-", enter=False)
        person.presses("Tab")
        person.sees("terminus new-plugin")


def test_where_a_gate_may_ask_lines_are_plain(terminus):
    with Person(terminus.folder, terminus.env, 80, 24) as person:
        person.types(f"terminus run task {' '.join(terminus.script(*DONE))} --gate deny")
        assert "\u2500" not in person.is_done()
