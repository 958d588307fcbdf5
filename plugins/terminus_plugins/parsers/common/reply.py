"""Finding the one answer in a whole reply: reasoning set aside, prose and code fences skipped, nothing guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from terminus_core import ParseResult
from terminus_plugins.parsers.common.answer import BLANKS, Answer, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from terminus_core import LLMResponse

REASONING = (
    r"(?P<think><(?:think|thinking|reasoning|thought)\s*>)|(?P<unthink></(?:think|thinking|reasoning|thought)\s*>)"
)
"""Tags around a model's own reasoning, for a pattern with ``re.IGNORECASE``."""

UNTHINK = re.compile(r"</(?:think|thinking|reasoning|thought)\s*>", re.IGNORECASE)
"""A closing tag of reasoning, whichever opened it."""
TORN_TAG = re.compile(r"<(?:/?[a-z][^<>]*|/)?\Z", re.IGNORECASE)
"""A tag that the end of the text cuts."""
TORN_OBJECT = re.compile(rf"\{{[{BLANKS}]*(?:[\"'][^\"']*)?\Z")
"""An object of which the end of the text leaves no whole key."""

_FENCE = re.compile(r"(?:`{3,}|~{3,})[ \t]*[\w+.-]*")
_MAX_LINES = 20
_MAX_STARTS = 1_000


@dataclass(slots=True)
class Reading:
    """What was found at one place of a reply.

    Attributes:
        end: where to go on.
        answer: a complete answer.
        error: an answer that began here and is not whole: nothing of the reply may be used.
        hint: why this complete thing is no answer.
    """

    end: int
    answer: Answer | None = None
    error: str = ""
    hint: str = ""


@dataclass(slots=True)
class Reply:
    """A reply, taken apart.

    Attributes:
        text: all of it.
        answers: the complete top-level answers, in order.
        before: text in front of the first answer, reasoning left out.
        after: text behind the first answer, likewise.
        error: why no answer of this reply may be used.
        hint: why there is none.
    """

    text: str
    answers: list[Answer] = field(default_factory=list)
    before: str = ""
    after: str = ""
    error: str = ""
    hint: str = ""


def take_apart(text: str, scanner: re.Pattern[str], read: Callable[[str, int], Reading]) -> Reply:
    """Walk over a reply once.

    Args:
        text: the reply.
        scanner: finds the next :data:`REASONING` tag or possible start of an answer.
        read: reads what starts at such a place, tags inside it included.
    """
    reply = Reply(text)
    prose: tuple[list[str], list[str]] = ([], [])  # before and after the first answer
    position = starts = 0
    while found := scanner.search(text, position):
        prose[bool(reply.answers)].append(text[position : found.start()])
        if found.lastgroup == "think":
            closing = UNTHINK.search(text, found.end())
            if closing is None:
                reply.hint = reply.hint or f"Everything after {shown(found[0])} is reasoning: it is never closed."
                position = len(text)
                break
            position = closing.end()
        elif found.lastgroup == "unthink":  # a lone one: all that went before was reasoning
            reply = Reply(text)
            prose = ([], [])
            position, starts = found.end(), 0
        elif starts == _MAX_STARTS:
            reply.error = reply.error or f"The reply holds more than {_MAX_STARTS} things that look like answers."
            break
        else:
            starts += 1
            reading = read(text, found.start())
            position = reading.end
            reply.error = reply.error or reading.error
            reply.hint = reply.hint or reading.hint
            if reading.answer is None:
                prose[bool(reply.answers)].append(text[found.start() : position])
            else:
                reply.answers.append(reading.answer)
    prose[bool(reply.answers)].append(text[position:])
    reply.before, reply.after = "".join(prose[0]), "".join(prose[1])
    for answer in reply.answers:
        if _is_quoted(text, answer):
            reply.error = reply.error or "The answer stands inside quotes; send it as it is, without them."
    return reply


def conclude(response: LLMResponse, reply: Reply, noun: str) -> ParseResult:
    """Use the one answer of a reply, or say why nothing can be used.

    Args:
        response: what the model sent.
        reply: the same, taken apart.
        noun: what an answer is called in messages.
    """
    was_cut = response.finish_reason == "length"
    if error := _refusal(reply, noun, was_cut=was_cut):
        return ParseResult(error=error)
    answer = reply.answers[0]
    warnings = []
    if was_cut:
        warnings.append(f"The reply was cut off after the {noun}.")
    for where, text in (("before", reply.before), ("after", reply.after)):
        if ignored := extra(text):
            warnings.append(f"Extra text {where} the {noun} was ignored: {shown(ignored)}")
    if len(reply.answers) > 1:
        warnings.append(f"The reply holds the same {noun} {len(reply.answers)} times; it was used once.")
    warning = _lines(warnings + answer.warnings)
    if answer.errors:
        return ParseResult(error=_lines(answer.errors), warning=warning)
    return ParseResult(
        commands=answer.commands,
        is_task_complete=answer.claim,
        warning=warning,
        analysis=answer.analysis,
        plan=answer.plan,
        actions=answer.actions,
        commands_unusable=answer.unusable,
    )


def _refusal(reply: Reply, noun: str, *, was_cut: bool) -> str:
    """Why the reply has not exactly one answer to be used; ``""`` if it has."""
    answers = reply.answers
    if was_cut:
        is_torn = TORN_TAG.search(reply.after) or TORN_OBJECT.search(reply.after)
        if len(answers) == 1 and answers[0].closed and not reply.error and not is_torn:
            return ""
        return f"The reply was cut off before its one {noun} was complete; nothing of it was run. Send a shorter one."
    if not reply.text.strip(BLANKS):
        return f"The reply is empty; expected one {noun}."
    if reply.error or not answers:
        return reply.error or reply.hint or f"The reply holds no {noun} with commands."
    if all(answers[0].asks_the_same_as(other) for other in answers[1:]):
        return ""
    return f"The reply holds {len(answers)} answers that differ; nothing was run. Send exactly one {noun}."


def extra(text: str) -> str:
    """What of a text around answers is more than blanks and the marks of code fences."""
    return _FENCE.sub(" ", text).strip(BLANKS)


def neighbours(text: str, start: int, end: int) -> tuple[str, str]:
    """The characters on both sides of a piece of text, blanks skipped; ``""`` at the edges of the text."""
    start -= 1
    while start >= 0 and text[start] in BLANKS:
        start -= 1
    while end < len(text) and text[end] in BLANKS:
        end += 1
    return text[start] if start >= 0 else "", text[end : end + 1]


def begins_line(text: str, position: int) -> bool:
    """Whether only blanks stand between a position and the start of its line."""
    line = max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1
    return not text[line:position].strip(BLANKS)


def _is_quoted(text: str, answer: Answer) -> bool:
    left, right = neighbours(text, answer.start, answer.end)
    return left == right and left in {"'", '"'}


def _lines(messages: list[str]) -> str:
    left_out = len(messages) - _MAX_LINES
    return "\n".join(messages if left_out <= 0 else [*messages[:_MAX_LINES], f"… and {left_out} more like these."])
