"""The actions in the box pass the suite of their role."""

import pytest

from terminus_core.testing import ActionTests
from terminus_plugins.actions.restart_shell import RestartShell
from terminus_plugins.actions.view_image import ViewImage


class Available:
    """Doubles have neither eyes nor a shell to restart: the action itself is what is tested."""

    def is_available(self, run):
        return True


class TestViewImage(ActionTests):
    arguments = {"path": "/plot.png"}  # noqa: RUF012 - as authors write it

    @pytest.fixture
    def action(self):
        return type("Here", (Available, ViewImage), {})()


class TestRestartShell(ActionTests):
    @pytest.fixture
    def action(self):
        return type("Here", (Available, RestartShell), {})()
