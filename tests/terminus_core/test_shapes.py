"""What a part lacks is told before the model is asked anything; whatever works is let pass."""

import types
from functools import partial, wraps

import pytest

from terminus_core import (
    LLM,
    Agent,
    Completion,
    CompletionPolicy,
    ConfigError,
    ContextStrategy,
    Environment,
    Gate,
    PluginError,
    hookimpl,
)
from terminus_core.testing import FakeBackend, FakeEnvironment, FakeLLM

from .conftest import LineParser

pytestmark = pytest.mark.anyio


def without(kind, *names, **members):
    """A class of the shape of ``kind`` that is none of its subclasses and lacks some members."""
    shape = {}
    for each in reversed(kind.__mro__[:-1]):
        shape |= {key: value for key, value in vars(each).items() if key.startswith("__a") or not key.startswith("_")}
    for name in names:
        shape.pop(name, None)
    return type("Odd", (), {**shape, "name": "odd", **members})


def plain(self, *_, **__):
    return None


async def awaited(self, *_, **__):
    return None


ODD = [
    ("gate", type("Odd", (), {"name": "odd"}), "Odd has no method 'before_commands', which Gate asks for"),
    ("gate", type("Odd", (), {"name": "odd", "before_commands": plain}), "Odd.before_commands is a plain `def`"),
    ("completion", type("Odd", (), {"name": "odd", "decide": plain}), "`async def` would be right"),
    ("context", type("Odd", (), {"name": "odd", "before_request": awaited}), "'on_context_length_exceeded'"),
    ("parser", without(LineParser, "error_response_type"), "Odd has no attribute 'error_response_type'"),
    ("parser", without(LineParser, parse_response=awaited), "Odd.parse_response is an `async def`"),
    ("parser", without(LineParser, parse_response=5), "Odd has no method 'parse_response'"),
    ("llm", without(FakeLLM, __init__=lambda self: None), "Odd has no attribute 'model_name'"),
    ("environment", without(FakeEnvironment, "__aenter__"), "Odd has no method '__aenter__'"),
    ("session", without(FakeBackend, open=awaited), "Odd.open is an `async def`; a plain `def` would be right"),
]
HOOKS = {"llm": "llms", "parser": "response_parsers", "session": "session_backends", "context": "context_strategies"}
HOOKS["completion"] = "completion_policies"
MANY = {"gate": "gates", "observer": "observers"}


def module_with(role, part):
    @hookimpl
    def register():
        return [part]

    module = types.ModuleType("odd_module")
    setattr(module, f"terminus_register_{HOOKS.get(role, role + 's')}", register)
    return module


def keys_for(role, part):
    return {MANY[role]: [part]} if role in MANY else {role: part}


@pytest.mark.parametrize(("role", "part", "line"), ODD, ids=[f"{role}-{line[-24:]}" for role, _, line in ODD])
async def test_a_part_without_the_shape_of_its_role_is_refused_before_the_run(role, part, line, tmp_path):
    agent = Agent(
        plugins=[module_with(role, part)],
        logs_dir=tmp_path / "run",
        **({"llm": FakeLLM(), "environment": FakeEnvironment(), "session": FakeBackend()} | keys_for(role, "odd")),
    )
    with pytest.raises(PluginError) as caught:
        await agent.run("x")
    assert f"{role} 'odd' of plugin 'odd_module'" in str(caught.value)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError) as caught:
        Agent(**keys_for(role, part()))
    assert line in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"parser": LineParser}, "LineParser is a class; an instance of it would be right"),
        ({"observers": [FakeLLM]}, "observer 'fake' cannot be used: FakeLLM is a class"),
        ({"environment": 123}, "environment 'int' cannot be used: int has no method"),
    ],
)
def test_what_is_no_part_at_all_is_refused(keys, line):
    with pytest.raises(ConfigError) as caught:
        Agent(**keys)
    assert line in str(caught.value)


async def pass_on(run, reply):
    return reply


def unchanged(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Called:
    async def __call__(self, run, reply):
        return reply


class Inherits(Gate):
    name = "inherits"

    @unchanged
    async def before_commands(self, run, reply):
        return reply


class HandsOn(Gate):
    name = "hands_on"

    def before_commands(self, run, reply):
        return Inherits().before_commands(run, reply)


@pytest.mark.parametrize(
    "gate",
    [
        Inherits(),
        HandsOn(),
        types.SimpleNamespace(name="a", before_commands=partial(pass_on)),
        types.SimpleNamespace(name="b", before_commands=Called()),
        types.SimpleNamespace(name="c", before_commands=lambda run, reply: pass_on(run, reply=reply)),
    ],
    ids=["wrapped", "handed-on", "partial", "object", "lambda"],
)
async def test_whatever_can_be_awaited_is_let_pass(trial, gate):
    result = await trial(["$ ls", "DONE", "DONE"], gates=[gate]).run()
    assert result.status == "completed"


async def test_a_part_need_not_subclass_and_may_leave_out_what_is_optional(trial):
    class Policy:
        async def decide(self, run, turn):
            return Completion(turn.observation, done=True)

    class Model:
        model_name = "m"

        def __init__(self):
            self.call = FakeLLM(["DONE"]).call
            self.count_tokens = len

        async def prepare(self):
            self.context_limit = self.output_limit = None

    result = await trial([], llm=Model(), completion=Policy()).run()
    assert result.status == "completed"


def test_an_environment_with_the_defaults_of_its_protocol_is_whole():
    class Place(Environment):
        name = "place"
        exec = upload_file = download_file = awaited

    class Policy(CompletionPolicy, ContextStrategy):
        name = "both"
        decide = before_request = on_context_length_exceeded = awaited

    class Model(LLM):
        name = "model"
        model_name = "m"
        context_limit = output_limit = None
        call = awaited
        count_tokens = plain

    Agent(environment=Place(), completion=Policy(), context=Policy(), llm=Model())
