"""Context strategy ``summarize``: a history that fills the model's window gives way to a summary of it."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field

from terminus_core import ContentPart, ContextStrategy, LLMError, Message, Run, RunLimitReached
from terminus_plugins.context.common.budget import Budget, Memory, assistant, user
from terminus_plugins.context.common.shortening import fitted, shorten_first_prompt
from terminus_plugins.context.summarize import texts

if TYPE_CHECKING:
    from terminus_core import Subagent

logger = logging.getLogger(__name__)

SCREEN_CHARS = 1_000
"""How much of the screen the fall-backs show."""
SCREEN_SHARE = 8
"""The part of the window that the screen may take of a question."""


class SummarizeStrategy(ContextStrategy):
    """Three calls beside the chat make a hand-over: a summary, a newcomer's questions to it, and the answers.

    It does so before a request that would leave too few tokens free, and when the provider refuses a request as too
    long. Where the three calls do not work, one short call does; where that does not work either, the run goes on with
    the format rules, the task and the end of the screen. The observation that was waiting is always handed over.
    """

    name: ClassVar[str] = "summarize"

    class Config(BaseModel):
        """Settings."""

        model_config = ConfigDict(extra="forbid")

        proactive_summarization_threshold: int = Field(
            8_000,
            ge=0,
            description="free tokens below which the history is summarized; 0: only when the provider refuses",
        )

    def __init__(self, config: Config) -> None:
        self._threshold = config.proactive_summarization_threshold
        # An instance may serve several runs, one after the other or at once.
        self._memories: WeakKeyDictionary[Run, _Memory] = WeakKeyDictionary()

    async def before_request(self, run: Run, prompt: str) -> str:
        """Summarize if too few tokens are free; returns the hand-over then.

        Raises:
            RunLimitReached: the run's cost limit is reached.
        """
        history = self._history(run)
        used = history.budget.used(prompt)
        if not run.chat.n_turns:
            history.memory.floor = used
        elif self._threshold and history.budget.is_tight(used, self._threshold):
            smaller = await history.summarize(prompt)
            if smaller is not None:
                return smaller
            history.memory.floor = used
        return prompt

    async def on_context_length_exceeded(self, run: Run, prompt: str) -> str:
        """Make room: shorten the first prompt, or summarize, or start over from the task.

        Raises:
            RunLimitReached: nothing can be made shorter (reason ``context``), or the cost limit is reached.
        """
        return await self._history(run).make_room(prompt)

    def _history(self, run: Run) -> _History:
        memory = self._memories.setdefault(run, _Memory())
        if memory.first is None and run.chat.messages:
            memory.first = run.chat.messages[0]
        return _History(run, memory)


@dataclass(slots=True)
class _Memory(Memory):
    """Also: the first message as it was sent (format rules and task), and how many summaries were tried."""

    first: Message | None = None
    attempts: int = 0


class _History:
    """One run's history, and how to make it smaller."""

    def __init__(self, run: Run, memory: _Memory) -> None:
        self.run = run
        self.memory = memory
        self.budget = Budget(run, memory)

    async def make_room(self, prompt: str) -> str:
        """After a refusal; a second one without an answer in between calls for what certainly is small."""
        run = self.run
        again = self.budget.refuse(prompt)
        if not run.chat.n_turns:
            return shorten_first_prompt(run, self.budget, prompt, again=again)
        smaller = self._start_over(prompt, await run.screen(), []) if again else await self.summarize(prompt)
        if smaller is None:
            raise RunLimitReached("context", "the model's window is full, and no summary would make room")
        return smaller

    async def summarize(self, prompt: str) -> str | None:
        """Replace the history; returns the next prompt, ``None`` if nothing that replaces it would be smaller."""
        budget = self.budget
        self.memory.attempts += 1
        before = budget.count(*self.run.chat.messages, user(prompt))  # counted like what is compared with it
        screen = fitted(budget, await self.run.screen(), budget.limit // SCREEN_SHARE)
        calls: list[Subagent] = []
        for attempt in (self._in_three_calls, self._in_one_call):
            try:
                messages, handover = await attempt(screen, calls)
            except LLMError as error:
                logger.warning("a summary did not work: %s", error)
                continue
            waiting = fitted(budget, prompt, budget.space - budget.count(*messages, user(handover)))
            handover = f"{handover}\n\n{waiting}"
            if waiting and budget.count(*messages, user(handover)) < before:
                return budget.replace(messages, handover, calls)
            logger.warning("a summary would have made no room")
        return self._start_over(prompt, screen, calls, before)

    async def _in_three_calls(self, screen: str, calls: list[Subagent]) -> tuple[list[Message], str]:
        """The new history and the head of the hand-over.

        Raises:
            LLMError: a call failed, or said nothing.
        """
        task = self.run.instruction
        ask_summary = texts.summary_request(task)
        summary = await self._ask("summary", *self._after_history(ask_summary), calls)
        ask_questions = user(texts.questions_request(task, summary, screen))
        questions = await self._ask("questions", [ask_questions], self.budget.count(ask_questions), calls)
        ask_answers = texts.answers_request(questions)
        answers = await self._ask("answers", *self._after_history(ask_summary, summary, ask_answers), calls)
        return self._new_history(ask_questions, questions), texts.handover(answers)

    async def _in_one_call(self, screen: str, calls: list[Subagent]) -> tuple[list[Message], str]:
        """As :meth:`_in_three_calls`; the request is small, whatever the history is."""
        recent = texts.recent_answers(self.run.chat.messages)
        ask = user(texts.short_request(self.run.instruction, recent, screen[-SCREEN_CHARS:]))
        summary = await self._ask("short", [ask], self.budget.count(ask), calls)
        return self._new_history(ask, summary), texts.SHORT_HANDOVER

    async def _ask(self, kind: str, messages: list[Message], tokens: int, calls: list[Subagent]) -> str:
        call = await self.run.ask_aside(
            kind,
            messages,
            attempt=self.memory.attempts,
            group="summarization",
            max_output_tokens=self.budget.answer_limit(tokens),
        )
        calls.append(call)
        text = call.response.content.strip()
        if not text:
            raise LLMError(f"the answer to {kind!r} is empty")
        return text

    def _after_history(self, question: str, *more: str) -> tuple[list[Message], int]:
        """The history with texts after it, user's and assistant's in turn; and how many tokens that is.

        The newest turns go until there is room for an answer; if need be all but the first message.
        """
        chat, budget = self.run.chat, self.budget
        asked = [user(question), *(user(text) if i % 2 else assistant(text) for i, text in enumerate(more))]
        tokens = budget.count(*asked)
        while budget.used() + tokens > budget.aside_space and chat.unwind():
            pass
        if budget.used() + tokens > budget.aside_space:
            messages = [_joined(chat.messages[0], asked[0]), *asked[1:]]
            return messages, budget.count(*messages)
        return [*chat.messages, *chat.prompt_messages(question), *asked[1:]], budget.used() + tokens

    def _new_history(self, asked: Message, answer: str) -> list[Message]:
        return [_joined(self.memory.first or self.run.chat.messages[0], asked), assistant(answer)]

    def _start_over(self, prompt: str, screen: str, calls: list[Subagent], before: int = sys.maxsize) -> str | None:
        """Without the model: format rules, task, the end of the screen, the waiting observation."""
        run, budget = self.run, self.budget
        rules = budget.count(user(run.parser.build_prompt(run.prepared_instruction, "")))
        terminal = fitted(budget, f"{screen[-SCREEN_CHARS:]}\n\n{prompt}", budget.space - rules)
        handover = run.parser.build_prompt(run.prepared_instruction, terminal)
        return budget.replace([], handover, calls) if budget.count(user(handover)) < before else None


def _joined(first: Message, second: Message) -> Message:
    """Two messages of the user as one, so that roles alternate."""
    content, text = first["content"], second["content"]
    if isinstance(content, str):
        return user(f"{content}\n\n{text}")
    return Message(role="user", content=[*content, ContentPart(type="text", text=str(text))])
