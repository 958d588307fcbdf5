"""How much of the model's window a run has used, counted once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from terminus_core import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from terminus_core import Run, Subagent

ROOM = 4_000
"""Tokens that a request leaves free for its answer, as far as the window allows it."""
SMALLEST_WINDOW = 8_192
"""A refusal does not make a window smaller than this: providers refuse for odd reasons too."""
MIN_GROWTH_SHARE = 8
"""The history is not made smaller again before it has grown by this part of the window."""
AMPLE = 16_000
"""With so many tokens free, the answer's length is the model's own affair (where its output limit is not known)."""
MIN_ANSWER = 64
"""An answer of fewer tokens is worth no request."""


@dataclass(slots=True)
class Memory:
    """What a strategy keeps about one run.

    Attributes:
        floor: tokens that cannot be freed: of the first request, or of the newest after the history was made smaller.
        learned: tokens that the window turned out to have, from requests that were refused as too long.
        acted_after: how many answers the chat had when room was last made.
    """

    floor: int = 0
    learned: int = sys.maxsize
    acted_after: int = -1


class Budget:
    """The window of one run, in tokens.

    Args:
        run: whose chat and model.
        memory: what is kept about that run.
    """

    def __init__(self, run: Run, memory: Memory) -> None:
        self._run = run
        self._memory = memory

    @property
    def limit(self) -> int:
        """The model's limit, or what it turned out to be; more than any request has while nothing is known."""
        return min(self._run.llm.context_limit or sys.maxsize, self._memory.learned)

    @property
    def space(self) -> int:
        """What the chat with a prompt may have, so that there is room for an answer."""
        return self.limit - min(ROOM, self.limit // 4)

    @property
    def aside_space(self) -> int:
        """What a call beside the chat may have: its answer needs more room than a turn's."""
        return self.limit - min(ROOM, self.limit // 2)

    def refuse(self, prompt: str) -> bool:
        """Learn that the chat with ``prompt`` is too long, whatever the limit was believed to be.

        The window holds at least what the last answer came from, and less than what was refused: it is taken to be
        the former, or three quarters of the latter, whichever is more.

        Returns whether room had been made since the last answer, which has not been enough then.
        """
        memory, n_answers = self._memory, self._run.chat.n_answers
        again = memory.acted_after == n_answers
        memory.acted_after = n_answers
        held = 0 if again else self.used()
        memory.learned = min(memory.learned, max(held, self.used(prompt) * 3 // 4, SMALLEST_WINDOW))
        return again

    def replace(self, messages: list[Message], prompt: str, calls: Sequence[Subagent] = ()) -> str:
        """Replace the history, and remember that; returns ``prompt``."""
        self._run.replace_history(messages, prompt, calls)
        self._memory.floor = self.used(prompt)
        self._memory.acted_after = self._run.chat.n_answers
        return prompt

    def count(self, *messages: Message) -> int:
        """Tokens of ``messages``."""
        return self._run.llm.count_tokens(list(messages))

    def used(self, prompt: str = "") -> int:
        """Tokens of the chat, with ``prompt`` put to it. Counts only what no usage has counted."""
        chat = self._run.chat
        if new := chat.uncounted:
            chat.add_count(self.count(*new))
        return (chat.context_tokens or 0) + (self.count(user(prompt)) if prompt else 0)

    def is_tight(self, used: int, threshold: int) -> bool:
        """Whether fewer than ``threshold`` tokens are free, and making the history smaller would help.

        A window that is smaller than the threshold would always be tight: there a quarter of it counts; likewise in
        one whose size is only guessed.
        """
        limit = self.limit
        is_known = limit == self._run.llm.context_limit
        free = threshold if is_known and threshold < limit else min(threshold, limit // 4)
        return limit - used < free and used - self._memory.floor >= limit // MIN_GROWTH_SHARE

    def answer_limit(self, tokens: int) -> int | None:
        """What a request of ``tokens`` may ask for: ``None`` for the model's own limit, 0 if it is not worth asking."""
        free = self.limit - tokens
        if free >= (self._run.llm.output_limit or AMPLE):
            return None
        free -= free // 8  # counting is not exact
        return free if free >= MIN_ANSWER else 0


def user(text: str) -> Message:
    """A user's message."""
    return Message(role="user", content=text)


def assistant(text: str) -> Message:
    """An assistant's message."""
    return Message(role="assistant", content=text)
