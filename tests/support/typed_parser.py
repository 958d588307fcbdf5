"""A parser that types whatever the model says, as one command."""

from __future__ import annotations

from terminus_core import Command, ParseResult, ResponseParser


class TypedParser(ResponseParser):
    name = "typed"
    error_response_type = "text"

    def build_prompt(self, instruction, terminal_state):
        return f"{instruction}\n{terminal_state}"

    def parse_response(self, response):
        return ParseResult([Command(response.content + "\n", 0.0)])

    def completion_confirmation(self, terminal_output):
        return terminal_output
