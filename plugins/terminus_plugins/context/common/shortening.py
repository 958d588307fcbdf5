"""Making one text or one prompt shorter."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from terminus_core import Run, RunLimitReached
from terminus_plugins.context.common.budget import user

if TYPE_CHECKING:
    from terminus_plugins.context.common.budget import Budget

MIN_CHARS = 200
"""A text that would become shorter than this goes altogether."""


def shortened(text: str, max_chars: int) -> str:
    """The first and last half of ``text``, with one line between them that says how much is missing."""
    if len(text) <= max_chars:
        return text
    head, tail = text[: max_chars // 2], text[len(text) - (max_chars - max_chars // 2) :]
    return f"{head}\n[... {len(text) - max_chars} characters left out here ...]\n{tail}".strip()


def fitted(budget: Budget, text: str, max_tokens: int) -> str:
    """As much of ``text`` as fits into ``max_tokens``; ``""`` if that is next to nothing."""
    tokens = budget.count(user(text))
    if tokens <= max_tokens:
        return text
    # The line about what is missing needs room too.
    chars = len(text) * max(max_tokens, 0) // tokens - MIN_CHARS // 2
    return shortened(text, chars) if chars >= MIN_CHARS else ""


def shorten_first_prompt(run: Run, budget: Budget, prompt: str, *, again: bool) -> str:
    """The first prompt with less of the terminal in it; the format rules and the task stay.

    The new prompt is recorded as a step.

    Args:
        run: whose prompt.
        budget: its window.
        prompt: as it was refused.
        again: it has been shortened already, and was refused again.

    Raises:
        RunLimitReached: there is nothing of the terminal in it, so nothing can go.
    """
    mark = uuid.uuid4().hex
    before, _, after = run.parser.build_prompt(run.prepared_instruction, mark).partition(mark)
    start, end = prompt.find(before) + len(before), prompt.rfind(after)
    terminal = prompt[start:end] if before in prompt and after in prompt else ""
    if not terminal:
        raise RunLimitReached("context", "the model's window cannot hold the first prompt")
    rest = budget.count(user(prompt[:start] + prompt[end:]))
    short = "" if again else fitted(budget, shortened(terminal, len(terminal) // 2), budget.space - rest)
    prompt = prompt[:start] + short + prompt[end:]
    run.record_step("user", prompt, extra={"shortened": "the prompt before was too long for the model"})
    return prompt
