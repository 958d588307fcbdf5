"""Observers that speak to the model or change what it is sent, in whole runs."""

import pytest

from terminus_core import Agent, ContentPart, Message
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM, FakeSession
from terminus_plugins.observers.compact_old_output import CompactOldOutput
from tests.support.scripted_run import DONE, typing


def said(done):
    """What was put in front of a prompt: user steps after the first."""
    return [step["message"] for step in done.steps[1:] if step["source"] == "user"]


# -- loop_guard --------------------------------------------------------------------------------------------------------


def test_loop_guard_tells_of_the_same_commands_and_then_ends_the_run(program):
    limits = ("--set", "observer.loop_guard.same=2", "--set", "observer.loop_guard.nudges=1")
    replies = [typing("echo a\n"), typing("echo b\n"), *[typing("echo b\n", duration=0.5)] * 8]
    done = program("--observer", "loop_guard", *limits, replies=replies)
    assert (done.code, done.end) == (1, ("limit_reached", "loop_guard"))
    assert len(done.turns) == 5
    (nudge,) = said(done)
    assert nudge.startswith("You have sent the same commands 2 times in a row.")


def test_loop_guard_tells_of_waits_and_of_unusable_answers(program):
    limits = ("--set", "observer.loop_guard.wait=2", "--set", "observer.loop_guard.error=2")
    wait = typing("", duration=0)
    replies = [
        wait,
        typing(),
        typing("true\n"),
        wait,
        typing("true\n"),
        {"content": "hm"},
        {"content": "so"},
        DONE,
        DONE,
    ]
    done = program("--observer", "loop_guard", *limits, replies=replies)
    assert done.code == 0
    waits, errors = said(done)
    assert waits.startswith("You have only waited for 2 turns in a row.")
    assert errors.startswith("2 answers in a row could not be used")


# -- stuck_shell -------------------------------------------------------------------------------------------------------


def test_stuck_shell_says_what_the_terminal_waits_for_and_a_restart_helps(program):
    replies = [
        typing("cat > note <<'END'\n", "some text\n", duration=0.3),
        typing("END\n", "echo 'open\n", duration=0.3),
        typing("C-c", "read -s -p 'Password for me: ' x\n", duration=0.3),
        typing("", duration=0.1),
        typing("C-c", "trap '' INT TERM; stty -echo; while :; do sleep 1; done\n", duration=0.3),
        typing("C-c", duration=0.1),
        typing("C-c", duration=0.1),
        typing(actions=[{"name": "restart_shell"}]),
        typing("echo back again\n"),
        DONE,
        DONE,
    ]
    offer = ("--action", "restart_shell", "--set", "observer.stuck_shell.silent_turns=2")
    done = program("--observer", "stuck_shell", *offer, replies=replies)
    assert done.code == 0
    heredoc, quote, password, silent, *more = said(done)
    assert more == []
    assert "a line that holds END and nothing else" in heredoc
    assert "'>'" in quote
    assert "waits for a password" in password
    assert "'Password for me:'" in password
    assert silent.startswith("Nothing new has come from the terminal for 2 turns")
    for text in said(done):
        assert text.endswith(
            "If nothing helps, ask for restart_shell: it ends what runs there and gives you a fresh shell."
        )
    restarted = done.turns[7]
    assert [each["function_name"] for each in restarted["tool_calls"]] == ["restart_shell"]
    assert "The shell was restarted; what ran in it was ended.\nCurrent Terminal Screen:\n$" in done.observations[7]
    assert "back again" in done.observations[8]


# -- compact_old_output, instruction_extra -----------------------------------------------------------------------------


def test_instruction_extra_stands_after_the_task(program):
    extra = program.folder / "extra.md"
    extra.write_text("Use no sudo.\n")
    options = (
        "--set",
        f"observer.instruction_extra.file={extra}",
        "--set",
        "observer.instruction_extra.text=Be brief.",
    )
    done = program("--observer", "instruction_extra", *options, replies=[DONE, DONE], task="Sing {0}.")
    assert done.code == 0
    assert "Sing {0}.\n\nBe brief.\n\nUse no sudo.\n" in done.steps[0]["message"]
    assert program("--observer", "instruction_extra", replies=[DONE]).code == 2
    options = ("--set", "observer.instruction_extra.file=nowhere")
    missing = program("--observer", "instruction_extra", *options, replies=[DONE])
    assert missing.code == 2
    assert "cannot read nowhere: No such file" in missing.stderr


def test_compact_old_output_leaves_the_record_alone(program):
    settings = [f"observer.compact_old_output.{each}" for each in ("keep_turns=1", "step_turns=1", "keep_chars=20")]
    options = [word for each in settings for word in ("--set", each)]
    replies = [typing("seq 100 200\n"), typing("seq 300 400\n"), DONE, DONE]
    done = program("--observer", "compact_old_output", *options, replies=replies)
    assert done.code == 0
    assert "\n150\n" in done.observations[0]


@pytest.mark.anyio
async def test_compact_old_output_shortens_what_is_sent_in_steps(tmp_path):
    llm = FakeLLM([typing("x\n")["content"]] * 8 + [DONE["content"]] * 2)
    session = FakeSession([f"{n}: {'long ' * 100}" for n in range(11)])
    config = CompactOldOutput.Config(keep_turns=2, step_turns=3, keep_chars=40)
    agent = Agent(
        llm=llm,
        environment=FakeEnvironment(),
        session=FakeBackend(session),
        observers=[CompactOldOutput(config)],
        logs_dir=tmp_path / "run",
    )
    assert (await agent.run("the task")).status == "completed"

    def shortened(messages):
        return [n for n, message in enumerate(messages) if "characters of old output left out" in message["content"]]

    # Message 0 is the task; 2, 4, 6 … are observations. Between steps each request begins as the one before.
    found = [shortened(messages) for messages in llm.requests]
    assert found == [[]] * 5 + [[2, 4]] * 3 + [[2, 4, 6, 8, 10]] * 2
    short = llm.requests[5][2]["content"]
    assert short.startswith("New Terminal Output:")
    assert short.endswith(" long ")
    assert len(short) < 120
    assert llm.requests[6][: len(llm.requests[5])] == llm.requests[5]


def test_compact_old_output_keeps_images_and_answers():
    image = ContentPart(type="image_url", image_url={"url": "data:image/png;base64,AAAA"})
    long = "word " * 100
    messages = [
        Message(role="user", content=long),
        Message(role="assistant", content=long),
        Message(role="user", content=[ContentPart(type="text", text=long), image]),
        Message(role="assistant", content=long),
        Message(role="tool", tool_call_id="1", content=long),
        Message(role="assistant", content="now"),
    ]
    observer = CompactOldOutput(CompactOldOutput.Config(keep_turns=1, step_turns=1, keep_chars=0))
    sent = observer.terminus_prepare_messages(messages)
    assert [sent[n] is messages[n] for n in (0, 1, 3, 4, 5)] == [True] * 5
    text, kept = sent[2]["content"]
    assert kept is image
    assert text["text"] == "\n[… 500 characters of old output left out …]\n"
    assert messages[2]["content"][0]["text"] == long
