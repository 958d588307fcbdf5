"""Mistakes of authors: each line that says so is reported by type checkers, and no other."""

from __future__ import annotations

from typing import ClassVar

from terminus_core import Agent, Command, Completion, Gate, ParseResult, ResponseParser, Run, SessionEvent, TerminalText


class Lacking(ResponseParser):
    name: ClassVar[str] = "lacking"
    error_response_type = "answer"

    def build_prompt(self, instruction: str, terminal_state: str) -> str:
        return instruction


class Guard(Gate):
    name: ClassVar[str] = "guard"

    def before_commands(self, run: Run, reply: ParseResult) -> ParseResult | str:  # wrong: has to be async
        return reply


def mistakes(run: Run) -> None:
    Lacking()  # wrong: two methods are missing
    Command(7)  # wrong: keystrokes are a text
    Completion()  # wrong: an observation is needed
    TerminalText("x", kind="newest")  # wrong: no such kind
    SessionEvent(0.0, "output", 7)  # wrong: no such data
    Agent(modell="m")  # wrong: no such keyword
    Agent(max_episodes="many")  # wrong: a number
    run.stop("finished")  # wrong: no such status
    run.marks("x")  # wrong: no such act
