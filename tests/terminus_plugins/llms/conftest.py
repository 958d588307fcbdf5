"""The LLM litellm against a provider on loopback."""

import os
from contextlib import ExitStack

import anyio
import pytest

from terminus_core import LLMRequest, Message
from terminus_plugins.llms.litellm.llm import LiteLLM
from tests.support.provider_server import ProviderServer, answer


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in os.environ:
        if name.endswith(("_API_KEY", "_API_TOKEN")) or name == "LITELLM_LOG":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def _warm():
    """litellm's import and first call take seconds: no test's time limit is to count them."""
    with ProviderServer([answer("warm")]) as server:
        llm = LiteLLM(LiteLLM.Config(model="openai/gpt-4o-mini", api_base=server.url))
        anyio.run(llm.call, LLMRequest([Message(role="user", content="hi")]))


@pytest.fixture
def provider():
    """Start a server for the test: ``provider([replies…])``."""
    with ExitStack() as stack:
        yield lambda replies: stack.enter_context(ProviderServer(replies))


@pytest.fixture
def make_llm(_warm):
    """An LLM that asks ``server`` in the dialect of ``model``."""

    def make(server, model="openai/gpt-4o-mini", **settings):
        base = server.root_url if model.startswith("anthropic/") else server.url
        return LiteLLM(LiteLLM.Config(**{"model": model, "api_base": base, "timeout_sec": 60, **settings}))

    return make
