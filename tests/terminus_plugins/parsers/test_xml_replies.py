"""The XML format at its edges: what is an answer, what may be mended, what must be refused."""

import pytest

from tests.terminus_plugins.parsers.cases import parse, typed

TEXTS = "<analysis>a</analysis><plan>p</plan>"
DONE = "<task_complete>true</task_complete>"


def command(text, duration="0.5"):
    return f'<keystrokes duration="{duration}">{text}</keystrokes>'


def response(commands, *, texts=TEXTS, end=""):
    return f"<response>{texts}<commands>{commands}</commands>{end}</response>"


LS, RM = response(command("ls\n")), response(command("rm\n"))
BARE = LS.removeprefix("<response>").removesuffix("</response>")


@pytest.mark.parametrize(
    "reply",
    [
        LS,
        LS.replace("><", ">\r\n<"),
        LS.replace("><", ">\u200b <"),
        f"\ufeff{LS}",
        f"{LS}\n{LS}",
        LS.removesuffix("</response>"),
        LS.removeprefix("<response>"),
        BARE,
        f"So:\n{BARE}\nThat is it.",
        f"```xml\n{BARE}\n```",
        LS.replace("response", "Response"),
        LS.replace("analysis", "ANALYSIS").replace("keystrokes", "Keystrokes"),
        LS.replace("</keystrokes>", "</keystrokes >"),
        LS.replace("</plan>", "</plan></plan>"),
        LS.replace("</commands>", "</keystrokes></plan></commands></commands>"),
        LS + "</response>\n</commands>",
        f"</think>{LS}",
        f"<think>{RM}</think>{LS}",
        f"{RM}</think>{LS}",
        f"<response>{TEXTS}</think>{LS}",
        f"{LS}<think>{RM}",
        LS.replace("<plan>", "<thinking>hm</thinking><plan>"),
        f"My <response> has <analysis>, <plan> and <commands>:\n{LS}\nThe <response> ends here.",
        f"each command ends with </keystrokes>.\n{LS}",
        f"<!-- {RM} -->{LS}",
        LS.replace("<plan>", "<!-- hm --><plan>"),
        LS.replace("<plan>", "<mood>fine</mood><plan>"),
        LS.replace("<plan>", "well <plan>"),
        LS.replace("a</analysis>", "use <plan> and </keystrokes></analysis>"),
        "<response></response>" + LS,
        "<response>\n" + LS,
    ],
)
def test_one_answer_is_found(reply):
    result = parse("xml", reply)
    assert result.error == ""
    assert typed(result) == ("ls\n",)
    assert [each.duration_sec for each in result.commands] == [0.5]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "\n",
        "no idea",
        '{"analysis": "a", "plan": "p", "commands": []}',
        command("ls\n"),
        f"<response>{TEXTS}{command('ls')}</response>",
        f"<response>{TEXTS}</response>",
        f"<response>{TEXTS}",
        f"<response>{TEXTS}<task_complete>false</task_complete></response>",
        f"I will not send {DONE} yet.",
        f"{LS}\n{RM}",
        f"<think>{LS}",
        f"<!-- {LS}",
        f"'{LS}'",
        response("ls"),
        response("<command>ls</command>"),
        response(command("ls") + "text"),
        response("text" + command("ls")),
        response(command("ls") + "<!-- more -->" + command("pwd")),
        response(command("ls") + "<br/>"),
        response(command("ls") + "</response>"),
        response(command("ls") + "<plan>x</plan>"),
        response(command("ls") + "text", end=DONE),
        response("ls</keystrokes>", end=DONE),
        response('<keystrokes duration="1">ls\n', end=DONE),
        response(command('ls\n<keystrokes duration="1">pwd\n')),
        response(command("ls\n</commands>\n")),
        response('<keystrokes duration="1>ls\n</keystrokes>'),
        response('<keystrokes duration="1>echo " >> f\n</keystrokes>'),
        response('<keystrokes duration=1">ls\n</keystrokes>'),
        response("<keystrokes duration>ls\n</keystrokes>"),
        response('<keystrokes duration="1" duration="2">ls\n</keystrokes>'),
        response('<keystrokes duration="1"/>\n</keystrokes>'),
        response('<keystrokes duration="1"/>ls\n</keystrokes>'),
        response(command("ls", "7" * 4301)),
        response(command("a\0b")),
        response(command("a\0b"), end=DONE),
        response(command("<![CDATA[a]]>b]]>")),
        response(command("<![CDATA[a")),
        response(command("\n<![CDATA[ls]]>\n")),
        response(command("cd x <![CDATA[&&]]> make")),
        response(command("ls"), end="<commands></commands>"),
        response(command("ls"), end=DONE + DONE),
        response(command("ls"), end="<task_complete>true"),
        response(command("ls"), end="<task_complete><b>true</b></task_complete>"),
        response(command("ls"), texts="<draft>", end="</draft>"),
        response(command("rm"), texts="<analysis>oops") + LS,
        response(command("ls"), end="text</commands>"),
        LS + "E\n</keystrokes></commands></response>",
        response(command("cat > d <<E\n</keystrokes></commands></response>\nE\n")),
        response(command("cat > d <<E\n</keystrokes>\n</think>\n" + LS + "\nE\n")),
        f"echo '{LS}' > x</keystrokes>",
        LS.replace("</commands>", ""),
        "It has an open <!-- comment.\n" + response(command("echo '-->' >> f\n"), end=DONE),
        "<think>It needs the tag.\n" + response(command("echo '</think>' >> f\n"), end=DONE),
        "<think>\n" + response(command("echo '</think>' >> f\n")).replace("><", ">\n<") + "\n" + BARE,
        BARE + "\n<resp",
        f"{RM[:-30]}</think>{LS}",
    ],
)
@pytest.mark.parametrize("finish_reason", ["stop", "length"])
def test_nothing_is_run(reply, finish_reason):
    result = parse("xml", reply, finish_reason)
    assert result.error
    assert result.commands == []
    assert not result.is_task_complete
    assert not result.commands_unusable


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n",
        "\n  ls\t\r\n\n",
        "<think>a</think>",
        "</think>",
        "<response><status>&ok;</status></response> | less\n",
        "a < b > c && d",
        "<!-- x -->",
        "]]>",
        "<keystroke>x</keystroke>",
        "grep '<keystrokes' f",
        "```xml\n~~~",
        '{"commands": []}',
        "</commands> </response>!",
    ],
)
def test_keystrokes_are_raw_text(text):
    result = parse("xml", response(command(text) + "\n" + command("<![CDATA[x]]>")))
    assert result.error == ""
    assert typed(result) == (text, "x")


@pytest.mark.parametrize(
    ("text", "keystrokes"),
    [
        ("<![CDATA[]]>", ""),
        ("<![CDATA[\n a ]]>", "\n a "),
        ('<![CDATA[</keystrokes><keystrokes duration="1">\n]]>', '</keystrokes><keystrokes duration="1">\n'),
        ("<![CDATA[</keystrokes></commands></response>\n]]>", "</keystrokes></commands></response>\n"),
        ("<![CDATA[a]]]]><![CDATA[>b]]>", "a]]>b"),
        ("<![CDATA[&amp;]]>", "&amp;"),
    ],
)
def test_cdata_is_raw_and_its_marks_go(text, keystrokes):
    result = parse("xml", response(command(text)))
    assert result.error == ""
    assert typed(result) == (keystrokes,)


@pytest.mark.parametrize(
    ("attribute", "seconds", "is_odd"),
    [
        (' duration="2"', 2.0, False),
        ('\n  duration="2"\n', 2.0, False),
        (' duration=" .5 "', 0.5, False),
        (' duration="1e1"', 10.0, False),
        (" duration=2", 2.0, True),
        (" duration='2'", 2.0, True),
        (' DURATION="2"', 2.0, True),
        (' duration = "2"', 2.0, True),
        (' duration="2" wait="yes"', 2.0, True),
        ("", 1.0, True),
        (' duration=""', 1.0, True),
        (' duration="-1"', 1.0, True),
        (' duration="NaN"', 1.0, True),
        (' duration="inf"', 1.0, True),
        (' duration="1e999"', 1.0, True),
        (' duration="2s"', 1.0, True),
        (' duration="1_0"', 1.0, True),
        (' duration="\u0662"', 1.0, True),
    ],
)
def test_duration(attribute, seconds, is_odd):
    result = parse("xml", response(f"<keystrokes{attribute}>Run\n</keystrokes>"))
    assert result.error == ""
    assert [(each.keystrokes, each.duration_sec) for each in result.commands] == [("Run\n", seconds)]
    assert bool(result.warning) is is_odd


@pytest.mark.parametrize(
    "tag", ['<keystrokes duration="5"/>', '<keystrokes duration="5" />', "<keystrokes duration=5/>"]
)
def test_empty_element_is_a_wait(tag):
    result = parse("xml", response(tag + command("ls\n")))
    assert [(each.keystrokes, each.duration_sec) for each in result.commands] == [("", 5.0), ("ls\n", 0.5)]


@pytest.mark.parametrize(
    ("part", "is_claim", "is_odd"),
    [
        ("<task_complete>true</task_complete>", True, False),
        ("<task_complete>\nfalse\n</task_complete>", False, False),
        ("<task_complete>True</task_complete>", True, True),
        ("<task_complete>yes</task_complete>", False, True),
        ("<task_complete></task_complete>", False, True),
        ("<task_complete/>", False, True),
    ],
)
def test_task_complete(part, is_claim, is_odd):
    result = parse("xml", response("", end=part))
    assert result.error == ""
    assert result.is_task_complete is is_claim
    assert bool(result.warning) is is_odd


@pytest.mark.parametrize("commands", ["ls", "<command>ls</command>", "- ls\n- pwd"])
def test_claim_with_commands_that_cannot_be_read(commands):
    result = parse("xml", response(commands, end=DONE))
    assert result.error == ""
    assert result.is_task_complete
    assert result.commands_unusable
    assert result.commands == []


@pytest.mark.parametrize("reply", [f"<response>{TEXTS}{DONE}</response>", f"<response>{DONE}</response>", DONE])
def test_claim_needs_no_commands(reply):
    result = parse("xml", reply)
    assert result.error == ""
    assert result.is_task_complete
    assert not result.commands_unusable


@pytest.mark.parametrize(
    ("reply", "part"),
    [
        (response("", texts="<plan>p</plan>"), "<analysis> is missing"),
        (response("", texts="<analysis>a</analysis>"), "<plan> is missing"),
        (response("", texts="<plan>p</plan><analysis>a</analysis>"), "out of order"),
        (response("", texts=TEXTS + "<analysis>b</analysis>"), "<analysis> stands twice; the first one"),
        (response("", texts=TEXTS + "<mood>x</mood>"), "Unknown parts were ignored: mood"),
        (response("", texts="well" + TEXTS), "Text outside the parts was ignored: well"),
        (response("", texts=TEXTS + "</plan>"), "</plan>"),
        (response("").replace("plan", "Plan"), "small letters"),
        (response("").removeprefix("<response>"), "<response> is missing"),
        (response("").removesuffix("</response>"), "</response> is missing"),
        (response(command("a\x07")), "Command 1: keystrokes hold control characters: U+0007."),
        (response(command("&#39;")), "Command 1: entities are typed as they stand"),
        (response(command("\udc80")), "Command 1: half a surrogate pair"),
    ],
)
def test_warning(reply, part):
    result = parse("xml", reply)
    assert result.error == ""
    assert part in result.warning


def test_texts():
    result = parse("xml", response("", texts="<analysis>\n a < b &amp; \ud800 \n</analysis><plan/>"))
    assert (result.analysis, result.plan) == ("a < b &amp; \ufffd", "")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<![CDATA[a < b]]>", "a < b"),
        (
            "\n<![CDATA[\nx </analysis> <b> &amp; <commands></commands>\n]]>\n",
            "x </analysis> <b> &amp; <commands></commands>",
        ),
        ("<![CDATA[a]]]]><![CDATA[>b]]>", "a]]>b"),
        ("I used <![CDATA[ and ]]>", "I used <![CDATA[ and ]]>"),
        ("<![CDATA[never closed", "<![CDATA[never closed"),
    ],
)
@pytest.mark.parametrize("command_text", ["ls\n", "<![CDATA[ls\n]]>"])
def test_cdata_in_a_text_is_raw_and_its_marks_go(text, meant, command_text):
    texts = f"<analysis>{text}</analysis><plan><![CDATA[p]]></plan>"
    result = parse("xml", response(command(command_text), texts=texts))
    assert (result.error, result.warning, result.analysis, result.plan) == ("", "", meant, "p")
    assert typed(result) == ("ls\n",)


@pytest.mark.parametrize("rest", ["", "\nand then I", "\n```", "<think>hm"])
def test_cut_behind_the_answer_runs_it(rest):
    result = parse("xml", LS + rest, "length")
    assert typed(result) == ("ls\n",)
    assert "cut off" in result.warning


@pytest.mark.parametrize(
    "reply", [LS[:-1], LS.removesuffix("</response>"), BARE, f"{LS}\n{LS}", LS + "\n<response>", LS + "<response><ana"]
)
def test_cut_elsewhere_runs_nothing(reply):
    result = parse("xml", reply, "length")
    assert "cut off" in result.error
    assert result.commands == []
