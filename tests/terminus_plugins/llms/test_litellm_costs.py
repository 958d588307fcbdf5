"""What an answer costs, and that a limit on it holds."""

import json
from itertools import repeat

import pytest

from terminus_core import Agent, LLMRequest, Message, Usage
from terminus_core.testing import FakeBackend, FakeEnvironment
from terminus_plugins.llms.scripted import ScriptedLLM
from tests.support.provider_server import answer

pytestmark = pytest.mark.anyio

PRICES = {"input_cost_per_token": 2.0, "output_cost_per_token": 5.0, "cache_read_input_token_cost": 1.0}
GO_ON = json.dumps({"analysis": "a", "plan": "p", "commands": []})
ESTIMATED = "openai/gpt-4o-mini: the provider does not tell all its tokens, the cost is an estimate"


def user(text="x", **more):
    return LLMRequest([Message(role="user", content=text)], **more)


def usage(prompt=10, completion=3, cached=0):
    details = {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"prompt_tokens": prompt, "completion_tokens": completion, **details}


async def run(llm, logs, **settings):
    agent = Agent(llm=llm, environment=FakeEnvironment(), session=FakeBackend(), logs_dir=logs, **settings)
    result = await agent.run("do it")
    return result, json.loads((logs / "trajectory.json").read_text())


async def test_more_cached_tokens_than_the_prompt_has(provider, make_llm):
    server = provider([answer("text", usage=usage(cached=1000))])
    response = await make_llm(server, model="openai/lab", model_info=PRICES).call(user())
    assert response.usage == Usage(10, 3, 1000, 1000 * 1 + 3 * 5)


class Priced(ScriptedLLM):
    """Somebody's own LLM, which tells odd costs."""

    cost = -0.5

    async def call(self, request):
        response = await super().call(request)
        response.usage.cost_usd = self.cost
        return response


async def test_a_cost_below_zero_is_absent(tmp_path):
    reply = {"content": GO_ON, "usage": {"prompt_tokens": 9, "completion_tokens": 3}}
    result, trajectory = await run(Priced([reply] * 2), tmp_path / "logs", max_episodes=2)
    assert (result.totals.prompt_tokens, result.totals.cost_usd) == (18, None)
    assert "cost" not in json.dumps([trajectory["steps"], trajectory["final_metrics"]])


async def test_a_price_of_ones_own_stands_beside_what_the_library_knows(provider, make_llm):
    server = provider([answer("text", usage=usage(1000, 1000)) for _ in range(2)])
    plain = await make_llm(server).call(user())
    dear = await make_llm(server, model_info={"input_cost_per_token": 1.0}).call(user())
    output = plain.usage.cost_usd - 1000 * 1.5e-7
    assert output > 1000 * 1e-7
    assert dear.usage.cost_usd == pytest.approx(1000 + output)


async def test_half_a_price_is_none(provider, make_llm, caplog):
    llm = make_llm(provider([answer("text")]), model="openai/lab", model_info={"input_cost_per_token": 1.0})
    assert (await llm.call(user())).usage.cost_usd is None
    assert not llm.knows_price
    assert "openai/lab: the price is not known, the cost is not counted" in caplog.messages


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        (None, Usage()),
        ({"prompt_tokens": 10, "completion_tokens": None}, Usage(prompt_tokens=10)),
        ({"prompt_tokens": None, "completion_tokens": 3}, Usage(completion_tokens=3)),
    ],
)
async def test_what_the_provider_does_not_count_is_estimated(provider, make_llm, caplog, told, tokens):
    server = provider([answer("twelve chars" * 10, usage=told) for _ in range(2)])
    llm = make_llm(server)
    for _ in range(2):
        response = await llm.call(user("a question"))
        assert response.usage.cost_usd > 0
        response.usage.cost_usd = None
        assert response.usage == tokens
    assert caplog.messages.count(ESTIMATED) == 1


async def test_a_cost_limit_holds_without_usage(provider, make_llm, tmp_path):
    server = provider(repeat(answer(GO_ON, usage=None)))
    result, trajectory = await run(make_llm(server), tmp_path / "logs", max_cost_usd=1e-9, max_episodes=9)
    assert (result.status, result.reason) == ("limit_reached", "max_cost_usd")
    assert len(server.requests) == 1
    metrics = [step["metrics"] for step in trajectory["steps"] if step.get("metrics")]
    assert [list(each) for each in metrics] == [["cost_usd"]]
