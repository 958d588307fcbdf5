"""What tests of single plugins share."""

import logging
import os

import pytest

from terminus_core.cli import main
from tests.support.scripted_run import Done, Program


@pytest.fixture
def program(tmp_path):
    """``terminus run`` in a folder of its own; see :mod:`tests.support.scripted_run`."""
    return Program(tmp_path)


@pytest.fixture
def program_here(program, monkeypatch, capsys):
    """The same in this process: litellm's import takes seconds, once."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level

    def run(*options, **more):
        for name in os.environ.keys() - program.variables.keys():
            monkeypatch.delenv(name)
        for name, value in program.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(program.folder)
        capsys.readouterr()
        code = main(program.arguments(*options, **more)[3:])
        return Done(code, *capsys.readouterr(), program.logs)

    yield run
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
