"""The JSON format at its edges: what is an answer, what may be mended, what must be refused."""

import pytest

from terminus_core import LLMResponse
from tests.terminus_plugins.parsers.cases import PARSERS, parse, typed

LS = r'{"analysis": "a", "plan": "p", "commands": [{"keystrokes": "ls\n", "duration": 0.5}]}'
RM = r'{"analysis": "a", "plan": "p", "commands": [{"keystrokes": "rm\n", "duration": 0.5}]}'
PYTHON = r"{'analysis': 'a', 'plan': 'p', 'commands': [{'keystrokes': '%s', 'duration': 1}]}"


def command(keystrokes, duration="1"):
    return f'{{"analysis": "a", "plan": "p", "commands": [{{"keystrokes": {keystrokes}, "duration": {duration}}}]}}'


def claim(commands, word="true"):
    return f'{{"analysis": "a", "plan": "p", "commands": {commands}, "task_complete": {word}}}'


@pytest.mark.parametrize(
    "reply",
    [
        LS,
        f"{LS}\n{LS}",
        f"```json\n{LS}\n```\nor\n```json\n{LS}\n```",
        LS + "}",
        LS + ",",
        f"`{LS}`",
        LS.replace(", ", ",\r\n  "),
        f"\ufeff{LS}\u200b",
        LS.replace("{", "{\u200b\ufeff"),
        f"<think>{RM}</think>{LS}",
        f"<Thought >{RM}</thought >{LS}",
        f"{RM}</think>{LS}",
        f"{RM}</think>{RM}</reasoning>{LS}",
        f"<think>a<think>b</think>{RM}</think>{LS}",
        f"<think>x</thinking>{LS}",
        f"{LS}<think>{RM}</think>",
        f"{LS}<think>{RM}",
        'maybe {"analysis": "…", "commands": [...]} no</think>' + LS,
        'maybe {"analysis": "…", "commands": ["a" "b</think>" no</think>' + LS,
        'awk \'{"date" | getline d}\' it\'s {x} {"y": 1} ${z} { x\n' + LS,
        'look at {"name": then\n' + LS,
        'The file begins with {" and goes on.\n' + LS,
        "It begins with {' and goes on.\n" + LS,
        LS + '\nThe file begins with {"',
        LS + " It's a {",
        '{"x": 1, "x": 2} ' + LS,
        '{"name": "package", "version": "1"}' + LS + "{}",
    ],
)
def test_one_answer_is_found(reply):
    result = parse("json", reply)
    assert result.error == ""
    assert typed(result) == ("ls\n",)
    assert [command.duration_sec for command in result.commands] == [0.5]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n\ufeff",
        "I have no idea.",
        "ls\n",
        "null",
        '"' + LS.replace("\\", "\\\\").replace('"', '\\"') + '"',
        f"{LS}\n{RM}",
        f"[{LS}]",
        f"[{LS}, {LS}]",
        f"[\n```json\n{LS}\n```,\n{LS}, {LS}]",
        "{" + LS + "}",
        "{x: " + LS + "}",
        '{"response": ' + LS + "}",
        '{"name": "bash", "arguments": ' + LS + "}",
        f"'{LS}'",
        f"echo '{LS}' > answer.json",
        LS + ', "task_complete": true}',
        LS + r', {"keystrokes": "rm\n", "duration": 1}]}',
        LS + r'{"keystrokes": "rm\n", "duration": 1}',
        r'[{"keystrokes": "ls\n", "duration": 1}]',
        LS + ' no: {"analysis": "a',
        LS + "\n{",
        LS + '\n {"',
        LS + ' no: {"plan": "',
        f"<think>{LS}",
        f"<think>so {LS}<thinking>",
        LS.replace('"duration"', '"duration": 1, "duration"'),
        LS.replace('"analysis"', '"analysis": "", "\\u0061nalysis"'),
        LS[:-1] + ', "more": {"x": 1, "x": 2}}',
        LS.replace("[{", "[ // list them\n{"),
        LS.replace("[{", "[ # list them\n{"),
        "{ /* my answer */ " + LS[1:],
        LS.replace('"plan"', "plan"),
        LS.replace('"p", ', '"p" '),
        LS.replace("}]}", "}}]"),
        LS.replace("[{", "[,{"),
        LS.replace("}]", "},,]"),
        LS.replace(r'"ls\n"', r'"echo "ls"\n"'),
        LS.replace(r'"ls\n"', r'"ls" "\n"'),
        LS.replace("0.5", "01"),
        LS.replace("0.5", ".5"),
        LS.replace("0.5", "0x1"),
        LS.replace('"a"', "1" * 4301),
        LS[:-1] + ', "deep": ' + "[" * 200 + "]" * 200 + "}",
        command(r'"a\u0000"'),
        command('"a\0"'),
        command('"a\x07"'),
        command('"a\x1b"'),
        command("5"),
        command("null"),
        command('["ls"]'),
        '{"analysis": "a", "plan": "p", "commands": [{"duration": 1}]}',
        '{"analysis": "a", "plan": "p", "commands": ["ls"]}',
        '{"analysis": "a", "plan": "p", "commands": "ls"}',
        '{"analysis": "a", "plan": "p", "commands": null}',
        '{"analysis": "a", "plan": "p", "commands": {"keystrokes": "ls", "duration": 1}}',
        '{"analysis": "a", "commands": []}',
        '{"plan": "p", "commands": [], "task_complete": true}',
        '{"analysis": "a", "plan": "p", "task_complete": true}',
        '{"analysis": "a", "plan": "p"}',
        '{"task_complete": true}',
        '{"commands": []}',
        "{}",
        claim(r'[{"keystrokes": "a\u0000", "duration": 1}, 5]'),
        claim("[1]")[:-1],
        claim("[1]").replace('"plan": "p"', '"plan": "p", "plan": "q"'),
    ],
)
def test_nothing_is_run(reply):
    result = parse("json", reply)
    assert result.error
    assert result.commands == []
    assert not result.is_task_complete
    assert not result.commands_unusable


@pytest.mark.parametrize("brace", ['{"', "{'", '{"x":', "{'x' y"])
def test_an_answer_quoted_in_a_string_is_text_whatever_brace_stands_in_the_prose(brace):
    quoted = (PYTHON % "rm -r build").replace("'p'", "'q'")
    result = parse(
        "json",
        f"The first line still begins with {brace} and is not cut off.\n"
        + claim("[]").replace('"a"', f'"sample.py now reads {quoted} as asked"'),
    )
    assert result.error == ""
    assert result.commands == []
    assert result.is_task_complete
    assert quoted in result.analysis


@pytest.mark.parametrize(
    ("raw", "keystrokes"),
    [
        (r'"a\\n"', r"a\n"),
        (r'"a\\\n"', "a\\\n"),
        (r'"\"\/\b\f\r\t"', '"/\b\f\r\t'),
        (r'"grep \\d \d \\\\d"', r"grep \d \d \\d"),
        (r'"\usepackage \u12"', r"\usepackage \u12"),
        ('"a\\\nb"', "a\\\nb"),
        ('"a\r\n\tb"', "a\r\n\tb"),
        (r'"it\'s"', r"it\'s"),
        (r'"\u00e4\ud83d\ude00"', "ä😀"),
        (r'"\ud83d\ud83d\ude00\ude00"', "\ufffd😀\ufffd"),
        ('"\ud83d"', "\ufffd"),
        (r'"\u001b[A"', "\x1b[A"),
        ('"a\ufeff\u200b"', "a\ufeff\u200b"),
        ('"```json\\n{}\\n```"', "```json\n{}\n```"),
        (r'"</think>{\"commands\": []}<think>"', '</think>{"commands": []}<think>'),
        ('"// no # comment, [1,]"', "// no # comment, [1,]"),
    ],
)
def test_keystrokes_are_what_the_string_says(raw, keystrokes):
    for reply in (command(raw), f"So:\n{command(raw)}\nDone."):
        result = parse("json", reply)
        assert result.error == ""
        assert typed(result) == (keystrokes,)


@pytest.mark.parametrize(
    ("inner", "keystrokes"),
    [
        (r"ls\n", "ls\n"),
        (r"it\'s \"x\" \\d \d", r"""it's "x" \d \d"""),
        (r"\x41\101\u00e4\U0001f600\N{EM DASH}\a", "AAä😀—\a"),
        (r"\ud83d\ude00", "😀"),
        ('say "hi"', 'say "hi"'),
    ],
)
def test_python_literal_is_read_as_python_reads_it(inner, keystrokes):
    result = parse("json", PYTHON % inner)
    assert result.error == ""
    assert typed(result) == (keystrokes,)
    assert "Python" in result.warning


@pytest.mark.parametrize(
    "reply",
    [
        PYTHON % "echo '' there",
        PYTHON % "echo 'hi' there",
        PYTHON % "a\nb",
        PYTHON % r"\x4",
        PYTHON % r"\N{NO SUCH NAME}",
        PYTHON % r"\U99999999",
        PYTHON.replace("'%s'", "b'ls'"),
        PYTHON.replace("'%s'", "f'{ls}'"),
        PYTHON.replace("'%s'", "'''ls\n'''"),
        PYTHON.replace("'%s'", "('ls')"),
        PYTHON % "ls" + " | {'commands': []}",
        PYTHON.replace("1}]", "1}], 'task_complete': true"),
        PYTHON.replace("1}]", "NaN}]"),
        PYTHON.replace("1}]", "1}], 'plan': 'q'"),
        claim(r'[{"keystrokes": "echo \x41\n", "duration": 1}]', "True"),
        claim('[{"keystrokes": "a\nb", "duration": 1}]', "True"),
    ],
)
def test_python_in_doubt_is_refused(reply):
    result = parse("json", reply)
    assert result.error
    assert result.commands == []


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("0", 0.0), ("1e1", 10.0), ("3600", 3600.0), ("-0.0", 0.0)]
    + [
        (odd, 1.0)
        for odd in ("-1", "true", "false", "null", '"5"', "[]", "{}", "NaN", "-Infinity", "1e400", "9" * 4300)
    ],
)
def test_duration(duration, seconds):
    result = parse("json", command('"ls"', duration))
    assert [each.duration_sec for each in result.commands] == [seconds]
    assert ("Command 1: duration" in result.warning) is (seconds == 1.0)


def test_missing_duration():
    result = parse("json", '{"analysis": "a", "plan": "p", "commands": [{"keystrokes": "x"}, {"keystrokes": "y"}]}')
    assert [each.duration_sec for each in result.commands] == [1.0, 1.0]
    assert result.warning.splitlines() == [f"Command {n}: duration is missing; 1.0 is used." for n in (1, 2)]


@pytest.mark.parametrize(
    ("word", "is_claim", "is_odd"),
    [("true", True, False), ("false", False, False), ('"true"', True, True), ('" TRUE\\n"', True, True)]
    + [
        (odd, False, True)
        for odd in ('"false"', '"False"', '"yes"', '"maybe"', '""', "1", "0", "null", "[]", "[true]", "{}")
    ],
)
def test_task_complete(word, is_claim, is_odd):
    result = parse("json", claim("[]", word))
    assert result.error == ""
    assert result.is_task_complete is is_claim
    assert bool(result.warning) is is_odd


@pytest.mark.parametrize(
    "commands", ["null", '"ls"', "{}", "5", "true", '["ls"]', "[[]]", '[{"keystrokes": 5}]', '[{"duration": 1}]']
)
def test_claim_with_commands_that_cannot_be_read(commands):
    result = parse("json", claim(commands))
    assert result.error == ""
    assert result.is_task_complete
    assert result.commands_unusable
    assert result.commands == []
    assert result.warning


def test_claim_with_one_bad_command_runs_none():
    result = parse("json", claim('[{"keystrokes": "ls", "duration": 1}, {"keystrokes": null, "duration": 1}]'))
    assert result.commands_unusable
    assert result.commands == []
    assert "Command 2" in result.warning


def test_claim_with_commands_runs_them():
    result = parse("json", claim('[{"keystrokes": "ls", "duration": 1}]'))
    assert result.is_task_complete
    assert not result.commands_unusable
    assert typed(result) == ("ls",)


@pytest.mark.parametrize(
    ("reply", "part"),
    [
        ('{"plan": "p", "analysis": "a", "commands": []}', "out of order"),
        ('{"analysis": "a", "plan": "p", "commands": [], "notes": "n", "mood": 1}', 'ignored: "notes", "mood"'),
        (LS.replace('"duration"', '"wait": true, "duration"'), 'Command 1: unknown keys were ignored: "wait"'),
        ('{"analysis": 5, "plan": "p", "commands": []}', "analysis should be a text"),
        (command(r'"a\u0007b\u0085"'), "Command 1: keystrokes hold control characters: U+0007, U+0085."),
        (command('"a &lt; b"'), "Command 1: entities are typed as they stand"),
        (f"{LS} {LS}", "2 times"),
        (LS + " that was it", "after the JSON object was ignored: that was it"),
    ],
)
def test_warning(reply, part):
    result = parse("json", reply)
    assert result.error == ""
    assert part in result.warning


@pytest.mark.parametrize("control", ["\\n", "\\t", "\\r", "\\u001b"])
def test_usual_control_characters_need_no_warning(control):
    assert parse("json", command(f'"a{control}"')).warning == ""


def test_texts():
    result = parse("json", '{"analysis": "it is {x}\\n", "plan": "go \\ud800", "commands": []}')
    assert (result.analysis, result.plan) == ("it is {x}\n", "go \ufffd")
    result = parse("json", '{"analysis": null, "plan": ["a", "ä"], "commands": []}')
    assert (result.analysis, result.plan) == ("", '["a", "ä"]')
    assert len(result.warning.splitlines()) == 2


@pytest.mark.parametrize("rest", ["", "\nand then I", "\n```", "<think>hm"])
def test_cut_behind_the_answer_runs_it(rest):
    result = parse("json", LS + rest, "length")
    assert typed(result) == ("ls\n",)
    assert "cut off" in result.warning


@pytest.mark.parametrize("keystrokes", ["wc -l <f", "cat <file", "a </b", "echo {'"])
def test_a_torn_tag_inside_the_answer_is_its_text(keystrokes):
    assert typed(parse("json", command(f'"{keystrokes}"'), "length")) == (keystrokes,)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        LS[:-1],
        f"{LS}\n{LS}",
        LS + "\n{",
        LS + '\n{"ana',
        LS + ' or {"ana',
        LS + "\n</thi",
        f"<think>{LS}",
        "still thinking",
    ],
)
def test_cut_elsewhere_runs_nothing(reply):
    result = parse("json", reply, "length")
    assert "cut off" in result.error
    assert result.commands == []


def test_many_warnings_stay_short():
    commands = ", ".join(['{"keystrokes": "x"}'] * 5000)
    result = parse("json", f'{{"analysis": "a", "plan": "p", "commands": [{commands}]}}')
    assert len(result.commands) == 5000
    assert len(result.warning.splitlines()) == 21
    assert "4980 more" in result.warning


def test_reasoning_content_is_never_read():
    def read(**parts):
        return PARSERS["json"].parse_response(LLMResponse(**parts))

    assert read(content="", reasoning_content=LS).error
    assert typed(read(content=LS, reasoning_content=RM)) == ("ls\n",)
