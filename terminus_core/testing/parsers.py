r"""The conformance suite of response parsers.

An author's whole test file::

    class TestShout(ResponseParserTests):
        @pytest.fixture
        def parser(self):
            return ShoutParser()

        def answer(self, commands, *, claim=False):
            return LLMResponse("\n".join(command.keystrokes for command in commands))
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from terminus_core import Command, LLMResponse, ParseResult, ResponseParser, ToolCall
from terminus_core.testing.doubles import FakeLLM
from terminus_core.testing.suite import ConformanceSuite, needs
from terminus_core.testing.trial import TASK, Trial

KEYSTROKES = (
    "ls -la\n",
    "printf '%s' \"$HOME\" | grep -c 'a\\b' > out.txt\n",
    "cat > a.py <<'END'\ndef f(x):\n\treturn {'k': [x]}\nEND\n",
    "echo '<think>{\"commands\": []}</think>' && echo é✓日本\n",
    "C-c",
    "y",
)
"""What parsers of any text have to bring through."""
PARTS = (
    "",
    " \n\t",
    "{",
    "}",
    "[",
    "<",
    "</",
    "```",
    '"',
    "\\",
    "\0",
    "\\ud83d",
    "\ufeff",
    "\x1b[A",
    "null",
    "<think>",
    "</think>",
    '{"commands": [{"keystrokes": "ls\\n", "duration": -1}], "task_complete": "perhaps"}',
    "<response><commands><keystrokes duration='x'>ls\n</keystrokes></commands>",
)
"""Pieces of the messes that a model may write."""
LENGTH = 200_000
SECONDS = 5.0
"""Processor time that so many characters may take: generous, because what is not linear takes minutes."""


class ResponseParserTests(ConformanceSuite):
    """What every parser must do, by capability."""

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "any_text": "keystrokes can be any text, several lines included",
        "claims": "an answer can claim completion",
        "durations": "each command can have a duration of its own",
        "native_tools": "answers are native tool calls",
        "several_commands": "an answer can hold several commands",
    }
    complete_capabilities: ClassVar[frozenset[str]] = frozenset(known_capabilities) - {"native_tools"}
    plain_keystrokes: ClassVar[str] = "echo one\n"
    """Keystrokes that an answer of the format can hold, for parsers without ``any_text``."""

    @pytest.fixture
    def parser(self) -> ResponseParser:
        """The parser under test. Override this one."""
        raise NotImplementedError("override the fixture `parser`")

    def answer(self, commands: Sequence[Command], *, claim: bool = False) -> LLMResponse:
        """A correct answer of the format that asks for ``commands`` and, with ``claim``, claims completion.

        Override this one. It is asked only for what the declared capabilities allow; ``commands`` may be empty where
        ``claim`` is set.
        """
        raise NotImplementedError("override the method `answer`")

    # -- words ---------------------------------------------------------------------------------------------------------

    def test_it_has_a_name_and_a_word_for_its_answers(self, parser: ResponseParser) -> None:
        """One line each; the word stands in the request for a better answer."""
        for text in (parser.name, parser.error_response_type):
            assert isinstance(text, str)
            assert text.strip() == text != ""
            assert "\n" not in text

    def test_the_prompt_shows_task_and_terminal(self, parser: ResponseParser) -> None:
        """As they are: nothing in them is a placeholder, whichever comes first."""
        odd = "{instruction} {terminal_state} {0} {} %s %(x)s $x ${x} \\1 \\g<0> {{}} <response> ```"
        for instruction, terminal in (("Bake 7 rolls.", "$ oven-on"), (f"task {odd}", f"screen {odd}")):
            prompt = parser.build_prompt(instruction, terminal)
            assert prompt.count(instruction) == 1
            assert prompt.count(terminal) == 1

    def test_the_prompt_is_always_the_same(self, parser: ResponseParser) -> None:
        """Trajectories name the prompt by a checksum of the one without task and terminal."""
        assert parser.build_prompt("", "") == parser.build_prompt("", "") != ""

    def test_the_question_shows_the_terminal(self, parser: ResponseParser) -> None:
        """And says more than that."""
        terminal = "New Terminal Output:\n$ {x} %s"
        question = parser.completion_confirmation(terminal)
        assert terminal in question
        assert len(question) > len(terminal) + 10

    # -- answers -------------------------------------------------------------------------------------------------------

    def test_a_command_comes_out_as_it_was_meant(self, parser: ResponseParser) -> None:
        """Exactly the keystrokes, without error or warning."""
        for keystrokes in self._keystrokes:
            reply = parser.parse_response(self.answer([Command(keystrokes)]))
            assert (reply.error, reply.warning, reply.is_task_complete) == ("", "", False)
            assert [command.keystrokes for command in reply.commands] == [keystrokes]

    @needs("several_commands")
    def test_several_commands_keep_their_order(self, parser: ResponseParser) -> None:
        """None twice, none lost."""
        keystrokes = [*self._keystrokes, *reversed(self._keystrokes)]
        reply = parser.parse_response(self.answer([Command(each) for each in keystrokes]))
        assert reply.error == ""
        assert [command.keystrokes for command in reply.commands] == keystrokes

    @needs("durations")
    def test_durations_are_seconds(self, parser: ResponseParser) -> None:
        """Whole ones and parts of them."""
        for seconds in (0.0, 0.1, 2.0, 45.5):
            reply = parser.parse_response(self.answer([Command(self.plain_keystrokes, seconds)]))
            assert [command.duration_sec for command in reply.commands] == [seconds]

    @needs("claims")
    def test_a_claim_is_one(self, parser: ResponseParser) -> None:
        """With commands and without."""
        for commands in ([], [Command(self.plain_keystrokes)]):
            reply = parser.parse_response(self.answer(commands, claim=True))
            assert reply.error == ""
            assert reply.is_task_complete
            assert not reply.commands_unusable
            assert [command.keystrokes for command in reply.commands] == [each.keystrokes for each in commands]

    def test_nothing_is_remembered(self, parser: ResponseParser) -> None:
        """The same answer gives the same result, whatever came between."""
        answer = self.answer([Command(self.plain_keystrokes)])
        first = parser.parse_response(answer)
        for mess in PARTS:
            parser.parse_response(LLMResponse(mess))
        assert _told(parser.parse_response(answer)) == _told(first)

    def test_reading_changes_no_answer(self, parser: ResponseParser) -> None:
        """The same object goes into the chat and to observers."""
        answer = self.answer([Command(self.plain_keystrokes)])
        before = repr(answer)
        parser.parse_response(answer)
        assert repr(answer) == before

    # -- what is no answer ---------------------------------------------------------------------------------------------

    def test_any_text_is_read(self, parser: ResponseParser) -> None:
        """No exception; a result that can be used, or an error and nothing else."""
        whole = self.answer([Command(self.plain_keystrokes)])
        texts = [*PARTS, *(a + b for a in PARTS for b in PARTS), whole.content * 2, whole.content[::-1]]
        for reason in (None, "stop", "length"):
            for text in texts:
                _check(parser.parse_response(LLMResponse(text, finish_reason=reason)))

    def test_any_tool_calls_are_read(self, parser: ResponseParser) -> None:
        """Also from a model that calls what nobody offered, and in forms that no model should use."""
        names = [tool["function"]["name"] for tool in getattr(parser, "tools", None) or ()]
        for name in [*names, "no_such_tool", ""]:
            for arguments in ("", "{", "null", "[]", '{"x": 1}', '{"commands": 7}', '{"commands": [{}]}'):
                call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
                _check(parser.parse_response(LLMResponse("", tool_calls=[call])))
        for odd in ({}, {"id": None, "function": None}, {"function": {"name": "x"}}):
            _check(parser.parse_response(LLMResponse("", tool_calls=[odd])))

    def test_nothing_said_types_nothing(self, parser: ResponseParser) -> None:
        """And is no silent success: the model is told."""
        for text in ("", " \n"):
            reply = parser.parse_response(LLMResponse(text))
            assert not reply.commands
            assert not reply.is_task_complete
            assert reply.error

    def test_a_cut_answer_types_nothing(self, parser: ResponseParser) -> None:
        """Not even the commands that are whole: the model meant the rest too."""
        commands = [Command(each) for each in self._keystrokes] if "several_commands" in self.capabilities else []
        answer = self.answer(commands or [Command(max(self._keystrokes, key=len))])
        for share in range(0, 100, 4):
            reply = parser.parse_response(_cut(answer, share / 100))
            assert reply.commands == []
            assert reply.error

    def test_reasoning_is_never_obeyed(self, parser: ResponseParser) -> None:
        """What a model only thought of is not typed."""
        thought = self.answer([Command(self.plain_keystrokes)]).content or self.plain_keystrokes
        reply = parser.parse_response(LLMResponse("", reasoning_content=thought))
        assert reply.commands == []

    def test_a_long_text_is_read_at_once(self, parser: ResponseParser) -> None:
        """Whatever it is made of."""
        whole = self.answer([Command(self.plain_keystrokes)]).content
        for piece in filter(None, [*PARTS, whole]):
            started = time.process_time()
            parser.parse_response(LLMResponse(piece * (LENGTH // len(piece))))
            assert time.process_time() - started < SECONDS, f"{piece!r} takes long"

    # -- native tool calls ---------------------------------------------------------------------------------------------

    def test_native_tools_are_there_if_declared(self, parser: ResponseParser) -> None:
        """In OpenAI's form, with names that providers accept."""
        tools = getattr(parser, "tools", None)
        assert bool(tools) == ("native_tools" in self.capabilities)
        for tool in tools or ():
            assert tool["type"] == "function"
            assert tool["function"]["name"].replace("_", "").replace("-", "").isalnum()
            assert tool["function"]["parameters"]["type"] == "object"

    @needs("native_tools")
    def test_native_calls_keep_their_ids(self, parser: ResponseParser) -> None:
        """Commands know their call; records have the model's own ids and names, commands as gates left them."""
        answer = self.answer([Command(self.plain_keystrokes)])
        reply = parser.parse_response(answer)
        ids = [call["id"] for call in answer.tool_calls or ()]
        assert {command.call_id for command in reply.commands} <= set(ids) - {""}
        changed = replace(reply, commands=[replace(each, keystrokes="changed\n") for each in reply.commands])
        recorded: list[ToolCall] = parser.recorded_calls(answer, changed)
        assert [call.tool_call_id for call in recorded] == ids
        assert [call.function_name for call in recorded] == [
            call["function"]["name"] for call in answer.tool_calls or ()
        ]
        told = str([call.arguments for call in recorded])
        assert "changed" in told
        assert self.plain_keystrokes.strip() not in told

    # -- in a run ------------------------------------------------------------------------------------------------------

    async def test_a_run(self, parser: ResponseParser, tmp_path: Path) -> None:
        """A bad answer, a good one, then nothing: the loop repairs, types, and goes on."""
        good = self.answer([Command(self.plain_keystrokes)])
        claim = [self.answer([], claim=True)] * 2 if "claims" in self.capabilities else []
        llm = FakeLLM(["", good, *claim])
        trial = Trial(llm=llm, parser=parser, logs_dir=tmp_path / "run", max_episodes=2 + len(claim))
        result = await trial.run()
        assert result.status == ("completed" if claim else "max_episodes")
        assert trial.typed == [self.plain_keystrokes]
        first, repair = (str(messages[-1]["content"]) for messages in llm.requests[:2])
        assert TASK in first
        assert repair.startswith("Previous response had parsing errors:\nERROR: ")
        assert repair.endswith(f"provide a proper {parser.error_response_type}.")

    @property
    def _keystrokes(self) -> Sequence[str]:
        return KEYSTROKES if "any_text" in self.capabilities else (self.plain_keystrokes,)


def _cut(answer: LLMResponse, share: float) -> LLMResponse:
    """What is there of an answer when a share of it has come."""
    calls: list[dict[str, Any]] = []
    for call in answer.tool_calls or ():
        arguments = call["function"]["arguments"]
        calls.append({**call, "function": {**call["function"], "arguments": arguments[: int(len(arguments) * share)]}})
    content = answer.content[: int(len(answer.content) * share)]
    return replace(answer, content=content, tool_calls=calls or None, finish_reason="length")


def _told(reply: ParseResult) -> tuple[object, ...]:
    """A result without its actions, which need not compare."""
    return replace(reply, actions=[]), [(action.name, action.arguments) for action in reply.actions]


def _check(reply: ParseResult) -> None:
    """Whether a result is one that the loop can use."""
    if reply.error:
        assert not reply.commands
        assert not reply.actions
    assert not reply.commands_unusable or reply.is_task_complete
    assert isinstance(reply.is_task_complete, bool)
    for command in reply.commands:
        assert math.isfinite(command.duration_sec)
        assert command.duration_sec >= 0
        assert "\0" not in command.keystrokes
    for text in (reply.error, reply.warning, reply.analysis, reply.plan, *(each.keystrokes for each in reply.commands)):
        text.encode()
