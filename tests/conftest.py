"""What every test may rely on: both event loops, and nobody's settings."""

import logging
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from terminus_core import secret_names
from tests.support import leftovers
from tests.support.groups import groups_of

# The same examples each time, however slow the machine is.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


MARK = leftovers.begin()


def pytest_sessionfinish(session):
    """A test that leaves a process behind fails the run."""
    if MARK and (found := leftovers.left_over(MARK)):
        print("\nstill there after the tests:", *found, sep="\n  ")  # noqa: T201 - for the person at the terminal
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_modifyitems(items):
    for item in items:
        for group in groups_of(item.nodeid):
            item.add_marker(group)


# A shell starts what runs in its background deaf to Ctrl-C, and so would be the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture(autouse=True)
def _nobody_home(monkeypatch, tmp_path_factory):
    """No settings file, no TERMINUS_ variable and no key of the person who runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
    settings = {name for name in os.environ if name.startswith("TERMINUS_") and "__" in name}
    for name in settings | {*secret_names(os.environ)}:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _logging_as_it_was():
    """The command line sets levels for its process; a test that runs it in this one leaves none behind."""
    loggers = [logging.getLogger(name) for name in ("terminus_core", "terminus_plugins")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
