"""The response parser ``echo``: what the model says is typed, and Enter is pressed after it."""

from __future__ import annotations

from typing import ClassVar

from terminus_core import Command, LLMResponse, ParseResult, ResponseParser, hookimpl

PROMPT = (
    "What you write is typed into a Linux terminal as it stands. Write DONE, alone, when the task is done.\n\nTask:\n"
)


class EchoParser(ResponseParser):
    """One answer, one command."""

    name: ClassVar[str] = "echo"
    error_response_type = "command line"

    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        """The first message."""
        return f"{PROMPT}{instruction}\n\n{terminal_state}"

    def parse_response(self, response: LLMResponse) -> ParseResult:
        """Read a reply. A cut one is not typed: half a command can do harm."""
        text = response.content.removesuffix("\n")
        if response.finish_reason == "length":
            return ParseResult(error="The answer was cut off, so it was not typed. Write a shorter one.")
        if not text.strip() or "\0" in text:
            return ParseResult(error="There is nothing that can be typed.")
        if text.strip() == "DONE":
            return ParseResult(is_task_complete=True)
        return ParseResult(commands=[Command(f"{text}\n")])

    def completion_confirmation(self, terminal_output: str) -> str:
        """The question after a first claim."""
        return f"{terminal_output}\n\nIs the task done? Write DONE once more, or the next command."


@hookimpl
def terminus_register_response_parsers() -> list[type[ResponseParser]]:
    """Bring ``echo``."""
    return [EchoParser]
