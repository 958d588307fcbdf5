"""What a part lacks is said before the model is asked anything; what it returns is checked when it returns it."""

import types
from functools import wraps

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
    PartFailedError,
    PluginError,
    ResponseParser,
    SessionBackend,
    hookimpl,
)
from terminus_core.roles import ROLES
from terminus_core.testing import FakeBackend, FakeLLM

from .conftest import LineParser

pytestmark = pytest.mark.anyio


def plain(self, *_, **__):
    return None


async def awaited(self, *_, **__):
    return None


def odd(base, **members):
    return type("Odd", (base,), {"name": "odd", **members})


async def narrow(self, reply):
    return reply


ODD = {
    "no subclass": ("gate", type("Odd", (), {"name": "odd"}), "Odd must subclass Gate: from terminus_core import Gate"),
    "no method": ("gate", odd(Gate), "Odd does not implement before_commands of Gate"),
    "two methods": ("context", odd(ContextStrategy), "Odd does not implement before_request, on_context_length_ex"),
    "plain": ("gate", odd(Gate, before_commands=lambda self, run, reply: reply), ""),
    "annotated": ("completion", odd(CompletionPolicy, decide=plain), ""),
    "async": ("parser", odd(LineParser, parse_response=awaited), "Odd.parse_response: expected a plain `def`, got"),
    "async open": ("session", odd(FakeBackend, open=awaited), "Odd.open: expected a plain `def`, got `async def`"),
    "arguments": ("gate", odd(Gate, before_commands=narrow), "expected before_commands(self, run, reply)"),
    "config": ("parser", odd(LineParser, Config=5), "`Config` has to be a pydantic model"),
    "nameless": ("llm", type("Odd", (FakeLLM,), {"name": None}), "Odd needs a `name: ClassVar[str]`"),
}


def module_with(role, part):
    module = types.ModuleType("odd_module")
    setattr(module, ROLES[role].hook, hookimpl(lambda: [part]))
    return module


def keys_for(role, part):
    return {ROLES[role].key: [part] if ROLES[role].many else part}


@pytest.mark.parametrize("case", [name for name, (_, _, line) in ODD.items() if line])
def test_a_class_that_breaks_the_contract_of_its_role_is_refused(case):
    role, part, line = ODD[case]
    with pytest.raises(PluginError) as caught:
        Agent(plugins=[module_with(role, part)])
    assert "plugin 'odd_module'" in str(caught.value)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    if case not in ("no method", "two methods", "config"):
        with pytest.raises(ConfigError) as refused:
            Agent(**keys_for(role, part()))
        assert line in str(refused.value)


def test_a_method_that_says_what_it_returns_is_believed():
    def annotated(self, run, reply) -> None:
        return reply

    with pytest.raises(PluginError, match=r"Odd\.before_commands: expected `async def`, got a plain `def`"):
        Agent(plugins=[module_with("gate", odd(Gate, before_commands=annotated))])


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"parser": LineParser}, "LineParser is a class; expected an instance of it or a name"),
        ({"observers": [FakeLLM]}, "observer: FakeLLM is a class; expected an instance"),
        ({"environment": 123}, "environment 'int' cannot be used: int needs a `name"),
    ],
)
def test_what_is_no_part_at_all_is_refused(keys, line):
    with pytest.raises(ConfigError) as caught:
        Agent(**keys)
    assert line in str(caught.value)


def unchanged(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Inherits(Gate):
    name = "inherits"

    @unchanged
    async def before_commands(self, run, reply):
        return reply


class HandsOn(Gate):
    name = "hands_on"

    def before_commands(self, run, reply):
        return Inherits().before_commands(run, reply)


class MoreArguments(Gate):
    name = "more"

    async def before_commands(self, run, reply, *, quiet=False, **more):
        return reply


@pytest.mark.parametrize("gate", [Inherits(), HandsOn(), MoreArguments()], ids=["wrapped", "handed-on", "more"])
async def test_whatever_can_be_called_and_awaited_is_accepted(trial, gate):
    result = await trial(["$ ls", "DONE", "DONE"], gates=[gate]).run()
    assert result.status == "completed"


class Forgets(LineParser):
    name = "pnone"

    def parse_response(self, response):
        super().parse_response(response)


class Policy(CompletionPolicy):
    name = "both"

    async def decide(self, run, turn):
        return turn.observation


class Strategy(ContextStrategy):
    name = "forgets"

    async def before_request(self, run, prompt):
        return None

    async def on_context_length_exceeded(self, run, prompt):
        return None


class Model(FakeLLM):
    name = "dict"

    async def call(self, request):
        return {"content": "DONE"}


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"parser": Forgets()}, "'pnone': parse_response returned None, expected ParseResult"),
        ({"completion": Policy()}, "'both': decide returned str, expected Completion"),
        ({"context": Strategy()}, "'forgets': before_request returned None, expected str"),
        ({"llm": Model()}, "'dict': call returned dict, expected LLMResponse"),
        (
            {"gates": [odd(Gate, before_commands=awaited)()]},
            "'odd': before_commands returned None, expected ParseResult",
        ),
    ],
)
async def test_what_a_part_returns_is_checked_at_its_first_use(trial, keys, line):
    result = await trial(["$ ls", "DONE", "DONE"], **keys).run()
    assert result.status == "error"
    assert line in result.reason
    assert isinstance(result.error, PartFailedError)
    assert (result.error.exit_code, result.error_kind, result.error_group) == (1, "plugin_bug", "bug")


def test_the_defaults_of_the_base_classes_are_enough():
    class Place(Environment):
        name = "place"
        exec = upload_file = download_file = awaited

    class Both(CompletionPolicy, ContextStrategy):
        name = "both"
        decide = before_request = on_context_length_exceeded = awaited

    class Silent(LLM):
        name = "model"
        call = awaited
        count_tokens = plain

    class Bare(ResponseParser):
        name = "bare"
        build_prompt = parse_response = completion_confirmation = plain

    class Backend(SessionBackend):
        name = "backend"
        open = plain

    Agent(environment=Place(), completion=Both(), context=Both(), llm=Silent(), parser=Bare(), session=Backend())


async def test_an_observer_may_be_of_any_class(trial):
    class Watch:
        name = "watch"

        def __init__(self):
            self.steps = 0

        @hookimpl
        def terminus_step_recorded(self):
            self.steps += 1

    watch = Watch()
    await trial(["DONE", "DONE"], observers=[watch]).run()
    assert watch.steps == 3


async def test_any_part_may_implement_hooks(trial):
    class Polite(CompletionPolicy):
        name = "polite"

        async def decide(self, run, turn):
            return Completion(turn.observation, done=turn.reply.is_task_complete)

        @hookimpl
        def terminus_prepare_instruction(self, instruction):
            return f"Please: {instruction}"

    t = trial(["DONE"], completion=Polite())
    await t.run("go")
    assert "Please: go" in t.llm.requests[0][0]["content"]
