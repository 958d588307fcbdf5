"""The observers pass the suite that other people's observers run."""

import pytest

from terminus_core.testing import ObserverTests
from terminus_plugins.observers.asciinema import AsciinemaObserver
from terminus_plugins.observers.atif import AtifObserver
from terminus_plugins.observers.prompt_caching import PromptCaching


class TestAtif(ObserverTests):
    capabilities = frozenset({"trio", "files"})

    @pytest.fixture
    def make_observer(self):
        return AtifObserver


class TestAsciinema(ObserverTests):
    capabilities = frozenset({"trio", "files"})

    @pytest.fixture
    def make_observer(self):
        return AsciinemaObserver


class TestPromptCaching(ObserverTests):
    capabilities = frozenset({"trio", "changes_messages"})

    @pytest.fixture
    def make_observer(self):
        return lambda: PromptCaching(PromptCaching.Config(enabled=True))
