import os

import pytest

from terminus_core.testing import EnvironmentTests
from terminus_plugins.environments.ssh import SshConfig, SshEnvironment
from tests.support import sshd


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with sshd.running(tmp_path_factory.mktemp("sshd")) as server:
        yield server


class TestSsh(EnvironmentTests):
    capabilities = frozenset({"streams", "permissions", "trio"} | ({"users"} if os.geteuid() == 0 else set()))

    @pytest.fixture
    def environment(self, server):
        return SshEnvironment(SshConfig(**server.settings()))
