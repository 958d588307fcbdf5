r"""The conformance suite of gates.

An author's whole test file::

    class TestNight(GateTests):
        allowed = ParseResult([Command("ls\n")])
        refused = ParseResult([Command("rm -r /\n")])

        @pytest.fixture
        def gate(self):
            return NightGate()
"""

# ruff: noqa: S101, PLR2004 - a suite asserts

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from terminus_core import Command, Gate, ParseResult
from terminus_core.testing.suite import ConformanceSuite, needs
from terminus_core.testing.trial import Trial


class GateTests(ConformanceSuite):
    """What every gate must do, by capability."""

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "allows": "lets `allowed` pass as it is",
        "refuses": "refuses `refused`",
    }
    complete_capabilities: ClassVar[frozenset[str]] = frozenset({"trio"})
    allowed: ClassVar[ParseResult] = ParseResult([Command("echo one\n"), Command("echo two\n")])
    """A reply that the gate lets pass."""
    refused: ClassVar[ParseResult] = ParseResult([Command("echo one\n"), Command("rm -r /\n")])
    """A reply that it refuses."""

    @pytest.fixture
    def gate(self) -> Gate:
        """The gate under test. Override this one."""
        raise NotImplementedError("override the fixture `gate`")

    @needs("allows")
    async def test_what_is_allowed_is_typed(self, gate: Gate, tmp_path: Path) -> None:
        """All of it, in order, each time."""
        trial = Trial([copy.deepcopy(self.allowed) for _ in range(3)], logs_dir=tmp_path / "run", gates=[gate])
        await trial.run()
        assert trial.typed == [command.keystrokes for command in self.allowed.commands] * 3

    @needs("refuses")
    async def test_what_is_refused_is_not_typed(self, gate: Gate, tmp_path: Path) -> None:
        """Not even in part; the model reads why, and the run goes on."""
        results = [copy.deepcopy(self.refused) for _ in range(3)]
        trial = Trial(results, logs_dir=tmp_path / "run", gates=[gate])
        result = await trial.run()
        assert trial.typed == []
        assert result.status == "max_episodes"
        assert len(trial.observations) == 3
        for text in trial.observations:
            assert text.strip()
            assert "Terminal Output:" not in text

    @needs("refuses")
    async def test_a_refused_claim_ends_nothing(self, gate: Gate, tmp_path: Path) -> None:
        """A refusal neither confirms a claim nor takes one back."""
        claim, refused = ParseResult(is_task_complete=True), replace(self.refused, is_task_complete=True)
        results = [copy.deepcopy(each) for each in (claim, refused, refused, claim)]
        trial = Trial(results, logs_dir=tmp_path / "run", gates=[gate])
        result = await trial.run()
        assert (result.status, result.n_episodes) == ("completed", 4)
        assert trial.typed == []

    async def test_a_reply_is_left_as_it_was(self, gate: Gate, tmp_path: Path) -> None:
        """A gate that changes something gives a new reply: observers have been told the old one."""
        replies = [self.allowed, self.refused]
        trial = Trial([copy.deepcopy(each) for each in replies], logs_dir=tmp_path / "run", gates=[gate])
        await trial.run()
        told = [reply for _, reply in trial.recorder.values("response_received")]
        assert told == replies

    async def test_a_verdict_is_a_reply_or_a_reason(self, gate: Gate, tmp_path: Path) -> None:
        """Either with something in it."""
        verdicts: list[ParseResult | str] = []

        class Kept(Gate):
            name: ClassVar[str] = "kept"

            async def before_commands(self, run: object, reply: ParseResult) -> ParseResult | str:
                verdicts.append(await gate.before_commands(run, reply))  # type: ignore[arg-type]  # passed through
                return verdicts[-1]

        results = [copy.deepcopy(each) for each in (self.allowed, self.refused)]
        await Trial(results, logs_dir=tmp_path / "run", gates=[Kept()]).run()
        assert len(verdicts) == 2
        for verdict in verdicts:
            assert isinstance(verdict, ParseResult) or verdict.strip()
