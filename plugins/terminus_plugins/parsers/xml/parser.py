"""The response parser ``xml``: the model answers with one ``<response>``, keystrokes as raw text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from terminus_core import ParseResult, ResponseParser
from terminus_plugins.parsers.common.answer import shown
from terminus_plugins.parsers.common.offered_actions import listed
from terminus_plugins.parsers.common.prompt import PromptConfig
from terminus_plugins.parsers.common.reply import REASONING, conclude, take_apart
from terminus_plugins.parsers.xml.tags import ANSWER_START, CLOSING_TAG
from terminus_plugins.parsers.xml.text import read_response

if TYPE_CHECKING:
    from terminus_core import LLMResponse

_SCANNER = re.compile(f"{REASONING}|{ANSWER_START}", re.IGNORECASE)


_OFFER = """
- <action name="NAME">arguments as a JSON object</action> (optional, any number): performed after the commands; you \
see what came of them together with the next terminal output. These can be asked for:"""


class XmlParser(ResponseParser):
    """Answers of the form ``<response><analysis>…<plan>…<commands>…<task_complete>…</response>``."""

    name: ClassVar[str] = "xml"
    error_response_type = "response"
    tools = None

    class Config(PromptConfig):
        """``[parser.xml]``."""

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
            "<task_complete>true</task_complete> in your next <response>. If not, leave <task_complete> out or set it "
            "to false, and go on."
        )

    def parse_response(self, response: LLMResponse) -> ParseResult:
        """Read a reply. Never raises, whatever the model wrote."""
        reply = take_apart(response.content or "", _SCANNER, read_response)
        stray = CLOSING_TAG.search(reply.after)
        if reply.answers and not reply.text[reply.answers[0].start :].lower().startswith("<response"):
            # The root may have gone with a comment or reasoning that a command was to close.
            stray = CLOSING_TAG.search(reply.before) or stray
        if stray and not reply.error:
            # A command that was to write such tags may have been taken for a whole answer.
            tag = shown(stray[0])
            reply.error = f"Text stands between the answer and a further {tag}; keep all of it inside <response>."
        return conclude(response, reply, "<response>")
