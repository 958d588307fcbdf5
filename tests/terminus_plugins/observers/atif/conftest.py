"""A real run without a terminal: its events go through the real dispatcher to the observer."""

import json

import atif
import pytest

from terminus_core import LLMResponse, PluginManager, Run, Settings, Trajectory, Usage
from terminus_plugins.observers.atif import AtifObserver


class Parser:
    """Any reply is as good as another: what is tested here begins after the parsing."""

    name = "plain"
    error_response_type = "response"
    tools = None

    def build_prompt(self, instruction, terminal_state):
        return f"Be plain.\n{instruction}\n{terminal_state}"


class Model:
    name = "canned"
    model_name = "lab/canned-1"
    context_limit = None
    output_limit = None

    def __init__(self, answers):
        self.answers = list(answers)

    async def call(self, request):
        request.on_attempt(1)
        return self.answers.pop(0)


class Rig:
    """Runs in one folder, and what is in it."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, settings=None, answers=()):
        """A run whose parts are open."""
        observer = AtifObserver()
        run = Run(
            instruction="Do it.",
            session_id="run-1",
            logs_dir=self.folder,
            settings=Settings.check(settings or {}),
            environment=None,
            backend=None,
            parser=Parser(),
            llm=Model(answers),
            completion=None,
            context=None,
            actions={},
            gates=[],
            observers=[observer],
            hooks=PluginManager().hooks([("observer", observer)], strict=True),
            plugins={"atif": "0.1.0"},
            names={},
        )
        run.hooks.run_started(run)
        return run

    @staticmethod
    def answer(text="Done.", usage=(10, 2), **fields):
        return LLMResponse(text, usage=Usage(*usage), **fields)

    @staticmethod
    def turn(run, response):
        """What the loop does after an answer, as far as an observer sees it."""
        run.chat.add_turn(run.chat.prompt_messages("go on"), response)
        run.hooks.response_received(run, response, None)
        run.record_step("agent", response.content, response=response, model_name=run.llm.model_name)

    @staticmethod
    def finish(run, fault=None):
        run.stop("completed")
        run.hooks.run_finished(run, run.finish(fault))

    def read(self, name="trajectory.json"):
        """A document as plain data, after a strict look at it: as JSON, by the format's own package, by our models."""
        data = json.loads((self.folder / name).read_bytes().decode("utf-8"), parse_constant=pytest.fail)
        atif.Trajectory.model_validate(data)
        Trajectory.model_validate(data)
        return data

    def replies(self):
        """Each whole line; a kill may leave an unfinished one."""
        lines = (self.folder / "replies.jsonl").read_bytes().rpartition(b"\n")[0].decode("utf-8").splitlines()
        return [json.loads(line, parse_constant=pytest.fail) for line in lines]

    def hidden(self):
        return sorted(path.name for path in self.folder.iterdir() if path.name.startswith("."))


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)
