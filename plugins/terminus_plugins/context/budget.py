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
"""Tokens that a request leaves free for its answer; a small window leaves a quarter of itself."""
SMALL_ROOM_SHARE = 4
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
        refused: tokens of the smallest request that was refused as too long.
        acted_after: how many answers the chat had when room was last made.
    """

    floor: int = 0
    refused: int = sys.maxsize
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
        return min(self._run.llm.context_limit or sys.maxsize, self._memory.refused)

    @property
    def space(self) -> int:
        """What a request may have, so that there is room for an answer."""
        return self.limit - min(ROOM, self.limit // SMALL_ROOM_SHARE)

    def refuse(self, prompt: str) -> bool:
        """Learn that the chat with ``prompt`` is too long, whatever the limit was believed to be.

        Returns whether room had been made since the last answer, which has not been enough then.
        """
        self._memory.refused = max(min(self._memory.refused, self.used(prompt)), 1)
        again = self._memory.acted_after == self._run.chat.n_answers
        self._memory.acted_after = self._run.chat.n_answers
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

        A window that is smaller than the threshold would always be tight: there a quarter of it counts.
        """
        limit = self.limit
        free = threshold if threshold < limit else limit // SMALL_ROOM_SHARE
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
