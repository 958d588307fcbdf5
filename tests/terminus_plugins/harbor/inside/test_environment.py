"""Harbor's places pass the suite of environments."""

import pytest

from terminus_core.testing import EnvironmentTests
from terminus_plugins.harbor import HarborEnvironment


class Started(HarborEnvironment):
    """Starts and stops Harbor's part, which Harbor does in a trial."""

    def __init__(self, opened) -> None:
        self._opened = opened()

    async def __aenter__(self):
        super().__init__(await self._opened.__aenter__())
        return self

    async def __aexit__(self, *error) -> None:
        await self._opened.__aexit__(*error)


class TestHarborEnvironment(EnvironmentTests):
    capabilities = frozenset({"permissions"})

    @pytest.fixture
    def environment(self, place):
        return Started(place)
