import pytest

from terminus_core.testing import EnvironmentTests
from terminus_plugins.environments.sandbox import SandboxConfig, SandboxEnvironment
from tests.support.places import need


class TestSandbox(EnvironmentTests):
    capabilities = frozenset({"streams", "permissions", "trio"})

    @pytest.fixture
    def environment(self, tmp_path_factory):
        need("bwrap", "bubblewrap")
        return SandboxEnvironment(SandboxConfig(folder=str(tmp_path_factory.mktemp("work"))))
