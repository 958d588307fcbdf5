"""Texts that the loop puts together for the model: headings, limits, time-outs, feedback. Pure functions."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from terminus_core.secrets import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from terminus_core.roles import Action
    from terminus_core.values import ActionCall, ParseResult

INTERRUPTED = "[The run ended in the middle of this turn, before the terminal was looked at again.]"
"""The observation of a turn that a cancel or a bug cut short."""

T = TypeVar("T")

DEFAULT_DURATION_SEC = 1.0
"""Seconds of a command whose own duration cannot be used."""

_LOST = "\ufffd"
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """``text`` with surrogate pairs joined, and half ones, which no UTF-8 file or request can hold, as U+FFFD."""
    if text.isascii() or not _HALF_PAIR.search(text):
        return text
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _HALF_PAIR.sub(_LOST, joined)


def cleaned(value: T) -> T:
    """A copy of ``value`` with every text in it :func:`clean`, however deep."""
    copy: T = redacted(value, clean)
    return copy


def limit(text: str, max_bytes: int) -> tuple[str, str, int]:
    """The first and last half of ``text`` that fit into ``max_bytes`` of UTF-8, and the bytes left out between them.

    No character is split. A text that fits comes back whole as the first half.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text, "", 0
    head = data[: max_bytes // 2].decode("utf-8", "ignore")
    tail = data[len(data) - (max_bytes - max_bytes // 2) :].decode("utf-8", "ignore")
    return head, tail, len(data) - len(head.encode()) - len(tail.encode())


def limited(text: str, max_bytes: int, rows_left_out: int = 0, notice: Callable[[int, int], str] | None = None) -> str:
    """``text`` within ``max_bytes``, with one line that says what is missing; the line itself does not count.

    Args:
        text: what may be too long.
        max_bytes: of UTF-8.
        rows_left_out: rows that are missing before ``text``.
        notice: makes the line from the numbers of bytes and rows; by default :func:`limit_notice`.
    """
    head, tail, omitted = limit(text, max_bytes)
    if not omitted and not rows_left_out:
        return head
    line = (notice or limit_notice)(omitted, rows_left_out)
    return f"{head}\n{line}\n{tail}" if omitted else f"{line}\n{head}"


def limit_notice(bytes_left_out: int, rows_left_out: int) -> str:
    """The line that stands where output was left out."""
    rows = f"{rows_left_out} earlier rows" if rows_left_out else ""
    if not bytes_left_out:
        return f"[... {rows} left out ...]"
    before = f", {rows} left out before this text" if rows else ""
    return f"[... {bytes_left_out} bytes left out here{before} ...]"


def heading(kind: str) -> str:
    """The line above the terminal's text, for a kind of :class:`TerminalText`."""
    line = "Current Terminal Screen:" if kind == "screen" else "New Terminal Output:"
    return f"{line}\n[no new output]" if kind == "none" else line


def timeout_text(keystrokes: str, seconds: float, terminal_state: str) -> str:
    """What the model reads when the terminal did not come back in time; both texts are within their limit."""
    return (
        f"The terminal did not come back within {seconds:g} seconds after these keystrokes; "
        f"later commands of this batch were not sent.\n"
        f"Keystrokes:\n{keystrokes}\n\n"
        f"Terminal state:\n{terminal_state}"
    )


def feedback(reply: ParseResult) -> str:
    """What the parser has to say to the model about its last answer."""
    if reply.error:
        return f"ERROR: {reply.error}" + (f"\nWARNINGS: {reply.warning}" if reply.warning else "")
    return f"WARNINGS: {reply.warning}" if reply.warning else ""


def repair_prompt(reply: ParseResult, response_type: str) -> str:
    """What the model is asked after an answer that could not be used."""
    return (
        f"Previous response had parsing errors:\n{feedback(reply)}\n\n"
        f"Please fix these issues and provide a proper {response_type}."
    )


def with_warnings(reply: ParseResult, observation: str) -> str:
    """The observation with the warnings about the last answer in front."""
    before = f"Previous response had warnings:\n{feedback(reply)}\n\n" if reply.warning else ""
    return before + clean(observation)


def cut_answer_error(reply: ParseResult, output_limit: int | None) -> ParseResult:
    """The error of an answer that was cut at the output limit before it was complete."""
    size = f" of {output_limit} tokens" if output_limit else ""
    error = (
        f"Your answer was cut off at the output limit{size} before it was complete. Nothing of it was done. "
        f"Send a shorter one. ({reply.error})"
    )
    return replace(reply, error=error, commands=[], actions=[])


def clamp(reply: ParseResult, max_sec: float, actions: Mapping[str, Action]) -> ParseResult:
    """The reply as it can be carried out and recorded, with a warning for each change.

    Its texts are :func:`clean`; each duration is finite, not negative and within ``max_sec``; each call of an action
    is one of ``actions``, with arguments that fit.
    """
    commands, warnings = [], [clean(reply.warning)] if reply.warning else []
    calls = _fitting(reply.actions, actions, warnings)
    for number, command in enumerate(reply.commands, start=1):
        seconds = command.duration_sec
        if not math.isfinite(seconds) or seconds < 0:
            seconds = DEFAULT_DURATION_SEC
            warnings.append(
                f"Command {number}: duration {command.duration_sec:g} is no finite number of seconds, 0 or more; "
                f"{seconds} is used."
            )
        elif seconds > max_sec:
            seconds = max_sec
            warnings.append(
                f"Command {number}: duration {command.duration_sec:g} limited to {max_sec:g} seconds; "
                "wait longer with empty keystrokes in further turns."
            )
        keystrokes = clean(command.keystrokes)
        if keystrokes.count(_LOST) > command.keystrokes.count(_LOST):
            warnings.append(f"Command {number}: half a surrogate pair in keystrokes was replaced by U+FFFD.")
        is_same = seconds == command.duration_sec and keystrokes == command.keystrokes
        commands.append(command if is_same else replace(command, keystrokes=keystrokes, duration_sec=seconds))
    return replace(
        reply,
        commands=commands,
        actions=calls,
        warning="\n".join(warnings),
        error=clean(reply.error),
        analysis=clean(reply.analysis),
        plan=clean(reply.plan),
    )


def _fitting(calls: Sequence[ActionCall], actions: Mapping[str, Action], warnings: list[str]) -> list[ActionCall]:
    """The calls that can be performed; ``warnings`` gains a line for each of the others."""
    fitting: list[ActionCall] = []
    for call in calls:
        action = actions.get(call.name)
        if action is None:
            warnings.append(f"There is no action {call.name!r}; known: {', '.join(actions) or 'none'}.")
        elif faults := action.argument_faults(call.arguments):
            warnings += [f"{fault}; it was not performed." for fault in faults]
        elif sum(each.name == call.name for each in fitting) == action.max_per_reply:
            line = f"{call.name}: {action.max_per_reply} calls of one reply are performed; the others were left out."
            warnings += [line] if line not in warnings else []
        else:
            fitting.append(replace(call, arguments=cleaned(call.arguments)))
    return fitting


def step_message(reply: ParseResult) -> str:
    """What a step's message says when the raw answer is not recorded."""
    parts = [
        f"Analysis: {reply.analysis}" if reply.analysis else "",
        f"Plan: {reply.plan}" if reply.plan else "",
    ]
    return "\n".join(part for part in parts if part)
