"""What the strategy ``summarize`` says to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from terminus_core import Message

RECENT_CHARS = 4_000
"""How much of the agent's newest answers the short summary sees."""

SHORT_HANDOVER = (
    "Carry on with the task, in the format that the first message asks for. The newest observation follows."
)
"""Stands in front of the observation that was waiting, after a short summary."""


def summary_request(task: str) -> str:
    """Put to the model after the history."""
    return f"""\
Pause here. This conversation has nearly filled your context window, so it will be replaced by a summary, and a \
colleague who has seen nothing of it will carry on from that summary alone.

The task is still:
{task}

Write the summary now, as plain text: no commands, no tool calls, no answer in the usual format. Cover:
1. What has been done, in order, with the commands that mattered and their results.
2. What was learned: paths, versions, settings, names, numbers, error messages, word for word where it matters.
3. What failed, and why it should not be tried again.
4. The state of things now: working folder, files created or changed, processes that run, programs that are open in \
the terminal.
5. What remains to be done, and the very next step.
Be exact and complete, and leave out what no longer matters."""


def questions_request(task: str, summary: str, screen: str) -> str:
    """Put to the model without the history; it stays in the new chat, after the format rules."""
    return f"""\
You are taking over this task in the middle:
{task}

The colleague who has worked on it so far left this summary:
{summary}

The terminal shows now:
{screen}

Before you go on, ask your colleague about everything that you need to know and that the summary leaves open or vague. \
Ask at least five questions, most important first, each short and exact. Answer this message with the list of \
questions as plain text and nothing else."""


def answers_request(questions: str) -> str:
    """Put to the model after the history, the request for a summary, and the summary."""
    return f"""\
Your colleague has read the summary and asks:
{questions}

Answer each question, in order, in plain text, from what is written in this conversation. Where it does not hold the \
answer, say so instead of guessing."""


def handover(answers: str) -> str:
    """Stands in front of the observation that was waiting; the first message after the questions."""
    return f"""\
Here are the answers to your questions:
{answers}

Carry on with the task from here, in the format that the first message asks for. The newest observation follows."""


def short_request(task: str, recent: str, screen: str) -> str:
    """Asked where the three calls did not work; it stays in the new chat, after the format rules."""
    return f"""\
You are in the middle of this task, and the conversation so far can no longer be shown:
{task}

Your newest notes:
{recent or "(none)"}

The end of what the terminal shows now:
{screen}

In a few sentences of plain text: what has been done, what is the state now, and what comes next?"""


def recent_answers(messages: Sequence[Message]) -> str:
    """The end of what the assistant has said."""
    recent = ""
    for message in reversed(messages):
        if message["role"] == "assistant" and isinstance(message["content"], str):
            recent = f"{message['content']}\n{recent}"
        if len(recent) >= RECENT_CHARS:
            break
    return recent[-RECENT_CHARS:].strip()
