"""The response parser ``tools``: the model answers with native tool calls."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from terminus_core import ActionCall, ParseResult, ResponseParser, ToolCall
from terminus_plugins.parsers.common.answer import BLANKS, Answer, shown
from terminus_plugins.parsers.common.command_list import add_commands, add_text
from terminus_plugins.parsers.common.prompt import PromptConfig
from terminus_plugins.parsers.json.text import read_object
from terminus_plugins.parsers.tools.schema import ARGUMENTS, definitions

if TYPE_CHECKING:
    from terminus_core import LLMResponse


class ToolsParser(ResponseParser):
    """Answers of one or more calls of ``execute_commands``, ``task_complete`` and what else is offered.

    Either every call of an answer can be read, or nothing of it is done.
    """

    name: ClassVar[str] = "tools"
    error_response_type = "tool call"

    class Config(PromptConfig):
        """``[parser.tools]``."""

    def __init__(self, config: Config | None = None) -> None:
        self._template = (config or self.Config()).template(Path(__file__).with_name("prompt.txt"))

    @property
    def tools(self) -> list[dict[str, Any]]:  # type: ignore[override]  # read-only here: it follows from the actions
        """The definitions of what can be called."""
        return definitions(self.actions)

    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        """The first message: rules, the task, the terminal. Inserted text is never expanded again."""
        offers = "".join(f"\n- {action.name}: {action.description}" for action in self.actions)
        return self._template.fill(instruction=instruction, terminal_state=terminal_state, offers=offers)

    def completion_confirmation(self, terminal_output: str) -> str:
        """The question after a first claim of completion."""
        return (
            f"Current terminal state:\n{terminal_output}\n\n"
            "You say that the task is done. Your work is judged as it stands once you confirm, and no turn follows. "
            "Compare it with the task once more. If all of it is done, call task_complete again. If not, go on with "
            "execute_commands."
        )

    def parse_response(self, response: LLMResponse) -> ParseResult:
        """Read the calls. Never raises, whatever the model wrote."""
        if response.finish_reason == "length":
            return ParseResult(error="The answer was cut off; what it holds of tool calls cannot be trusted.")
        calls = _calls(response)
        if not calls:
            return ParseResult(error=f"The answer holds no tool call. Known tools: {self._known()}.")
        claim = any(call.name == "task_complete" for call in calls)
        result = ParseResult(is_task_complete=claim)
        errors: list[str] = []
        warnings: list[str] = []
        for number, call in enumerate(calls, start=1):
            answer = self._read(call, Answer(claim=claim))
            place = f"Call {number} ({shown(call.name)}): " if len(calls) > 1 else ""
            errors += [place + error for error in answer.errors]
            warnings += [place + warning for warning in answer.warnings]
            result.commands += [replace(command, call_id=call.id) for command in answer.commands]
            result.commands_unusable |= answer.unusable
            result.actions += answer.actions
            result.analysis = f"{result.analysis}\n{answer.analysis}".strip("\n")
            result.plan = f"{result.plan}\n{answer.plan}".strip("\n")
        result.analysis = result.analysis or response.content.strip()
        result.warning = "\n".join(warnings)
        return ParseResult(error="\n".join(errors), warning=result.warning) if errors else result

    def recorded_calls(self, response: LLMResponse, reply: ParseResult) -> list[ToolCall]:
        """The calls with the model's own ids and names; commands as the gates left them."""
        recorded = []
        for call in _calls(response):
            arguments = _arguments(call, Answer())
            if "commands" in arguments:
                arguments["commands"] = [
                    {"keystrokes": command.keystrokes, "duration": command.duration_sec}
                    for command in reply.commands
                    if command.call_id == call.id
                ]
            recorded.append(ToolCall(tool_call_id=call.id, function_name=call.name, arguments=arguments))
        return recorded

    def _read(self, call: _Call, answer: Answer) -> Answer:
        """What one call asks for."""
        if call.name not in self._names():
            answer.errors.append(f"There is no tool {shown(call.name)!r}. Known tools: {self._known()}.")
            return answer
        arguments = _arguments(call, answer)
        action = next((each for each in self.actions if each.name == call.name), None)
        if action is not None:
            answer.errors += [] if answer.errors else action.argument_faults(arguments)
            answer.actions = [ActionCall(call.name, arguments, call.id)]
            return answer
        if unknown := [f'"{shown(key)}"' for key in arguments if key not in ARGUMENTS[call.name]]:
            answer.warnings.append(f"Unknown arguments were ignored: {', '.join(unknown[:10])}")
        if not answer.errors and call.name == "execute_commands":
            _read_commands(arguments, answer)
        return answer

    def _names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools]

    def _known(self) -> str:
        return ", ".join(self._names())


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: str


def _calls(response: LLMResponse) -> list[_Call]:
    calls = []
    for call in response.tool_calls or []:
        function = call.get("function") or {}
        arguments = function.get("arguments") or ""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        calls.append(_Call(str(call.get("id", "")), str(function.get("name", "")), text))
    return calls


def _arguments(call: _Call, answer: Answer) -> dict[str, Any]:
    """The arguments of a call; what is wrong or odd about them goes into ``answer``."""
    text = call.arguments.strip(BLANKS)
    if not text:
        return {}
    found = read_object(text, 0) if text.startswith("{") else None
    if found is None or found.value is None or text[found.end :].strip(BLANKS):
        reason = found.error if found and found.error else f"They are: {shown(text)}"
        answer.errors.append(f"The arguments are not one valid JSON object. {reason}")
        return {}
    answer.errors += found.problems
    answer.warnings += found.repairs
    return found.value


def _read_commands(arguments: dict[str, Any], answer: Answer) -> None:
    for part in ("analysis", "plan"):
        if part in arguments:
            add_text(answer, part, arguments[part])
    if "commands" in arguments:
        add_commands(answer, arguments["commands"])
    else:
        answer.errors.append('execute_commands needs "commands", a list.')
