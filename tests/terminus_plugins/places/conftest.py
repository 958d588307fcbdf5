"""Real places, each started once for all tests of a module."""

import pytest

from tests.support import sshd


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A user with an empty home, who is root by another name."""
    with sshd.user_with_empty_home(tmp_path_factory.mktemp("user"), as_root=True) as user:
        yield user


@pytest.fixture(scope="module")
def server(tmp_path_factory, home):
    """An SSH server that lets that user in."""
    with sshd.running(tmp_path_factory.mktemp("sshd"), user=home) as server:
        yield server
