"""The group of all commands: the core's own, and those that distributions bring as entry points."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

import click

from terminus_core.cli.printing import Lines, shorten

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "terminus_core.commands"
"""The group of entry points in which a distribution names its commands."""
_OWN = "terminus-agent"


class CommandGroup(click.Group):
    """Imports a command from an entry point when it is called, or when ``--help`` lists it.

    A command that cannot be imported is named in one line; ``--help`` then lists the others.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The core's commands and those of entry points, by name."""
        return sorted({*super().list_commands(ctx), *_entry_points()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by name; ``None`` if nobody brings it, or if it is broken, which is printed."""
        if own := super().get_command(ctx, cmd_name):
            return own
        points = _entry_points().get(cmd_name)
        if not points:
            return None
        try:
            return _load(points)
        except click.ClickException as error:
            Lines(sys.stderr).write(f"terminus: {error.format_message()}")
            return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command to call.

        Raises:
            click.ClickException: it is broken, or two distributions bring it.
        """
        if args[0] not in self.commands and (points := _entry_points().get(args[0])):
            _load(points)
        return super().resolve_command(ctx, args)


@cache
def _entry_points() -> dict[str, list[EntryPoint]]:
    import importlib.metadata  # noqa: PLC0415 - half of a start's time, and the core's commands do without

    found: dict[str, list[EntryPoint]] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    return found


def _load(points: list[EntryPoint]) -> click.Command:
    """The command behind the entry points of one name; our own distribution's wins over others."""
    point = next((each for each in points if _distribution(each) == _OWN), points[0])
    if len(points) > 1 and _distribution(point) != _OWN:
        names = " and ".join(sorted(map(_described, points)))
        raise _Broken(f"two distributions bring the command {point.name!r}: {names}; uninstall one")
    try:
        command = point.load()
    except (Exception, SystemExit) as error:
        reason = shorten(f"{type(error).__name__}: {error}", 500)
        raise _Broken(f"command {point.name!r} of {_described(point)} cannot be used: {reason}") from error
    if not isinstance(command, click.Command):
        kind = type(command).__name__
        raise _Broken(f"command {point.name!r} of {_described(point)}: expected a click.Command, got {kind}")
    return command


class _Broken(click.ClickException):
    exit_code = 2


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else ""


def _described(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
