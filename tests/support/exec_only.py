"""This machine with nothing but ``exec`` and file transfer, as hosted sandboxes and Harbor's environments have it."""

from __future__ import annotations

from typing import ClassVar

from terminus_core import Environment, ExecResult, hookimpl
from terminus_plugins.environments.local import LocalEnvironment


class ExecOnlyEnvironment(Environment):
    """Hands everything to ``local``, except streams. Keeps the commands that were run."""

    name: ClassVar[str] = "exec-only"

    def __init__(self) -> None:
        self.commands: list[str] = []
        self._place = LocalEnvironment()

    async def exec(self, command, **options) -> ExecResult:
        self.commands.append(command)
        return await self._place.exec(command, **options)

    async def upload_file(self, source, target) -> None:
        await self._place.upload_file(source, target)

    async def download_file(self, source, target) -> None:
        await self._place.download_file(source, target)


@hookimpl
def terminus_register_environments():
    """This file can be loaded as a plugin."""
    return [ExecOnlyEnvironment]
