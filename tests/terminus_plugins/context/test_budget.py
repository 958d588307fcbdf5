"""What is counted and when, and what counts as too little room."""

from itertools import pairwise

import pytest

from terminus_core import Agent, LLMResponse, TerminalText, Usage
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM, FakeSession
from terminus_plugins.context.common.budget import Budget, Memory, user
from terminus_plugins.context.common.shortening import fitted, shortened
from terminus_plugins.context.summarize.strategy import SummarizeStrategy
from terminus_plugins.context.truncate import TruncateStrategy
from tests.support.typed_parser import TypedParser

STRATEGIES = [SummarizeStrategy, TruncateStrategy]


class CountingLLM(FakeLLM):
    """Keeps what each count cost."""

    def __init__(self, *args, **fields):
        super().__init__(*args, **fields)
        self.counted = []

    def count_tokens(self, messages):
        self.counted.append(sum(len(str(message["content"])) for message in messages))
        return super().count_tokens(messages)


class Terminal(FakeSession):
    async def get_incremental_output(self):
        await super().get_incremental_output()
        return TerminalText("x" * 2_000)


def agent(llm, context, logs_dir, **keys):
    session = FakeBackend(Terminal())
    parts = {"environment": FakeEnvironment(), "session": session, "parser": TypedParser(), "observers": []}
    return Agent(llm=llm, context=context, logs_dir=logs_dir, **parts, **keys)


@pytest.mark.anyio
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("usage", [None, Usage(100, 10)], ids=["no usage", "usage"])
async def test_an_episode_counts_only_what_is_new(tmp_path, strategy, usage):
    llm = CountingLLM([LLMResponse("go", usage=usage)] * 300, context_limit=10_000_000)
    context = strategy(strategy.Config())
    await agent(llm, context, tmp_path / "run", max_episodes=300).run("task")
    late = llm.counted[len(llm.counted) // 2 :]
    assert max(late) <= 2 * 2_100
    assert sum(llm.counted) <= 300 * 3 * 2_100


@pytest.fixture
def budget(tmp_path):
    """A run's budget: `budget(limit, chat=tokens)`."""

    def make(limit, chat=0, **memory):
        llm = FakeLLM(context_limit=limit)
        context = SummarizeStrategy(SummarizeStrategy.Config())
        run = agent(llm, context, tmp_path / "run")._parts.new_run("task")
        if chat:
            usage = Usage(chat - 1, 1)
            run.chat.add_turn(run.chat.prompt_messages("first"), LLMResponse("a", usage=usage))
        made = Budget(run, Memory(**memory))
        made.run = run
        return made

    return make


@pytest.mark.parametrize(
    ("limit", "used", "threshold", "floor", "tight"),
    [
        (200_000, 191_000, 8_000, 0, False),
        (200_000, 193_000, 8_000, 0, True),
        (200_000, 193_000, 5_000, 0, False),
        (200_000, 193_000, 8_000, 180_000, False),  # little would be freed
        (6_000, 3_000, 8_000, 500, False),  # smaller than the threshold: a quarter counts
        (6_000, 5_000, 8_000, 500, True),
        (10_000, 3_000, 8_000, 500, True),
        (None, 10**9, 8_000, 0, False),
    ],
)
def test_when_room_is_tight(budget, *, limit, used, threshold, floor, tight):
    assert budget(limit, floor=floor).is_tight(used, threshold) is tight


def test_a_refusal_teaches_the_windows_size(budget):
    made = budget(None, chat=50_000)
    assert made.refuse("x" * 8_000) is False
    assert made.limit == 50_000
    assert made.refuse("x" * 8_000) is True
    assert made.limit == 39_000  # what was thought to fit did not: three quarters of it


def test_a_refusal_of_next_to_nothing_does_not_make_the_window_tiny(budget):
    made = budget(100_000, chat=100)
    made.refuse("hi")
    assert made.limit == 8_192


@pytest.mark.parametrize(
    ("limit", "tokens", "asked"),
    [(100_000, 1_000, None), (100_000, 92_000, 7_000), (1_000, 990, 0), (1_000, 5_000, 0)],
)
def test_what_an_answer_may_have(budget, limit, tokens, asked):
    assert budget(limit).answer_limit(tokens) == asked


# -- shortening --------------------------------------------------------------------------------------------------------


def test_a_short_text_stays():
    assert shortened("abc", 3) == "abc"


@pytest.mark.parametrize("max_chars", [0, 1, 10, 11])
def test_the_note_tells_the_true_number(max_chars):
    text = "".join(chr(0x4E00 + i) for i in range(100))
    short = shortened(text, max_chars)
    head, _, tail = short.partition(f"[... {100 - max_chars} characters left out here ...]")
    assert text.startswith(head.strip())
    assert text.endswith(tail.strip())
    assert len(head.strip()) + len(tail.strip()) == max_chars


def test_what_is_fitted_fits(budget):
    made = budget(1_000)
    text = "y" * 10_000
    sizes = [made.count(user(fitted(made, text, tokens))) for tokens in (-5, 0, 50, 100, 1_000, 2_499, 2_500)]
    assert all(before <= after for before, after in pairwise(sizes))
    assert sizes[:3] == [0, 0, 0]
    assert sizes[3] <= 100
    assert sizes[-1] == 2_500
