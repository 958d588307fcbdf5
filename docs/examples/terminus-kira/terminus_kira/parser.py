"""Answers are native tool calls: ``execute_commands``, ``task_complete``, ``image_read``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from terminus_core import ActionCall, Command, ParseResult, ResponseParser, ToolCall
from terminus_kira.tools import EXECUTE_COMMANDS, TASK_COMPLETE, definition

if TYPE_CHECKING:
    from terminus_core import LLMResponse, Run

PROMPT = """\
You are an engineer at a terminal. Work on the task by calling tools; each answer needs at least one call. What you \
type goes to whatever runs in the foreground, and you see the terminal after each answer. Look before you conclude, \
check what you have made, and call task_complete when all of it is done.

Task:
{instruction}

Terminal:
{terminal_state}"""


class KiraParser(ResponseParser):
    """Reads the calls; one that cannot be read makes the whole answer an error."""

    name: ClassVar[str] = "kira"
    error_response_type = "tool call"

    def __init__(self) -> None:
        self.tools: list[dict[str, Any]] = [EXECUTE_COMMANDS, TASK_COMPLETE]

    def prepare(self, run: Run) -> None:
        """Offer the actions of this run."""
        super().prepare(run)
        self.tools += [definition(each.name, each.description, each.parameters) for each in self.actions]

    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        """The first message."""
        return PROMPT.format(instruction=instruction, terminal_state=terminal_state)

    def completion_confirmation(self, terminal_output: str) -> str:
        """Asked by policies that have no words of their own."""
        return f"{terminal_output}\n\nIf the task is done, call task_complete again."

    def parse_response(self, response: LLMResponse) -> ParseResult:
        """Never raises, whatever the model wrote."""
        result = ParseResult(analysis=response.content.strip())
        if response.finish_reason == "length":
            return ParseResult(error="The answer was cut off.")
        try:
            for call in response.tool_calls or []:
                self._take(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]), result)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            return ParseResult(error=f"A tool call cannot be read: {type(error).__name__}: {error}")
        return result if response.tool_calls else ParseResult(error="The answer holds no tool call.")

    def recorded_calls(self, response: LLMResponse, reply: ParseResult) -> list[ToolCall]:
        """Ids, names and arguments as the model made them, with the commands that the gates left."""
        recorded = []
        for call in response.tool_calls or []:
            arguments = json.loads(call["function"]["arguments"])
            if "commands" in arguments:
                typed = [command for command in reply.commands if command.call_id == call["id"]]
                arguments["commands"] = [
                    {"keystrokes": command.keystrokes, "duration": command.duration_sec} for command in typed
                ]
            name = call["function"]["name"]
            recorded.append(ToolCall(tool_call_id=call["id"], function_name=name, arguments=arguments))
        return recorded

    def _take(self, call_id: str, name: str, arguments: dict[str, Any], result: ParseResult) -> None:
        if name == "execute_commands":
            result.analysis = str(arguments.get("analysis") or result.analysis)
            result.plan = str(arguments.get("plan") or result.plan)
            for command in arguments["commands"]:
                keystrokes, seconds = command["keystrokes"], float(command.get("duration", 1.0))
                if not isinstance(keystrokes, str) or "\0" in keystrokes:
                    raise ValueError("keystrokes must be a text without NUL")
                result.commands.append(Command(keystrokes, seconds, call_id=call_id))
        elif name == "task_complete":
            result.is_task_complete = True
        elif any(action.name == name for action in self.actions):
            result.actions.append(ActionCall(name, arguments, call_id))
        else:
            raise ValueError(f"there is no tool {name!r}")
