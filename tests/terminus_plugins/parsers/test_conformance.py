"""The parsers pass the suite that other people's parsers run."""

import json

import pytest

from terminus_core import LLMResponse
from terminus_core.testing import ResponseParserTests
from terminus_plugins.parsers.json.parser import JsonParser
from terminus_plugins.parsers.tools.parser import ToolsParser
from terminus_plugins.parsers.xml.parser import XmlParser


def listed(commands):
    return [{"keystrokes": command.keystrokes, "duration": command.duration_sec} for command in commands]


class TestJson(ResponseParserTests):
    capabilities = ResponseParserTests.complete_capabilities

    @pytest.fixture
    def parser(self):
        return JsonParser()

    def answer(self, commands, *, claim=False):
        answer = {"analysis": "a", "plan": "p", "commands": listed(commands), "task_complete": claim}
        return LLMResponse(json.dumps(answer))


class TestXml(ResponseParserTests):
    capabilities = ResponseParserTests.complete_capabilities

    @pytest.fixture
    def parser(self):
        return XmlParser()

    def answer(self, commands, *, claim=False):
        elements = "".join(
            f'<keystrokes duration="{command.duration_sec}"><![CDATA[{command.keystrokes}]]></keystrokes>'
            for command in commands
        )
        done = "<task_complete>true</task_complete>" if claim else ""
        return LLMResponse(
            f"<response><analysis>a</analysis><plan>p</plan><commands>{elements}</commands>{done}</response>"
        )


class TestTools(ResponseParserTests):
    capabilities = frozenset(ResponseParserTests.known_capabilities)

    @pytest.fixture
    def parser(self):
        return ToolsParser()

    def answer(self, commands, *, claim=False):
        asked = {"execute_commands": {"analysis": "a", "plan": "p", "commands": listed(commands)}} if commands else {}
        asked |= {"task_complete": {}} if claim else {}
        calls = [
            {"id": f"id-{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments in asked.items()
        ]
        return LLMResponse("", tool_calls=calls, finish_reason="tool_calls")
