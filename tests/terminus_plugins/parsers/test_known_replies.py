"""Replies as models have sent them, as they stand and in every dress that models put around them."""

import pytest

from tests.terminus_plugins.parsers.cases import CASES, parse, typed

DRAFTS = {
    "json": r'{"analysis": "d", "plan": "d", "commands": [{"keystrokes": "rm -rf /\n", "duration": 1}]}',
    "xml": "<response><analysis>d</analysis><plan>d</plan><commands>"
    '<keystrokes duration="1">rm -rf /\n</keystrokes></commands></response>',
}
DRESSES = {
    "fence": "```\n{reply}\n```",
    "fence with a language": "```json\n{reply}\n```\n",
    "long fence": "`````xml\n{reply}\n`````",
    "tildes": "~~~\n{reply}\n~~~",
    "fence on one line": "```{reply}```",
    "prose before": "Let's see: it's time to list {{things}} & <b>files</b>.\n{reply}",
    "prose after": "{reply}\n\nThat's all, don't worry about `{{x}}`.",
    "prose and fence": "Here:\n\n```json\n{reply}\n```\n\nI wait for the output.",
    "think block": "<think>I could say {draft}, but it's wrong</think>\n{reply}",
    "thinking, in capitals": "<THINKING>\n{draft}\n</THINKING>{reply}",
    "lone closing tag": "I could say {draft} instead.\n</think>\n\n{reply}",
    "block with a broken draft": "<reasoning>{draft:.40} … \"it's</reasoning>{reply}",
    "Windows lines": "{reply}\r\n",
}


def dress(case, name):
    draft = DRAFTS[case.parser]
    text = DRESSES[name].replace("{draft:.40}", draft[:40]).replace("{draft}", draft)
    return text.replace("{{", "{").replace("}}", "}").replace("{reply}", case.reply)


def assert_nothing_else(result, case):
    if result.error:
        assert result.commands == []
        assert not result.is_task_complete
    else:
        assert typed(result) == case.keystrokes


@pytest.mark.parametrize("case", CASES)
def test_reply(case):
    result = parse(case.parser, case.reply, case.finish_reason)
    if case.outcome == "error" or (case.outcome == "either" and result.error):
        assert result.error
        assert result.commands == []
        assert len(result.error) < 400
        return
    assert result.error == ""
    assert typed(result) == case.keystrokes
    assert result.is_task_complete is case.claim
    if case.durations:
        assert tuple(command.duration_sec for command in result.commands) == case.durations
    if case.warning:
        assert result.warning


@pytest.mark.parametrize("name", DRESSES)
@pytest.mark.parametrize("case", CASES)
def test_reply_in_other_dress(case, name):
    result = parse(case.parser, dress(case, name), case.finish_reason)
    if case.outcome == "ok":
        assert result.error == ""
        assert typed(result) == case.keystrokes
    else:
        assert_nothing_else(result, case)


@pytest.mark.parametrize("finish_reason", ["stop", "length"])
@pytest.mark.parametrize("name", [None, *DRESSES])
@pytest.mark.parametrize("case", [case for case in CASES if len(case.values[0].reply) < 10_000])
def test_reply_cut_at_every_tenth_character(case, name, finish_reason):
    text = dress(case, name) if name else case.reply
    if name == "lone closing tag":  # before that tag a draft cannot be told from an answer
        text = text.partition("</think>")[2]
    for end in range(0, len(text), 10):
        assert_nothing_else(parse(case.parser, text[:end], finish_reason), case)


@pytest.mark.parametrize("case", CASES)
def test_the_same_reply_gives_the_same_result(case):
    assert parse(case.parser, case.reply) == parse(case.parser, case.reply)


@pytest.mark.parametrize(
    ("case_id", "part"),
    [
        ("jp-14", 'key "commands"'),
        ("jp-18", "4300 digits"),
        ("jp-19", "deep"),
        ("jp-11", "cut off"),
        ("se-08", "Command 1: keystrokes hold a NUL"),
        ("xp-01", "CDATA"),
        ("xp-09", "never closed"),
    ],
)
def test_error_says_what_is_wrong(case_id, part):
    (case,) = [case.values[0] for case in CASES if case.id == case_id]
    assert part in parse(case.parser, case.reply, case.finish_reason).error


@pytest.mark.parametrize(
    ("case_id", "part"),
    [
        ("jp-01", "before the JSON object was ignored: Next I call `make`."),
        ("jp-16", "Command 3: duration"),
        ("jp-17", "Command 2: duration"),
        ("xp-03", "&amp;"),
        ("xp-05", "</keystrokes>"),
        ("xp-06", "Command 4: duration is missing"),
    ],
)
def test_warning_says_what_was_odd(case_id, part):
    (case,) = [case.values[0] for case in CASES if case.id == case_id]
    assert part in parse(case.parser, case.reply).warning


def test_jp_09_reads_the_whole_literal():
    (case,) = [case.values[0] for case in CASES if case.id == "jp-09"]
    result = parse("json", case.reply)
    assert result.analysis == "it's a repo"
    assert "Python" in result.warning


def test_jp_21_mends_all_texts():
    (case,) = [case.values[0] for case in CASES if case.id == "jp-21"]
    result = parse("json", case.reply)
    assert (result.analysis, result.plan) == ("emoji \ufffd", "print \ufffd")
    whole = parse("json", case.reply.replace(r"\ud83d", r"\ud83d\ude00").replace(r"print \ude00", "print"))
    assert typed(whole) == ("echo hi \N{GRINNING FACE}\n",)
    assert whole.warning == ""
