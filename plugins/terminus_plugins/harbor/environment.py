"""A place of Harbor's as an environment: commands and files, no byte streams."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import anyio

from terminus_core import Environment, EnvironmentFailedError, ExecResult, TerminusError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harbor.environments.base import BaseEnvironment

LATER_SEC = 5
"""How much later than ours Harbor's own time limit ends what still runs there."""


class HarborEnvironment(Environment):
    """Hands everything to an environment that Harbor has started, and that Harbor stops.

    Args:
        place: Harbor's environment. Commands run as its default user, in the task's working folder.
    """

    name: ClassVar[str] = "harbor"

    def __init__(self, place: BaseEnvironment) -> None:
        self._place = place

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout_sec: float | None = None,
    ) -> ExecResult:
        """Run a shell command to its end."""
        limit = None if timeout_sec is None else math.ceil(timeout_sec) + LATER_SEC
        with anyio.fail_after(timeout_sec):
            try:
                result = await self._place.exec(
                    command, cwd=cwd, env=dict(env) if env else None, timeout_sec=limit, user=user
                )
            except Exception as error:
                raise _failed(error) from error
        return ExecResult(result.stdout or "", result.stderr or "", result.return_code)

    async def upload_file(self, source: Path, target: str) -> None:
        """Copy a file into the environment."""
        async with await anyio.open_file(source, "rb"):  # an unreadable source is an OSError
            pass
        try:
            await self._place.upload_file(source, target)
        except Exception as error:
            raise _failed(error, f"cannot write {target!r}") from error

    async def download_file(self, source: str, target: Path) -> None:
        """Copy a file out of the environment."""
        if not await self._place.is_file(source):
            raise FileNotFoundError(f"there is no file {source!r} in the environment")
        async with await anyio.open_file(target, "ab"):  # a target that cannot be written is an OSError
            pass
        try:
            await self._place.download_file(source, target)
        except Exception as error:
            raise _failed(error, f"cannot read {source!r}") from error


def _failed(error: Exception, what: str = "the environment does not answer") -> TerminusError:
    """Harbor's environments raise whatever their libraries raise."""
    text = str(error).strip() or type(error).__name__
    return EnvironmentFailedError(f"{what}: {' '.join(text.split())}")
