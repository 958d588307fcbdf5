"""The response parser ``json``: the model answers with one JSON object."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from terminus_core import ParseResult, ResponseParser
from terminus_plugins.parsers.common.answer import Answer, read_claim, shown
from terminus_plugins.parsers.common.command_list import add_commands, add_text
from terminus_plugins.parsers.common.offered_actions import listed, read_calls
from terminus_plugins.parsers.common.prompt import PromptConfig
from terminus_plugins.parsers.common.reply import REASONING, Reading, Reply, conclude, extra, neighbours, take_apart
from terminus_plugins.parsers.json.text import OBJECT_START, ObjectText, read_object

if TYPE_CHECKING:
    from terminus_core import LLMResponse

_SCANNER = re.compile(f"{REASONING}|{OBJECT_START}", re.IGNORECASE)
_REQUIRED = ("analysis", "plan", "commands")
_KEYS = (*_REQUIRED, "task_complete")

_OFFER = """
- "actions" (optional): a list of objects {"name": …, "arguments": {…}}, performed after the commands; you see \
what came of them together with the next terminal output. These can be asked for:"""


class JsonParser(ResponseParser):
    """Answers of the form ``{"analysis": …, "plan": …, "commands": […], "task_complete": …}``."""

    name: ClassVar[str] = "json"
    error_response_type = "JSON response"
    tools = None

    class Config(PromptConfig):
        """``[parser.json]``."""

    def __init__(self, config: Config | None = None) -> None:
        self._template = (config or self.Config()).template(Path(__file__).with_name("prompt.txt"))

    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        """The first message: format rules, the task, the terminal. Inserted text is never expanded again."""
        offers = f"{_OFFER}{listed(self.actions)}" if self.actions else ""
        return self._template.fill(instruction=instruction, terminal_state=terminal_state, offers=offers)

    def completion_confirmation(self, terminal_output: str) -> str:
        """The question after a first claim of completion."""
        return (
            f"Current terminal state:\n{terminal_output}\n\n"
            "You say that the task is done. Your work is judged as it stands once you confirm, and no turn follows. "
            "Compare it with the task once more. If all of it is done, say so again with "
            '"task_complete": true in your next JSON object. If not, leave "task_complete" out or set it to false, '
            "and go on."
        )

    def parse_response(self, response: LLMResponse) -> ParseResult:
        """Read a reply. Never raises, whatever the model wrote."""
        reply = take_apart(response.content or "", _SCANNER, self._read)
        if not reply.error and _is_nested(reply):
            reply.error = "The JSON object is part of something else; send it alone, as one top-level object."
        return conclude(response, reply, "JSON object")

    def _read(self, text: str, start: int) -> Reading:
        found = read_object(text, start)
        value = found.value
        if value is None:
            return Reading(found.end, error=found.error)
        if "commands" in value or read_claim(value.get("task_complete"))[0]:
            return Reading(found.end, self._answer(value, found, start))
        if "keystrokes" in value:
            return Reading(found.end, error='A command stands outside the "commands" of the JSON object.')
        known = any(key in value for key in _KEYS)
        return Reading(found.end, hint="\n".join(_missing(value) + found.problems) if known else "")

    def _answer(self, value: dict[str, Any], found: ObjectText, start: int) -> Answer:
        is_known = bool(self.actions) and "actions" in value
        answer = _answer({key: each for key, each in value.items() if not is_known or key != "actions"}, found, start)
        if is_known:
            answer.actions, warnings = read_calls(value["actions"])
            answer.warnings += warnings
        return answer


def _answer(value: dict[str, Any], found: ObjectText, start: int) -> Answer:
    answer = Answer(start, found.end, errors=[*found.problems, *_missing(value)], warnings=[*found.repairs])
    if unknown := [f'"{shown(key)}"' for key in value if key not in _KEYS]:
        answer.warnings.append(f"Unknown keys were ignored: {', '.join(unknown[:10])}")
    order = [_KEYS.index(key) for key in value if key in _KEYS]
    if order != sorted(order):
        answer.warnings.append(f"Keys are out of order; expected: {', '.join(_KEYS)}.")
    for part in ("analysis", "plan"):
        add_text(answer, part, value.get(part, ""))
    if "task_complete" in value:
        answer.claim, warning = read_claim(value["task_complete"])
        answer.warnings += [warning] if warning else []
    if "commands" in value:
        add_commands(answer, value["commands"])
    return answer


def _missing(value: dict[str, Any]) -> list[str]:
    missing = [f'"{key}"' for key in _REQUIRED if key not in value]
    return [f"The JSON object lacks {', '.join(missing)}."] if missing else []


def _is_nested(reply: Reply) -> bool:
    is_inside = sum(map(reply.before.count, "{[")) > sum(map(reply.before.count, "}]"))
    is_last_comma = extra(reply.after) == ","
    for answer in reply.answers:
        left, right = neighbours(reply.text, answer.start, answer.end)
        goes_on = right == ":" or (right == "," and not is_last_comma)
        if left in {"{", "["} or goes_on or (is_inside and right in {"}", "]"}):
            return True
    return False
