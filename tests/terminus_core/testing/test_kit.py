"""What authors get: suites that cannot be thinned out, that fail for parts that are wrong, and a pytest plugin."""

import textwrap

import pytest

from terminus_core import testing
from terminus_core.roles import ROLES
from terminus_core.testing import ConformanceSuite, GateTests, SessionBackendTests

pytest_plugins = ["pytester"]

SUITES = {
    "environment": "EnvironmentTests",
    "session": "SessionBackendTests",
    "parser": "ResponseParserTests",
    "llm": "LLMTests",
    "completion": "CompletionPolicyTests",
    "context": "ContextStrategyTests",
    "action": "ActionTests",
    "gate": "GateTests",
    "observer": "ObserverTests",
}


def test_every_role_has_a_suite():
    assert SUITES.keys() == ROLES.keys()
    for name in SUITES.values():
        assert issubclass(getattr(testing, name), ConformanceSuite)


def test_public_names_are_there():
    for name in testing.__all__:
        assert getattr(testing, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = testing.Nothing


@pytest.mark.parametrize("replacement", [None, lambda _self: None])
@pytest.mark.parametrize("name", SUITES.values())
def test_a_test_cannot_be_taken_away(name, replacement):
    suite = getattr(testing, name)
    test = next(each for each in dir(suite) if each.startswith("test"))
    with pytest.raises(TypeError, match=f"TestMine overrides {test}"):
        type("TestMine", (suite,), {test: replacement})


def test_a_test_cannot_be_taken_away_by_a_class_mixed_in():
    class Mixin:
        def test_what_is_allowed_is_typed(self):
            pass

    with pytest.raises(TypeError, match="test_what_is_allowed_is_typed"):
        type("TestMine", (Mixin, GateTests), {})
    type("TestMine", (GateTests, Mixin), {})


def test_the_check_of_capabilities_cannot_be_taken_away():
    with pytest.raises(TypeError, match="_only_declared"):
        type("TestMine", (GateTests,), {"_only_declared": None})


def test_a_suite_names_what_a_complete_part_declares():
    some = type("TestMine", (SessionBackendTests,), {"capabilities": frozenset({"trio", "rows", "screen"})})
    everything = {"exit_status", "history", "prompt", "resize", "restart", "resume", "rows", "screen", "stream", "trio"}
    assert SessionBackendTests.complete_capabilities == everything
    assert some.missing_capabilities() == everything - {"trio", "rows", "screen"}


WRONG = {
    "gate": (
        """
        from terminus_core import Gate
        from terminus_core.testing import GateTests

        class Leaky(Gate):
            name = "leaky"
            async def before_commands(self, run, reply):
                reply.commands = reply.commands[:1]
                return reply

        class TestLeaky(GateTests):
            capabilities = frozenset({"trio", "allows", "refuses"})
            @pytest.fixture
            def gate(self):
                return Leaky()
        """,
        {"what_is_allowed_is_typed", "what_is_refused_is_not_typed", "refused_claim", "left_as_it_was"},
    ),
    "parser": (
        """
        from terminus_core import Command, LLMResponse, ParseResult, ResponseParser
        from terminus_core.testing import ResponseParserTests

        class Hasty(ResponseParser):
            name = "hasty"
            error_response_type = "text"
            def build_prompt(self, instruction, terminal_state):
                return "{instruction} {terminal_state}".replace("{instruction}", instruction).replace(
                    "{terminal_state}", terminal_state
                )
            def parse_response(self, response):
                if not response.content.strip():
                    return ParseResult(error="nothing was said")
                return ParseResult([Command(response.content)])
            def completion_confirmation(self, terminal_output):
                return f"{terminal_output} and are you sure?"

        class TestHasty(ResponseParserTests):
            capabilities = frozenset({"trio", "any_text"})
            @pytest.fixture
            def parser(self):
                return Hasty()
            def answer(self, commands, *, claim=False):
                return LLMResponse(commands[0].keystrokes)
        """,
        {"the_prompt_shows_task_and_terminal", "any_text_is_read", "a_cut_answer_types_nothing"},
    ),
    "completion": (
        """
        from terminus_core import Completion, CompletionPolicy
        from terminus_core.testing import CompletionPolicyTests

        class Keeps(CompletionPolicy):
            name = "keeps"
            claimed = False
            async def decide(self, run, turn):
                done = self.claimed and turn.reply.is_task_complete
                self.claimed |= turn.reply.is_task_complete
                return Completion(turn.observation + " Sure?", done)

        class TestKeeps(CompletionPolicyTests):
            capabilities = frozenset({"trio", "asks"})
            @pytest.fixture
            def policy(self):
                return Keeps()
        """,
        {"unusable_never_counts", "work_in_between", "new_run_begins_without_claims"},
    ),
    "context": (
        """
        from terminus_core import ContextStrategy
        from terminus_core.testing import ContextStrategyTests

        class Chops(ContextStrategy):
            name = "chops"
            async def before_request(self, run, prompt):
                run.llm.count_tokens(run.chat.messages)
                return prompt
            async def on_context_length_exceeded(self, run, prompt):
                run.chat.replace(run.chat.messages[-3:])
                return prompt

        class TestChops(ContextStrategyTests):
            capabilities = frozenset({"trio", "makes_room"})
            @pytest.fixture
            def strategy(self):
                return Chops()
        """,
        {"counting_costs_what_is_new", "longer_than_the_window", "a_window_that_nobody_told"},
    ),
    "observer": (
        """
        from terminus_core import hookimpl
        from terminus_core.testing import ObserverTests

        class Meddles:
            name = "meddles"
            @hookimpl
            def terminus_run_started(self, run):
                run.session.listen(lambda event: None)
            @hookimpl
            def terminus_step_recorded(self, run, step):
                path = run.logs_dir / "steps"
                path.write_text(step.message)
                run.files.append(path)
            @hookimpl
            def terminus_prepare_messages(self, run, messages):
                messages[0]["content"] = "changed"

        class TestMeddles(ObserverTests):
            @pytest.fixture
            def make_observer(self):
                return Meddles
        """,
        {"chat_stays", "changes_only_what_it_says", "stops_listening", "files_are_in"},
    ),
    "llm": (
        """
        from terminus_core import LLM, LLMResponse
        from terminus_core.testing import LLMTests

        class Silly(LLM):
            name = "silly"
            model_name = ""
            context_limit = 0
            output_limit = None
            async def call(self, request):
                request.messages.clear()
                return LLMResponse("hello")
            def count_tokens(self, messages):
                return 7

        class TestSilly(LLMTests):
            capabilities = LLMTests.complete_capabilities - {"silence"}
            @pytest.fixture
            def make_llm(self):
                return lambda *script: Silly()
        """,
        {
            *{"names_and_limits", "counting_is_about_right", "the_providers", "told_before_it_is_sent", "left_alone"},
            *{"usage_is", "tool_calls_keep", "at_the_same_time", "a_fault_is", "too_long"},
        },
    ),
}


@pytest.mark.parametrize("role", WRONG)
def test_a_suite_finds_what_is_wrong(pytester, role):
    code, expected = WRONG[role]
    pytester.makepyfile("import pytest\n" + textwrap.dedent(code))
    result = pytester.runpytest_inprocess("-k", "not trio", "-p", "no:cacheprovider", "--tb=no")
    failed = {line.split("::")[-1].split("[")[0] for line in result.outlines if line.startswith("FAILED")}
    for part in expected:
        assert [each for each in failed if part in each], (part, failed)
    assert len(failed) <= len(expected) + 2, failed


def test_the_pytest_plugin_brings_doubles(pytester):
    pytester.makeconftest('pytest_plugins = ["terminus_core.testing.pytest_plugin"]')
    pytester.makepyfile(
        """
        import pytest
        from terminus_core import Agent, Command, ParseResult

        pytestmark = pytest.mark.anyio

        async def test_doubles(
            fake_llm, fake_session, fake_backend, fake_environment, event_recorder, tmp_path, anyio_backend_name
        ):
            agent = Agent(
                llm=fake_llm("no JSON", "still none"), session=fake_backend, environment=fake_environment,
                observers=[event_recorder], parser="json", context="none", max_episodes=2, logs_dir=tmp_path / "run",
            )
            result = await agent.run("the task")
            assert result.status == "max_episodes"
            assert fake_session.sent == []
            assert event_recorder.names()[-1] == "run_finished"

        async def test_trial(trial):
            run = trial([ParseResult([Command("ls\\\\n")]), *[ParseResult(is_task_complete=True)] * 2])
            assert (await run.run()).status == "completed"
            assert run.typed == ["ls\\\\n"]
        """
    )
    result = pytester.runpytest_subprocess("-v", "-p", "no:cacheprovider", "-W", "error")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*test_doubles?asyncio? PASSED*", "*test_doubles?trio? PASSED*"])


def test_nothing_of_the_kit_is_loaded_unasked(pytester):
    pytester.makepyfile("import sys\ndef test_it():\n    assert 'terminus_core' not in sys.modules")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
