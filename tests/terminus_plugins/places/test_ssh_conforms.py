import pytest

from terminus_core.testing import EnvironmentTests
from terminus_plugins.environments.ssh import SshConfig, SshEnvironment


class TestSsh(EnvironmentTests):
    capabilities = frozenset({"streams", "permissions", "trio", "users"})

    @pytest.fixture
    def environment(self, server):
        return SshEnvironment(SshConfig(**server.settings()))
