"""The conformance suite of environments.

An author's whole test file::

    class TestGhost(EnvironmentTests):
        capabilities = frozenset({"streams", "trio"})

        @pytest.fixture
        def environment(self):
            return GhostEnvironment()

Commands of the suite are plain ``sh`` with the tools that busybox has, too.
"""

# ruff: noqa: PT012 - a suite asserts

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from terminus_core.testing.environment_exec import EnvironmentExecTests
from terminus_core.testing.environment_files import EnvironmentFileTests
from terminus_core.testing.environment_processes import EnvironmentProcessTests

if TYPE_CHECKING:
    from terminus_core import Environment


class EnvironmentTests(EnvironmentExecTests, EnvironmentProcessTests, EnvironmentFileTests):
    """What every environment must do, by capability."""

    async def test_an_error_of_the_body_leaves_the_environment(self, environment: Environment) -> None:
        """It comes out as it is."""
        with pytest.raises(ZeroDivisionError):
            async with environment as place:
                await place.exec("true")
                raise ZeroDivisionError
