"""The context strategies pass the suite that other people's strategies run."""

import pytest

from terminus_core.testing import ContextStrategyTests
from terminus_plugins.context.none import NoStrategy
from terminus_plugins.context.summarize.strategy import SummarizeStrategy
from terminus_plugins.context.truncate import TruncateStrategy


class TestNone(ContextStrategyTests):
    @pytest.fixture
    def strategy(self):
        return NoStrategy()


class TestTruncate(ContextStrategyTests):
    capabilities = ContextStrategyTests.complete_capabilities

    @pytest.fixture
    def strategy(self):
        return TruncateStrategy(TruncateStrategy.Config(min_free_tokens=2_000))


class TestSummarize(ContextStrategyTests):
    capabilities = ContextStrategyTests.complete_capabilities

    @pytest.fixture
    def strategy(self):
        return SummarizeStrategy(SummarizeStrategy.Config(proactive_summarization_threshold=2_000))
