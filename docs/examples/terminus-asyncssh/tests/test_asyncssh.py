"""The environment passes the suite of its role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from terminus_core import EnvironmentFailedError
from terminus_core.testing import EnvironmentTests

from terminus_asyncssh import AsyncsshEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def place(sshd: Any) -> Callable[..., AsyncsshEnvironment]:
    """Makes an environment on the test's own server; settings may differ from the right ones."""

    def make(**more: object) -> AsyncsshEnvironment:
        return AsyncsshEnvironment(AsyncsshEnvironment.Config(**sshd.settings(**more)))

    return make


class TestAsyncssh(EnvironmentTests):
    """Neither ``users`` nor ``trio``."""

    capabilities = frozenset({"streams", "permissions"})

    @pytest.fixture
    def environment(self, place: Callable[..., AsyncsshEnvironment]) -> AsyncsshEnvironment:
        """The environment under test."""
        return place()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_host_that_nobody_knows_is_refused(place: Callable[..., AsyncsshEnvironment]) -> None:
    """One line says so."""
    with pytest.raises(EnvironmentFailedError, match=r"cannot connect to 127\.0\.0\.1:.*[Hh]ost key"):
        async with place(known_hosts="/dev/null"):
            pytest.fail("entered")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_port_where_nobody_listens(place: Callable[..., AsyncsshEnvironment]) -> None:
    """One line names it."""
    with pytest.raises(EnvironmentFailedError, match=r"cannot connect to 127\.0\.0\.1:1:"):
        async with place(port=1):
            pytest.fail("entered")
