import os

import pytest

from terminus_core.testing import EnvironmentTests
from terminus_plugins.environments.local import LocalEnvironment


class TestLocal(EnvironmentTests):
    capabilities = frozenset({"streams", "permissions", "trio"} | ({"users"} if os.geteuid() == 0 else set()))

    @pytest.fixture
    def environment(self):
        return LocalEnvironment()
