"""What holds for every reply: no exception, keystrokes as they were meant, nothing of a part of an answer."""

import ast
import json
import math
import re
import time
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.terminus_plugins.parsers.cases import parse, typed

# The same examples each time: a test that fails, fails for everybody.
steady = settings(deadline=None, derandomize=True)

PIECES = [
    *"{}[]:,\"'`\\/#<>&;= \n\r\t0",
    *(
        "\ufeff",
        "\u200b",
        "\x00",
        "\x1b",
        "\x85",
        "\ud800",
        "\udc00",
        "```",
        "~~~json\n",
        "//",
        r"\u",
        r"\ud83d",
        r"\x4",
    ),
    *("true", "False", "null", "NaN", "-Infinity", "1e999", "-0", "it's", "&lt;", "]]>", "<![CDATA[", "<!--", "-->"),
    *('"analysis": "a"', '"plan"', '"commands": [', '"keystrokes": "ls\\n"', '"duration": 1', '"task_complete": true'),
    *('{"analysis": "a", "plan": "p", "commands": []}', "{'analysis': 'a', 'plan': 'p', 'commands': []}"),
    *("<think>", "</think>", "</reasoning>", "<response>", "</response>", "<analysis>", "</analysis>", "<plan/>"),
    *("<commands>", "</commands>", '<keystrokes duration="1">', "</keystrokes>", "<KEYSTROKES duration=1 />"),
    *("<task_complete>", "</task_complete>", "<mood>", "</mood>"),
]
MESS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join)
TYPABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
KEYSTROKES = TYPABLE | st.lists(
    st.sampled_from(PIECES).filter(lambda piece: piece not in "\x00\ud800\udc00"), max_size=15
).map("".join)
DURATIONS = st.floats(0, 1e6)
COMMANDS = st.lists(st.tuples(KEYSTROKES, DURATIONS), max_size=4)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5).filter(str.isprintable)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
JSON_ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "analysis": LEAVES,
        "plan": LEAVES,
        "commands": VALUES
        | st.lists(
            st.fixed_dictionaries({"keystrokes": KEYSTROKES | VALUES}, optional={"duration": VALUES, "x": VALUES})
        ),
        "task_complete": LEAVES | st.sampled_from(["true", "False", " TRUE "]),
        "more": VALUES,
    },
)
ESCAPES = st.lists(
    st.sampled_from([*"\\\\\\\"'nrtabfvdxuUN0187/{} \t", r"\x41", r"\u00e4", r"\U0001f600", r"\N{DIGIT ONE}", r"\\"]),
    max_size=8,
).map("".join)
BLANKS = " \t\r\n\ufeff\u200b\u200c\u200d\u2060"
DEEP = '{"a":' * 98
REPEATED = [
    *(
        "[",
        "{",
        "}",
        '{"',
        '{"a":',
        '{"a" ',
        "{'",
        '"',
        "\\",
        '{"commands": ',
        '{"commands": [], "task_complete": true}',
    ),
    *(
        "<",
        "</",
        "<think>",
        "</think>",
        "<response>",
        "<analysis>",
        "\n<plan/>",
        "<commands>",
        "<commands><keystrokes>",
    ),
    *(
        '<keystrokes duration="1">',
        "<response><commands></commands></response>",
        "<!--",
        "<![CDATA[",
        "<response><analysis><![CDATA[</analysis>",
        "\n<analysis><![CDATA[</analysis>",
        "<a>",
        "&",
        "`",
        " ",
    ),
    *(
        pytest.param(f"x {DEEP}[{'1,' * 500_000}1{end}", id=f"deep-{name}")
        for name, end in (("open", ""), ("broken", " x"), ("whole", "]" + "}" * 98))
    ),
]


def json_answer(commands, *, claim=False, ensure_ascii=False):
    listed = [{"keystrokes": keystrokes, "duration": duration} for keystrokes, duration in commands]
    answer = {"analysis": "a", "plan": "p", "commands": listed, "task_complete": claim}
    return json.dumps(answer, ensure_ascii=ensure_ascii)


def xml_answer(commands, *, cdata):
    def inner(text):
        return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>" if cdata else text

    elements = "".join(f'<keystrokes duration="{seconds!r}">{inner(text)}</keystrokes>' for text, seconds in commands)
    return f"<response><analysis>a</analysis><plan>p</plan><commands>{elements}</commands></response>"


def is_raw(keystrokes):
    """Whether keystrokes can stand in an element as they are."""
    text = keystrokes.lower()
    return not any(each in text for each in ("</keystrokes", "<keystrokes", "<![cdata[")) and not text.rstrip(
        BLANKS
    ).endswith(">")


def pairs(result):
    return [(command.keystrokes, command.duration_sec) for command in result.commands]


@pytest.mark.parametrize("parser", ["json", "xml"])
@steady
@given(reply=MESS, finish_reason=st.sampled_from([None, "stop", "length"]))
def test_a_mess_is_read_without_exception(parser, reply, finish_reason):
    result = parse(parser, reply, finish_reason)
    assert result == parse(parser, reply, finish_reason)
    assert not (result.error and (result.commands or result.is_task_complete or result.commands_unusable))
    assert not (result.commands_unusable and not result.is_task_complete)
    for command in result.commands:
        assert math.isfinite(command.duration_sec)
        assert command.duration_sec >= 0
        assert "\0" not in command.keystrokes
    for text in (result.error, result.warning, result.analysis, result.plan, *typed(result)):
        text.encode()


@steady
@given(answer=JSON_ANSWERS)
def test_strict_json_means_what_the_library_says(answer):
    reply = json.dumps(answer)
    result = parse("json", reply)
    commands = json.loads(reply).get("commands")
    if not result.error and not result.commands_unusable:
        assert list(typed(result)) == [command["keystrokes"] for command in commands]
        assert result.is_task_complete == (str(answer.get("task_complete")).strip().lower() == "true")
    if isinstance(answer.get("analysis"), str) and isinstance(answer.get("plan"), str) and commands == []:
        assert (result.error, result.analysis, result.plan) == ("", answer["analysis"], answer["plan"])


@steady
@given(inner=ESCAPES, quote=st.sampled_from("'\""))
def test_python_literal_means_what_python_says(inner, quote):
    reply = f"{{'analysis': 'a', 'plan': 'p', 'commands': [{{'keystrokes': {quote}{inner}{quote}, 'duration': 1}}]}}"
    result = parse("json", reply)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            meant = ast.literal_eval(reply)["commands"][0]["keystrokes"]
        except (ValueError, SyntaxError):
            assert result.error
            return
    assert result.error or list(typed(result)) == [meant]


@steady
@given(inner=ESCAPES)
def test_json_string_keeps_what_is_no_escape(inner):
    reply = f'{{"analysis": "a", "plan": "p", "commands": [{{"keystrokes": "{inner}", "duration": 1}}]}}'
    result = parse("json", reply)
    doubled = re.sub(
        r"\\(?:(?=[\"\\/bfnrt]|u[0-9a-fA-F]{4})(.)|)", lambda found: found[0] if found[1] else r"\\", reply
    )
    try:
        meant = json.loads(doubled, strict=False)["commands"][0]["keystrokes"]
    except ValueError:
        assert result.error
        return
    assert result.error or list(typed(result)) == [meant]


@steady
@given(commands=COMMANDS, claim=st.booleans(), ensure_ascii=st.booleans())
def test_json_answer_comes_out_as_it_was_meant(commands, claim, ensure_ascii):
    answer = json_answer(commands, claim=claim, ensure_ascii=ensure_ascii)
    for reply in (
        answer,
        f"{answer}\n",
        f"So:\n```json\n{answer}\n```\nDone.",
        f"<think>{answer[:50]}</think>{answer}",
    ):
        result = parse("json", reply)
        assert result.error == ""
        assert pairs(result) == commands
        assert result.is_task_complete is claim


@steady
@given(commands=COMMANDS)
def test_python_literal_comes_out_as_it_was_meant(commands):
    answer = repr(json.loads(json_answer(commands)))
    result = parse("json", answer)
    assert result.error == ""
    assert pairs(result) == commands


@steady
@given(commands=COMMANDS)
def test_xml_answer_comes_out_as_it_was_meant(commands):
    result = parse("xml", xml_answer(commands, cdata=True))
    assert result.error == ""
    assert pairs(result) == commands


@steady
@given(commands=st.lists(st.tuples(KEYSTROKES.filter(is_raw), DURATIONS), max_size=4))
def test_raw_xml_answer_comes_out_as_it_was_meant(commands):
    answer = xml_answer(commands, cdata=False)
    for reply in (answer, f"So:\n```xml\n{answer}\n```\nDone.", f"<think>{answer[:50]}</think>{answer}"):
        result = parse("xml", reply)
        assert result.error == ""
        assert pairs(result) == commands


@steady
@given(before=TYPABLE, after=TYPABLE.filter(lambda text: text.strip(BLANKS)), claim=st.booleans())
def test_closing_tag_in_raw_keystrokes_is_refused(before, after, claim):
    answer = xml_answer([(f"{before}</keystrokes>{after}", 1.0)], cdata=False)
    if claim:
        answer = answer.replace("</response>", "<task_complete>true</task_complete></response>")
    result = parse("xml", answer)
    assert result.error
    assert result.commands == []


@pytest.mark.parametrize("write", [json_answer, lambda commands: repr(json.loads(json_answer(commands)))])
@pytest.mark.parametrize("finish_reason", ["stop", "length"])
@steady
@given(commands=COMMANDS, share=st.floats(0, 1, exclude_max=True))
def test_part_of_a_json_answer_does_nothing(write, finish_reason, commands, share):
    answer = write(commands)
    result = parse("json", answer[: int(len(answer) * share)], finish_reason)
    assert result.error
    assert result.commands == []


@steady
@given(commands=COMMANDS, cdata=st.booleans(), share=st.floats(0, 1, exclude_max=True))
def test_part_of_an_xml_answer_does_nothing(commands, cdata, share):
    if not cdata:
        commands = [(keystrokes, seconds) for keystrokes, seconds in commands if is_raw(keystrokes)]
    answer = xml_answer(commands, cdata=cdata)
    part = answer[: int(len(answer) * share)]
    cut = parse("xml", part, "length")
    assert cut.error
    assert cut.commands == []
    other = parse("xml", part)  # a missing </response> alone is overlooked
    assert other.error or pairs(other) == commands


@pytest.mark.parametrize("parser", ["json", "xml"])
@pytest.mark.parametrize("piece", REPEATED)
def test_a_megabyte_of_anything_is_read_at_once(parser, piece):
    reply = piece * max(1, 1_000_000 // len(piece))
    started = time.process_time()
    result = parse(parser, reply)
    assert time.process_time() - started < 5  # seconds on a loaded machine; what is not linear takes minutes
    assert result.commands == []
    assert len(result.error) < 400


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_megabyte_of_keystrokes_is_typed_whole(size):
    commands = [("echo 'x'\n\t\\" * (size // 10), 1.0)] * (1_000_000 // size // 10)
    for parser, answer in (("json", json_answer(commands)), ("xml", xml_answer(commands, cdata=False))):
        assert pairs(parse(parser, answer)) == commands
