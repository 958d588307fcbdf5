"""What authors of plugins may rely on in the conformance suites."""

import pytest

from terminus_core.testing import EnvironmentTests, needs

pytest_plugins = ["pytester"]


def test_taking_a_test_away_is_refused():
    with pytest.raises(TypeError, match="test_exec_has_no_input"):
        type("TestGhost", (EnvironmentTests,), {"test_exec_has_no_input": None})


def test_a_subclass_of_a_subclass_cannot_take_one_away_either():
    middle = type("Middle", (EnvironmentTests,), {"test_of_its_own": lambda _self: None})
    with pytest.raises(TypeError, match="test_of_its_own"):
        type("TestGhost", (middle,), {"test_of_its_own": lambda _self: None})


def test_unknown_capabilities_are_refused():
    with pytest.raises(TypeError, match=r"flight.*known are: permissions, streams, trio, users"):
        type("TestGhost", (EnvironmentTests,), {"capabilities": frozenset({"flight"})})


def test_what_is_missing_to_be_complete():
    ghost = type("TestGhost", (EnvironmentTests,), {"capabilities": frozenset({"trio", "users"})})
    assert ghost.missing_capabilities() == {"permissions", "streams"}


def test_tests_of_undeclared_capabilities_are_skipped_with_the_reason(pytester):
    pytester.makepyfile(
        """
        from terminus_core.testing import ConformanceSuite, needs

        class Suite(ConformanceSuite):
            known_capabilities = {**ConformanceSuite.known_capabilities, "wings": "", "tail": ""}

            @needs("wings", "tail")
            async def test_flight(self):
                raise AssertionError

            @needs("tail")
            async def test_tail(self):
                pass

        class TestGhost(Suite):
            capabilities = frozenset({"tail"})
        """
    )
    result = pytester.runpytest_subprocess("-rs", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, skipped=3)
    result.stdout.fnmatch_lines(["*capability not declared: wings", "*capability not declared: trio*"])


def test_a_failed_check_shows_its_values(pytester):
    pytester.makepyfile(
        """
        import pytest
        from terminus_core import ExecResult
        from terminus_core.testing import EnvironmentTests, FakeEnvironment

        class Deaf(FakeEnvironment):
            async def exec(self, command, **options):
                return ExecResult(stdout="nothing of it")

        class TestDeaf(EnvironmentTests):
            @pytest.fixture
            def environment(self):
                return Deaf()
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-x")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *nothing of it*"])


def test_a_mark_keeps_the_test():
    def test():
        return 1

    assert needs("wings")(test) is test
