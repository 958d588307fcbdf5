"""The gates pass the suite that other people's gates run."""

import os
import pty

import anyio
import pytest

from terminus_core.testing import GateTests
from terminus_plugins.gates import confirm
from terminus_plugins.gates.confirm import Confirm
from terminus_plugins.gates.deny import Deny
from terminus_plugins.gates.dry_run import DryRun


class TestDeny(GateTests):
    capabilities = frozenset({"trio", "allows", "refuses"})

    @pytest.fixture
    def gate(self):
        return Deny(Deny.Config())


class TestDryRun(GateTests):
    capabilities = frozenset({"trio", "refuses"})

    @pytest.fixture
    def gate(self):
        return DryRun()


class TestConfirm(GateTests):
    """A person who lets everything pass that does not remove files."""

    capabilities = frozenset({"trio", "allows", "refuses"})

    @pytest.fixture
    async def gate(self, monkeypatch):
        main, side = pty.openpty()
        monkeypatch.setattr(confirm, "TERMINAL", os.ttyname(side))
        os.set_blocking(main, False)
        async with anyio.create_task_group() as group:
            group.start_soon(_answer, main)
            yield Confirm()
            group.cancel_scope.cancel()
        os.close(side)
        os.close(main)


async def _answer(terminal):
    shown = ""
    while True:
        await anyio.wait_readable(terminal)
        shown += os.read(terminal, 4096).decode()
        if shown.endswith(confirm.QUESTION):
            os.write(terminal, b"n not that\n" if "rm -r" in shown else b"y\n")
            shown = ""
