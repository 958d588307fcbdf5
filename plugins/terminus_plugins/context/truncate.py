"""Context strategy ``truncate``: old observations are shortened, many at once and seldom; the model is not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field

from terminus_core import ContextStrategy, Message, Run, RunLimitReached, hookimpl
from terminus_plugins.context.common.budget import Budget, Memory
from terminus_plugins.context.common.shortening import fitted, shorten_first_prompt, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

LEFT_OUT = "[an observation that was too long, left out]"
LEFT_OUT_IMAGES = "[images, left out]"


class TruncateStrategy(ContextStrategy):
    """Shortens the oldest observations until half of the window is free; what the model said stays whole.

    Between two such steps the history only grows, so that a provider's prompt cache holds it; a step comes before a
    request that would leave too few tokens free, and when the provider refuses a request as too long.
    """

    name: ClassVar[str] = "truncate"

    class Config(BaseModel):
        """Settings."""

        model_config = ConfigDict(extra="forbid")

        min_free_tokens: int = Field(
            8_000, ge=0, description="free tokens below which observations are shortened; 0: only on a refusal"
        )
        keep_turns: int = Field(3, ge=0, description="newest turns whose observations stay whole")
        keep_chars: int = Field(400, ge=0, description="characters that stay of a shortened observation")

    def __init__(self, config: Config) -> None:
        self._config = config
        self._memories: WeakKeyDictionary[Run, Memory] = WeakKeyDictionary()

    async def before_request(self, run: Run, prompt: str) -> str:
        """Shorten old observations if too few tokens are free."""
        budget, memory = self._budget(run)
        used = budget.used(prompt)
        if not run.chat.n_turns:
            memory.floor = used
        elif self._config.min_free_tokens and budget.is_tight(used, self._config.min_free_tokens):
            messages = list(run.chat.messages)
            if self._shorten(budget, messages, used - budget.limit // 2, self._config.keep_turns):
                return budget.replace(messages, prompt)
            memory.floor = used
        return prompt

    async def on_context_length_exceeded(self, run: Run, prompt: str) -> str:
        """Shorten old observations; the second time in a row all of them, and the waiting one.

        Raises:
            RunLimitReached: nothing can be made shorter (reason ``context``).
        """
        budget, _ = self._budget(run)
        again = budget.refuse(prompt)
        if not run.chat.n_turns:
            return shorten_first_prompt(run, budget, prompt, again=again)
        used, messages = budget.used(prompt), list(run.chat.messages)
        excess = max(used - budget.limit // 2, used // 4)
        freed = self._shorten(budget, messages, excess, 0 if again else self._config.keep_turns)
        if again or used - freed > budget.space:
            # The newest observation may be too long alone; refused twice, it is, whatever the counting says.
            history = budget.used()
            fits = budget.space - (history - freed)
            shorter = fitted(budget, prompt, min(fits, (used - history) // 2) if again else fits) or LEFT_OUT
            freed += used - budget.used(shorter)
            prompt = shorter
        if freed <= 0:
            raise RunLimitReached("context", "the model's window is full, and all observations are short already")
        return budget.replace(messages, prompt)

    def _shorten(self, budget: Budget, messages: list[Message], excess: int, keep_turns: int) -> int:
        """Shorten what was observed in ``messages``, oldest first, until ``excess`` tokens are freed; returns how many.

        Where that frees far too little, a second round leaves only the notes that something was left out.
        """
        freed = 0
        ends = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
        end = ends[-keep_turns - 1] if len(ends) > keep_turns else 0
        for max_chars, wanted in ((self._config.keep_chars, excess), (0, excess - budget.limit // 4)):
            for i in _observations(messages[:end]):
                if freed >= wanted:
                    break
                short = _short(messages[i], max_chars)
                saved = budget.count(messages[i]) - budget.count(short)
                if saved > 0:
                    messages[i] = short
                    freed += saved
        return freed

    def _budget(self, run: Run) -> tuple[Budget, Memory]:
        memory = self._memories.setdefault(run, Memory())
        return Budget(run, memory), memory


def _observations(messages: list[Message]) -> Iterable[int]:
    """Where observations stand; the first message holds the format rules and the task."""
    return (i for i, message in enumerate(messages) if i and message["role"] in {"user", "tool"})


def _short(message: Message, max_chars: int) -> Message:
    """The message with its text shortened and without its images."""
    content = message["content"]
    if not isinstance(content, str):
        texts = [part["text"] if part["type"] == "text" else LEFT_OUT_IMAGES for part in content]
        content = "\n".join(texts)
    return Message(**{**message, "content": shortened(content, max_chars) if max_chars else LEFT_OUT})


@hookimpl
def terminus_register_context_strategies() -> list[type[ContextStrategy]]:
    """Bring ``truncate``."""
    return [TruncateStrategy]
