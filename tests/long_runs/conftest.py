"""Long runs: the real loop, the real litellm plugin, and a provider on loopback whose window is small."""

import json
import os
from contextlib import ExitStack
from itertools import pairwise
from typing import ClassVar

import anyio
import atif
import pytest

from terminus_core import Agent, Command, LLMRequest, Message, ParseResult, ResponseParser
from terminus_core.testing import EventRecorder, FakeBackend, FakeEnvironment, FakeSession
from terminus_plugins.context.summarize.strategy import SummarizeStrategy
from terminus_plugins.llms.litellm.llm import LiteLLM
from tests.support.provider_dialects import flat_text
from tests.support.provider_server import ProviderServer, Reply, answer, fault

KINDS = {
    "summary": "Write the summary now",
    "questions": "Ask at least five questions",
    "answers": "Answer each question",
    "short": "In a few sentences of plain text",
}
"""What the newest message of each call beside the chat says."""

ASIDES = {
    "summary": "The cellar has been searched.",
    "questions": "1. Which door is locked?",
    "answers": "1. The green one.",
    "short": "The cellar was searched; the attic comes next.",
}

TOO_LONG = "This model's maximum context length is {} tokens. Please reduce the length of the messages."


def text_of(message):
    return flat_text(message)


def end_of(messages):
    """The newest messages: one, or all answers to the newest native tool calls."""
    end = len(messages) - 1
    while messages[end]["role"] == messages[end - 1]["role"] == "tool":
        end -= 1
    return messages[end:]


class PlainParser(ResponseParser):
    """Each line is typed; DONE is a claim; an empty answer is an error."""

    name = "plain"
    error_response_type = "list of lines"

    def build_prompt(self, instruction, terminal_state):
        return f"FORMAT RULES: one command a line\nTASK: {instruction}\nTERMINAL:\n{terminal_state}\nEND OF RULES"

    def parse_response(self, response):
        lines = response.content.splitlines()
        if not lines:
            return ParseResult(error="nothing was said")
        commands = [Command(line + "\n", 0.0) for line in lines if line != "DONE"]
        return ParseResult(commands=commands, is_task_complete="DONE" in lines)

    def completion_confirmation(self, terminal_output):
        return f"{terminal_output}\nARE YOU SURE?"


class ToolParser(PlainParser):
    """The model types with native tool calls, several in one answer; plain text is an error."""

    name = "native"
    tools: ClassVar = [
        {
            "type": "function",
            "function": {
                "name": "type_keys",
                "description": "Type into the terminal.",
                "parameters": {"type": "object", "properties": {"keys": {"type": "string"}}},
            },
        }
    ]

    def parse_response(self, response):
        if not response.tool_calls:
            return ParseResult(error="no tool call")
        keys = [json.loads(call["function"]["arguments"])["keys"] for call in response.tool_calls]
        commands = [Command(each + "\n", 0.0) for each in keys if each != "DONE"]
        return ParseResult(commands=commands, is_task_complete="DONE" in keys)


class Screen(FakeSession):
    """Shows what each command makes; the screen is its end."""

    def __init__(self, outputs=("user@place:~$ ",), on_keys=None):
        super().__init__(outputs, on_keys)

    async def capture_pane(self, *, entire=False):
        await anyio.lowlevel.checkpoint()
        return f"SCREEN after {len(self.sent)} commands"


class Model:
    """What the provider answers: turns in order, calls beside the chat by kind, refusals by its window.

    Every request is checked on its way in: roles, native tool calls, and what may be asked for.
    """

    def __init__(self, turns, window=None, **asides):
        self.turns = iter(turns)
        self.window = window
        self.asides = {**ASIDES, **asides}
        self.log = []
        """Kind of each request, with `!` behind a refused one."""
        self.bodies = []
        self.problems = []

    def __call__(self, request):
        body = request.json
        newest = "".join(text_of(message) for message in end_of(body["messages"]))
        kind = next((kind for kind, words in KINDS.items() if words in newest), "turn")
        self.bodies.append(body)
        self.problems += list(_problems(body))
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        if self.window is not None and request.prompt_tokens + (limit or 1) > self.window:
            self.log.append(f"{kind}!")
            return fault(400, TOO_LONG.format(self.window), code="context_length_exceeded")
        self.log.append(kind)
        reply = next(self.turns, "DONE") if kind == "turn" else self.asides[kind]
        if callable(reply):
            reply = reply(request)
        return reply if isinstance(reply, Reply) else answer(reply)

    def messages(self, kind):
        """The messages of each request of one kind, answered or refused."""
        return [body["messages"] for each, body in zip(self.log, self.bodies, strict=True) if each.rstrip("!") == kind]


def _problems(body):
    messages = body["messages"]
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    if limit is not None and limit <= 0:
        yield f"asked for {limit} tokens"
    if messages[0]["role"] != "user" or messages[-1]["role"] == "assistant":
        yield "begins or ends with the wrong role"
    open_calls = []
    for before, message in pairwise([{"role": "assistant"}, *messages]):
        if message["role"] == before["role"] != "tool":
            yield f"two messages of {message['role']} in a row"
        if message["role"] == "tool":
            if not open_calls or message["tool_call_id"] != open_calls.pop(0):
                yield "a tool message that answers no call"
        elif open_calls:
            yield "a call without an answer"
        open_calls += [call["id"] for call in message.get("tool_calls") or []]
    if open_calls:
        yield "a call without an answer at the end"
    if any(message["role"] == "tool" for message in messages) and not body.get("tools"):
        yield "tool messages without definitions"


class Journey:
    """One run and what it left."""

    def __init__(self, folder, server, model, agent, recorder):
        self.folder = folder
        self.server = server
        self.model = model
        self.agent = agent
        self.recorder = recorder
        self.result = None

    async def run(self, instruction="Search the house."):
        self.result = await self.agent.run(instruction)
        assert self.model.problems == []
        return self.result

    @property
    def ending(self):
        return self.result.status, self.result.reason

    def document(self, name="trajectory.json"):
        """A file of the run, which the format's own package must accept."""
        document = json.loads((self.folder / name).read_text())
        atif.Trajectory.model_validate(document)
        return document

    def documents(self):
        """Every trajectory file by name."""
        return {path.name: self.document(path.name) for path in sorted(self.folder.glob("trajectory*.json"))}

    def totals_are_right(self):
        """The run's totals are the server's, to the token, and those of the steps in all files."""
        told, totals = self.server.totals, self.result.totals
        assert (totals.prompt_tokens, totals.completion_tokens) == (told["prompt"], told["completion"])
        metrics = [
            step["metrics"]
            for document in self.documents().values()
            for step in document["steps"]
            if "metrics" in step and not step.get("is_copied_context")
        ]
        assert sum(each["prompt_tokens"] for each in metrics) == told["prompt"]
        assert sum(each["completion_tokens"] for each in metrics) == told["completion"]


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
def journey(_warm, tmp_path):
    """Build a run: `journey(Model([…]), believes=8000, linear=True, observed=400, …)`.

    `believes` is the window that the agent knows of; each command shows `observed` characters; with `real` a shell in
    tmux on this machine runs it.
    """
    with ExitStack() as stack:

        def build(
            model,
            *,
            believes=None,
            linear=False,
            raw=True,
            observed=400,
            context=None,
            parser=None,
            session=None,
            real=False,
            llm_settings=(),
            llm_name="openai/lab-model",
            settings=(),
            observers=(),
            **keys,
        ):
            server = stack.enter_context(ProviderServer(model))
            info = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
            if believes:
                info["max_input_tokens"] = believes
            llm = LiteLLM(
                LiteLLM.Config(
                    model=llm_name,
                    api_base=server.root_url if llm_name.startswith("anthropic/") else server.url,
                    model_info=info,
                    **{"max_attempts": 1, "timeout_sec": 60, **dict(llm_settings)},
                )
            )
            folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
            if not real:
                session = session or Screen(on_keys=lambda keys: f"ran {keys.strip()}\n{'x' * observed}\nend")
                keys |= {"environment": FakeEnvironment(), "session": FakeBackend(session)}
            data = {"trajectory": {"raw_content": raw, "linear_history": linear}, **dict(settings)}
            recorder = EventRecorder()
            agent = Agent(
                settings=data,
                llm=llm,
                parser=parser or PlainParser(),
                context=context or SummarizeStrategy(SummarizeStrategy.Config()),
                observers=["atif", recorder, *observers],
                observers_strict=True,
                logs_dir=folder,
                **keys,
            )
            return Journey(folder, server, model, agent, recorder)

        yield build
