"""Every hook is documented with its signature and an example that does what the page says, and is used in the box."""

import importlib.util
import inspect
import json
import re
import sys
from contextlib import chdir, redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from terminus_core import LLM, ActionCall, Agent, Gate, LLMRequest, Message, RequestFailure
from terminus_core.hook_rules import OBSERVABLE, SPECS
from tests.support.markdown_blocks import blocks, write_files
from tests.support.provider_server import ProviderServer, answer

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "hooks.md"
EXAMPLES = [block for block in blocks(PAGE) if block.word == "file"]

WORK = "echo me@example.com\nprintf 'x%.0s' $(seq 600)\necho never typed"
REPLIES = ["", WORK, "DONE", "touch result.txt", "DONE"]


def test_the_page_has_every_hook_with_its_exact_signature():
    shown = [block.text.strip() for block in blocks(PAGE) if block.word == "shows"]
    assert shown == [f"{name}{inspect.signature(spec)}".replace("'", "") for name, spec in SPECS.items()]
    assert re.findall(r"^### (.+)$", PAGE.read_text(), re.MULTILINE) == list(SPECS)


@pytest.fixture(scope="module")
def generated():
    """The module that makes parts of the pages."""
    spec = importlib.util.spec_from_file_location("generated_pages", DOCS / "generated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("hook", SPECS)
def test_a_plugin_in_the_box_uses_it(hook, generated):
    assert generated.implementers(hook)


def test_there_is_one_example_for_each_hook():
    made = [re.findall(r"^def (terminus_\w+)", block.text, re.MULTILINE) for block in EXAMPLES]
    assert made == [[hook] for hook in SPECS]


class Aside(Gate):
    """Asks the model something beside the chat, once, and has the clock asked."""

    name = "aside"

    def __init__(self):
        self._asked = False

    async def before_commands(self, run, reply):
        if not self._asked:
            self._asked = True
            await run.ask_aside("check", [Message(role="user", content="Is that wise?")])
            reply = replace(reply, actions=[ActionCall("clock", {"zone": "UTC"})])
        return reply


class Flaky(LLM):
    """An LLM whose first request each time is lost."""

    name = "flaky"

    def __init__(self, llm):
        self._llm = llm
        self.model_name, self.context_limit, self.output_limit = "m", None, None

    async def call(self, request):
        request.on_attempt(1)
        request.on_failure(RequestFailure(reason="it was lost", attempt=1, max_attempts=2, pause_sec=0.0))
        return await self._llm.call(
            LLMRequest(request.messages, on_attempt=lambda number: request.on_attempt(number + 1))
        )

    def count_tokens(self, messages):
        return self._llm.count_tokens(messages)


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def done(request, tmp_path_factory):
    """One run with every example loaded, and every part that they bring in use."""
    folder = tmp_path_factory.mktemp("hooks")
    write_files(EXAMPLES, folder / "plugins")
    (folder / "notes").mkdir()
    (folder / "notes" / "style.md").write_text("Write short lines.")
    replies = [answer(text) for text in REPLIES]
    replies.insert(2, answer("It is."))  # to the question of the gate
    before = set(sys.modules)
    with ProviderServer(replies) as server, chdir(folder), redirect_stderr(StringIO()) as stderr:
        agent = Agent(
            environment="through",
            session="lines",
            parser="plain",
            completion="file_exists",
            context="newest",
            actions=["clock"],
            gates=["few", Aside()],
            observers=["atif", "slowest"],
            observers_strict=True,
            plugins=[str(folder / "plugins" / block.what) for block in EXAMPLES],
            settings={
                "environment": {"through": {"prefix": ["nice", "-n", "1"]}},
                "completion": {"file_exists": {"path": "result.txt"}},
                "context": {"newest": {"max_turns": 2}},
                "gate": {"few": {"most": 2}},
                "llm": {"endpoint": {"model": "m", "api_base": server.url}},
            },
            llm="endpoint",
            logs_dir=folder / "runs" / "one",
        )
        endpoint = agent.plugins.build("llm", "endpoint", agent.settings)
        agent = Agent(
            llm=Flaky(endpoint),
            settings=agent.settings,
            plugins=[str(folder / "plugins" / block.what) for block in EXAMPLES],
            gates=["few", Aside()],
        )
        result = anyio.run(agent.run, "Make result.txt.", backend=request.param)
        requests = [each.json["messages"] for each in server.requests]
    for name in set(sys.modules) - before:
        if name in {Path(block.what).stem for block in EXAMPLES}:
            del sys.modules[name]
    logs = folder / "runs" / "one"
    files = {path.name: path.read_text() for path in logs.iterdir() if path.is_file()}
    files["runs.csv"] = (folder / "runs" / "runs.csv").read_text()
    return SimpleNamespace(result=result, requests=requests, files=files, stderr=stderr.getvalue())


def sent(done):
    """All that the model has been shown."""
    return "\n".join(str(message["content"]) for messages in done.requests for message in messages)


def steps(done):
    return json.loads(done.files["trajectory.json"])["steps"]


EFFECTS = {
    "terminus_register_environments": lambda done: "x" * 400 in sent(done),
    "terminus_register_session_backends": lambda done: "echo me@example.com\nme@example.com\n$ printf" in sent(done),
    "terminus_register_response_parsers": lambda done: (
        "Please fix these issues and provide a proper list of shell commands." in str(done.requests)
    ),
    "terminus_register_llms": lambda done: done.result.totals.prompt_tokens and len(done.requests) == 6,
    "terminus_register_completion_policies": lambda done: (
        "Not done yet: there is no result.txt." in str(steps(done)) and done.result.status == "completed"
    ),
    "terminus_register_context_strategies": lambda done: [len(each) for each in done.requests][-1] == 6,
    "terminus_register_actions": lambda done: "It is 7 UTC." in sent(done),
    "terminus_register_gates": lambda done: "Only the first 2 of your 3 commands were typed." in str(steps(done)),
    "terminus_register_observers": lambda done: done.result.metadata["slowest"][0] > 0,
    "terminus_run_started": lambda done: done.files["watch.txt"] == "\n",
    "terminus_request_started": lambda done: done.result.metadata["retries"] == 6,
    "terminus_request_failed": lambda done: done.result.metadata["reasons"] == ["1 of 2: it was lost"] * 6,
    "terminus_response_received": lambda done: (
        [line.split(",")[0] + line.split(",")[3] for line in done.files["tokens.csv"].splitlines()]
        == ["10", "23", "30", "41", "50"]
    ),
    "terminus_command_sent": lambda done: (
        [line.split()[0] for line in done.files["typed.txt"].splitlines()] == ["2.0", "2.1", "4.0"]
    ),
    "terminus_record_marker": lambda done: "\a" in done.stderr,
    "terminus_step_recorded": lambda done: (
        [json.loads(line)["step_id"] for line in done.files["steps.jsonl"].splitlines()]
        == [step["step_id"] for step in steps(done)]
    ),
    "terminus_subagent_finished": lambda done: done.result.metadata["asides"] == {"check": 0.0},
    "terminus_history_replaced": lambda done: "Not done yet" in done.files["handoff-1.txt"],
    "terminus_run_finished": lambda done: done.files["runs.csv"].split(",")[1:3] == ["completed", "5"],
    "terminus_prepare_instruction": lambda done: (
        "Make result.txt.\n\nRead these before you begin:\nnotes/style.md" in done.requests[0][1]["content"]
    ),
    "terminus_prepare_messages": lambda done: all(
        messages[0] == {"role": "system", "content": "You are careful: you look before you delete."}
        for messages in done.requests
    ),
    "terminus_filter_observation": lambda done: "x" * 500 + " …" in sent(done) and "x" * 501 not in sent(done),
    "terminus_redact": lambda done: (
        "echo ***" in done.files["typed.txt"] and not any("example.com" in text for text in done.files.values())
    ),
}
"""What each example leaves behind, when the run's requests, files and result are looked at."""


@pytest.mark.parametrize("hook", SPECS)
def test_an_example_does_what_it_says(hook, done):
    assert EFFECTS[hook](done)


def test_only_events_and_filters_are_for_observers():
    text = PAGE.read_text()
    registrations = text[text.index("## Registrations") : text.index("## Events")]
    assert set(re.findall(r"^### (.+)$", registrations, re.MULTILINE)) == SPECS.keys() - OBSERVABLE
