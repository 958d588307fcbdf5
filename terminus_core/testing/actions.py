"""The conformance suite of actions.

An author's whole test file::

    class TestClock(ActionTests):
        arguments = {"zone": "UTC"}

        @pytest.fixture
        def action(self):
            return ClockAction()
"""

# ruff: noqa: S101 - a suite asserts

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from terminus_core import Action, ActionCall, ParseResult
from terminus_core.testing.suite import ConformanceSuite
from terminus_core.testing.trial import Trial


class ActionTests(ConformanceSuite):
    """What every action must do."""

    arguments: ClassVar[dict[str, Any]] = {}
    """Arguments that a call may have."""

    @pytest.fixture
    def action(self) -> Action:
        """The action under test. Override this one."""
        raise NotImplementedError("override the fixture `action`")

    def test_it_says_what_it_is_for(self, action: Action) -> None:
        """Every parser puts this before the model."""
        assert action.description.strip()
        assert action.parameters.get("type") == "object"
        assert isinstance(action.parameters.get("properties", {}), dict)
        json.dumps(action.parameters)

    def test_the_arguments_of_the_suite_fit(self, action: Action) -> None:
        """``arguments`` of the suite, and nothing unknown."""
        assert action.argument_faults(self.arguments) == []
        assert action.argument_faults({**self.arguments, "no such argument": 1})

    async def test_its_result_joins_the_observation(self, action: Action, tmp_path: Path) -> None:
        """A call is performed once, recorded as a tool call, and says something to the model."""
        results = [ParseResult(actions=[ActionCall(action.name, dict(self.arguments))]), ParseResult()]
        trial = Trial(results, logs_dir=tmp_path / "run", actions=[action])
        result = await trial.run()
        assert result.status == "max_episodes", result.reason
        first, second = [step for step in trial.steps if step.source == "agent"]
        assert [call.function_name for call in first.tool_calls or []] == [action.name]
        assert len(str(trial.observations[0])) > len(str(trial.observations[1]))
        assert second.tool_calls is None
