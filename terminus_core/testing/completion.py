"""The conformance suite of completion policies.

An author's whole test file::

    class TestPatient(CompletionPolicyTests):
        @pytest.fixture
        def policy(self):
            return PatientPolicy()
"""

# ruff: noqa: S101, PLR2004 - a suite asserts

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from terminus_core import Command, CompletionPolicy, Environment, ParseResult
from terminus_core.testing.doubles import FakeEnvironment
from terminus_core.testing.suite import ConformanceSuite, needs
from terminus_core.testing.trial import Trial


def works(number: int = 0) -> ParseResult:
    """A reply that goes on."""
    return ParseResult(commands=[Command(f"echo {number}\n", 0.0)])


def claims() -> ParseResult:
    """A reply that says that the task is done."""
    return ParseResult(is_task_complete=True)


class CompletionPolicyTests(ConformanceSuite):
    """What every policy must do, by capability. In :meth:`environment` the task is done."""

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "asks": "a first claim is answered with a question, and the claim has to be repeated",
    }
    complete_capabilities: ClassVar[frozenset[str]] = frozenset({"trio"})
    max_claims: ClassVar[int] = 2
    """Claims in a row after which a run is over, if the task is done."""

    @pytest.fixture
    def policy(self) -> CompletionPolicy:
        """The policy under test. Override this one."""
        raise NotImplementedError("override the fixture `policy`")

    @pytest.fixture
    def environment(self) -> Environment:
        """Where the run takes place, for policies that look there; the task is done in it."""
        return FakeEnvironment()

    @pytest.fixture
    def logs_dir(self, tmp_path: Path) -> Path:
        """The run's folder."""
        return tmp_path / "run"

    async def test_without_a_claim_a_run_goes_on(
        self, policy: CompletionPolicy, environment: Environment, logs_dir: Path
    ) -> None:
        """And the model sees its terminal."""
        outputs = ["$", *[f"seen {n}" for n in range(4)]]
        trial = Trial(
            [works(n) for n in range(4)],
            logs_dir=logs_dir,
            completion=policy,
            environment=environment,
            outputs=outputs,
        )
        result = await trial.run()
        assert (result.status, result.n_episodes) == ("max_episodes", 4)
        assert all(f"seen {n}" in text for n, text in enumerate(trial.observations))

    async def test_a_claim_that_is_kept_up_ends_the_run(
        self, policy: CompletionPolicy, environment: Environment, logs_dir: Path
    ) -> None:
        """After the number of claims that the policy wants."""
        trial = Trial(
            [works(), *[claims() for _ in range(self.max_claims + 3)]],
            logs_dir=logs_dir,
            completion=policy,
            environment=environment,
        )
        result = await trial.run()
        assert result.status == "completed"
        assert 2 <= result.n_episodes <= self.max_claims + 1

    async def test_commands_beside_a_claim_are_typed(
        self, policy: CompletionPolicy, environment: Environment, logs_dir: Path
    ) -> None:
        """Also those of the claim that ends the run."""
        both = [ParseResult([Command(f"echo {n}\n", 0.0)], is_task_complete=True) for n in range(self.max_claims)]
        trial = Trial(both, logs_dir=logs_dir, completion=policy, environment=environment)
        result = await trial.run()
        assert result.status == "completed"
        assert trial.typed == [f"echo {n}\n" for n in range(result.n_episodes)]

    async def test_a_claim_whose_commands_are_unusable_never_counts(
        self, policy: CompletionPolicy, environment: Environment, logs_dir: Path
    ) -> None:
        """However often; the model is answered each time."""
        unusable = [ParseResult(is_task_complete=True, commands_unusable=True) for _ in range(6)]
        trial = Trial(unusable, logs_dir=logs_dir, completion=policy, environment=environment)
        result = await trial.run()
        assert result.status == "max_episodes"
        assert all(text.strip() for text in trial.observations)

    @needs("asks")
    async def test_the_question_shows_the_terminal(
        self, policy: CompletionPolicy, environment: Environment, logs_dir: Path
    ) -> None:
        """A first claim does not count, and the terminal's text is not lost."""
        trial = Trial(
            [claims()], logs_dir=logs_dir, completion=policy, environment=environment, outputs=["$", "all is well"]
        )
        result = await trial.run()
        assert result.status == "max_episodes"
        assert "all is well" in trial.observations[0]
        assert trial.observations[0].strip() != "New Terminal Output:\nall is well"

    @needs("asks")
    async def test_work_in_between_takes_a_claim_back(
        self, policy: CompletionPolicy, environment: Environment, logs_dir: Path
    ) -> None:
        """Only claims in direct sequence confirm each other."""
        results = [claims(), works(), claims(), works(), claims()]
        trial = Trial(results, logs_dir=logs_dir, completion=policy, environment=environment)
        assert (await trial.run()).status == "max_episodes"

    @needs("asks")
    async def test_an_answer_that_could_not_be_read_leaves_a_claim_pending(
        self, policy: CompletionPolicy, environment: Environment, logs_dir: Path
    ) -> None:
        """Such a turn is none for the policy."""
        broken = ParseResult(error="not understood")
        results = [claims(), broken, *[claims() for _ in range(self.max_claims - 1)]]
        trial = Trial(results, logs_dir=logs_dir, completion=policy, environment=environment)
        assert (await trial.run()).status == "completed"

    @needs("asks")
    async def test_a_new_run_begins_without_claims(
        self, policy: CompletionPolicy, environment: Environment, tmp_path: Path
    ) -> None:
        """What is pending belongs to the run."""
        for number in range(3):
            trial = Trial([claims()], logs_dir=tmp_path / str(number), completion=policy, environment=environment)
            assert (await trial.run()).status == "max_episodes"
