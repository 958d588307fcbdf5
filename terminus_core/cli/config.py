"""``terminus config``: list settings, and change the user's settings file."""

from __future__ import annotations

import sys
from typing import Any

import click

from terminus_core.cli.options import agent_options, common_options
from terminus_core.cli.printing import Lines, literal


class _ListByDefault(click.Group):
    """``terminus config PREFIX`` is ``terminus config list PREFIX``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_command = bool(args) and args[0] in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if is_command else ["list", *args])


@click.group(cls=_ListByDefault, subcommand_metavar="[PREFIX] | COMMAND [ARGS]...")
def config() -> None:
    """List settings, or those that begin with PREFIX; set and unset them.

    Without a command it is the same as terminus config list.
    """


@config.command("list")
@click.argument("prefix", default="")
@agent_options
@common_options
def list_(prefix: str, **options: Any) -> None:
    """List settings, their values, where they come from, and what they mean.

    With PREFIX, such as agent or session.tmux, only those that begin with it.
    """
    from terminus_core.cli.list_commands import list_settings  # noqa: PLC0415 - heavy

    list_settings(options, prefix)


@config.command("set")
@click.argument("key")
@click.argument("value")
def set_(key: str, value: str) -> None:
    """Write a setting into your settings file.

    VALUE is read as JSON, else as TOML, else as text.
    """
    from terminus_core.cli.settings_file import set_setting  # noqa: PLC0415 - heavy

    Lines(sys.stdout).write(f"{literal(key)} is set in {literal(str(set_setting(key, value)))}")


@config.command()
@click.argument("key")
def unset(key: str) -> None:
    """Take a setting out of your settings file."""
    from terminus_core.cli.settings_file import unset_setting  # noqa: PLC0415 - heavy

    Lines(sys.stdout).write(f"{literal(key)} is no longer set in {literal(str(unset_setting(key)))}")
