"""What tests of single plugins share."""

import pytest

from tests.support.scripted_run import Program, running_here


@pytest.fixture
def program(tmp_path):
    """``terminus run`` in a folder of its own; see :mod:`tests.support.scripted_run`."""
    return Program(tmp_path)


@pytest.fixture
def program_here(program, monkeypatch, capsys):
    """The same in this process."""
    with running_here(monkeypatch, capsys) as run:
        yield lambda *options, **more: run(program, *options, **more)
