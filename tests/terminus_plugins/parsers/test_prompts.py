"""The prompts: what they tell the model, and templates of the user's own."""

import pytest
from pydantic import ValidationError

from terminus_core import ParseResult
from terminus_plugins.parsers import json as json_parser
from terminus_plugins.parsers import xml as xml_parser
from tests.terminus_plugins.parsers.cases import parse, typed

PARSERS = [json_parser.JsonParser, xml_parser.XmlParser]
KEYS = [
    *("C-x", "M-x", "C-M-x", "Enter", "Escape", "Tab", "BTab", "BSpace", "Space", "Up", "Down", "Left", "Right"),
    *("Home", "End", "PageUp", "PageDown", "PPage", "NPage", "IC", "DC", "F1", "F12"),
]
NASTY = (
    'Write {"name": "x"} to cfg.json, then run awk \'{print $1}\' {0} {instruction} {terminal_state!r} ${HOME} {{}} %s'
)

every_parser = pytest.mark.parametrize("parser", PARSERS, ids=["json", "xml"])


def test_registered_names():
    assert json_parser.terminus_register_response_parsers() == [json_parser.JsonParser]
    assert xml_parser.terminus_register_response_parsers() == [xml_parser.XmlParser]
    assert [parser.name for parser in PARSERS] == ["json", "xml"]
    assert [parser().error_response_type for parser in PARSERS] == ["JSON response", "response"]
    assert [parser().tools for parser in PARSERS] == [None, None]


@every_parser
def test_prompt_explains_the_contract(parser):
    prompt = parser().build_prompt("TASK", "SCREEN")
    for word in (
        "analysis",
        "plan",
        "commands",
        "keystrokes",
        "duration",
        "task_complete",
        "seconds",
        "60",
        "confirm",
        *KEYS,
    ):
        assert word in prompt
    assert prompt.index("TASK") < prompt.index("SCREEN")


def test_json_prompt_shows_a_valid_answer():
    prompt = json_parser.JsonParser().build_prompt("", "")
    example = prompt[prompt.index("\n{\n") : prompt.index("\n}\n") + 2]
    result = parse("json", example)
    assert (result.error, result.warning) == ("", "")
    assert typed(result) == ("cd src\n", "make test\n")


def test_xml_prompt_shows_a_valid_answer():
    prompt = xml_parser.XmlParser().build_prompt("", "")
    example = prompt[prompt.index("<response>\n") : prompt.index("</response>") + len("</response>")]
    result = parse("xml", example)
    assert (result.error, result.warning) == ("", "")
    assert typed(result) == ("cd src\n", "make test\n")


@pytest.mark.parametrize(
    "text", [pytest.param(NASTY, id="cl-02"), "{instruction}", "{terminal_state}", "{", "}}", "$x"]
)
@every_parser
def test_inserted_text_stays_as_it_is(parser, text):
    empty = parser().build_prompt("", "")
    for prompt in (parser().build_prompt(text, ""), parser().build_prompt("", text)):
        assert text in prompt
        assert len(prompt) == len(empty) + len(text)
    assert parser().build_prompt(text, text).count(text) == 2 + empty.count(text)
    assert parser().completion_confirmation(text).count(text) == 1 + parser().completion_confirmation("").count(text)


@every_parser
def test_confirmation_shows_the_terminal_and_says_how_to_confirm(parser):
    question = parser().completion_confirmation("$ make\nok")
    assert question.startswith("Current terminal state:\n$ make\nok\n")
    word = '"task_complete": true' if parser.name == "json" else "<task_complete>true</task_complete>"
    assert word in question


@every_parser
def test_prompt_file(parser, tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text('Do {instruction} as {{"x": {{}}}}: ä\n{terminal_state}\n{instruction}', encoding="utf-8")
    own = parser(parser.Config(prompt_file=file))
    file.unlink()  # read once, when the settings were
    assert own.build_prompt("{a}", "b") == 'Do {a} as {"x": {}}: ä\nb\n{a}'


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{instruction}", "placeholder {terminal_state} is missing"),
        ("{terminal_state} {{instruction}}", "placeholder {instruction} is missing"),
        ("{instruction} {terminal_state} {task}", "unknown placeholder {task}"),
        ("{instruction} {terminal_state} {}", "unknown placeholder {}"),
        ("{instruction} {terminal_state} {0}", "unknown placeholder {0}"),
        ("{instruction!r} {terminal_state}", "unknown placeholder {instruction!r}"),
        ("{instruction} {terminal_state:>5}", "unknown placeholder {terminal_state:>5}"),
        ("{instruction.x} {terminal_state}", "unknown placeholder {instruction.x}"),
        ('{instruction} {terminal_state} {"analysis": "x"}', "write a literal brace twice: {{ or }}"),
        ("{instruction} {terminal_state} }", "write a literal brace twice: {{ or }}"),
        ("{instruction} {terminal_state} {", "write a literal brace twice: {{ or }}"),
    ],
)
@every_parser
def test_bad_prompt_file_is_refused_at_load(parser, text, part, tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text(text)
    with pytest.raises(ValidationError) as caught:
        parser.Config(prompt_file=file)
    (error,) = caught.value.errors()
    assert part in error["msg"]
    assert str(file) in error["msg"]
    assert "\n" not in error["msg"]


@every_parser
def test_prompt_file_that_cannot_be_read(parser, tmp_path):
    (tmp_path / "latin").write_bytes(b"\xff{instruction}{terminal_state}")
    for file in (tmp_path / "missing", tmp_path, tmp_path / "latin"):
        with pytest.raises(ValidationError, match=str(file)):
            parser.Config(prompt_file=file)


@every_parser
def test_unknown_setting_is_refused(parser):
    with pytest.raises(ValidationError, match="promt_file"):
        parser.Config(promt_file="x")


def test_empty_content():
    for parser in ("json", "xml"):
        assert isinstance(parse(parser, None), ParseResult)
        assert "empty" in parse(parser, None).error
