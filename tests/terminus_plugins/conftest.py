"""What tests of single plugins share."""

import pytest

from tests.support.scripted_run import Program


@pytest.fixture
def program(tmp_path):
    """``terminus run`` in a folder of its own; see :mod:`tests.support.scripted_run`."""
    return Program(tmp_path)
