"""The LLMs pass the suite that other people's LLMs run."""

from dataclasses import fields

import pytest

from terminus_core.testing import LLMTests
from terminus_plugins.llms.scripted import ScriptedLLM
from tests.support.provider_server import answer, fault, silent


class TestLiteLLM(LLMTests):
    """Against a provider on loopback."""

    capabilities = LLMTests.complete_capabilities

    @pytest.fixture
    def make_llm(self, provider, make_llm):
        def make(*script):
            return make_llm(provider([_reply(says) for says in script]), max_attempts=1)

        return make


def _reply(says):
    if says == "fault":
        return fault(400, "that will never work")
    if says == "too_long":
        words = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
        return fault(400, words, code="context_length_exceeded")
    if says == "silence":
        return silent()
    usage = says.usage
    told = (
        {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        }
        if usage
        else "count"
    )
    return answer(
        says.content or None, tool_calls=says.tool_calls, finish_reason=says.finish_reason or "stop", usage=told
    )


class TestScripted(LLMTests):
    capabilities = LLMTests.complete_capabilities - {"silence"}

    @pytest.fixture
    def make_llm(self):
        errors = {"fault": "that will never work", "too_long": "context_length_exceeded"}

        def line(says):
            if isinstance(says, str):
                return {"error": errors[says]}
            given = {each.name: getattr(says, each.name) for each in fields(says)}
            usage = {each.name: getattr(says.usage, each.name) for each in fields(says.usage)} if says.usage else None
            return {**given, "usage": usage}

        return lambda *script: ScriptedLLM([line(says) for says in script])
