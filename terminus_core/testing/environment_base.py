"""What the tests of environments share: capabilities, the fixture, a folder of one's own."""

# ruff: noqa: S101, ASYNC110 - a suite asserts, and polls what nobody tells it

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ClassVar

import anyio
import pytest

from terminus_core.testing.suite import ConformanceSuite

if TYPE_CHECKING:
    from terminus_core import Environment

PROMPT_SEC = 15.0
"""What must come at once has this long: the machine may be busy."""
SLEEP = "sleep 300"
BIG = 5_000_000


class EnvironmentSuite(ConformanceSuite):
    """Fixture and capabilities of the suite of environments.

    Attributes:
        other_user: a user of the environment whom capability ``users`` is tried with.
    """

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "streams": "open_process works",
        "users": "commands can run as another user",
        "permissions": "copied files keep their permissions",
    }
    other_user: ClassVar[str] = "nobody"

    @pytest.fixture
    def environment(self) -> Environment:
        """The environment under test, not entered yet. Override this one."""
        raise NotImplementedError("override the fixture `environment`")


@asynccontextmanager
async def own_folder(place: Environment, name: str = "work") -> AsyncIterator[str]:
    """A folder of this test's own in the environment."""
    base = f"/tmp/suite-{os.getpid()}-{secrets.token_hex(6)}"  # noqa: S108 - in the environment, a name that is nobody's
    folder = f"{base}/{name}"
    made = await place.exec(f"umask 077; mkdir {base} && mkdir {shlex.quote(folder)}")
    assert made.return_code == 0, made.stderr
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await place.exec(f"rm -rf {base}")


async def wait_for_end_of(place: Environment, number: str) -> None:
    """Wait until process ``number`` of the environment has ended; a dead one that nobody asked about has."""
    alive = f"kill -0 {int(number)} && ! grep -q 'State:.*Z' /proc/{int(number)}/status"
    with anyio.fail_after(PROMPT_SEC):
        while (await place.exec(alive)).return_code == 0:
            await anyio.sleep(0.05)
