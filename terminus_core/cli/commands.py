"""The commands and their options. What they do is imported when they do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from terminus_core.cli.command_group import CommandGroup
from terminus_core.cli.config import config
from terminus_core.cli.keys import keys
from terminus_core.cli.options import common_options, run_options


def _print_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version  # noqa: PLC0415 - not needed by --help

        click.echo(f"terminus {version('terminus-agent')}")
        context.exit()


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
def terminus() -> None:
    """A terminal agent in which every part is a plugin."""


@terminus.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def show_help(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command: the same as COMMAND --help."""
    at = context.find_root()
    for word in words:
        group = at.command
        command = group.get_command(at, word) if isinstance(group, click.Group) else None
        if command is None:
            raise click.UsageError(f"No such command {word!r}.", at)
        at = click.Context(command, at, word)
    click.echo(at.get_help())


@terminus.command()
@click.argument("instruction", required=False)
@click.option("--task-file", metavar="FILE", help="Read the task from FILE; - reads stdin.")
@run_options
def run(instruction: str | None, task_file: str | None, **options: Any) -> int:
    """Work on a task in a real terminal.

    INSTRUCTION says what to do; - reads it from stdin. Without one you are asked, if you are at a terminal.

    Exit codes: 0 completed, 1 ended without completion, 2 usage or settings, 3 model provider, 4 environment or
    session could not be had, 130, 143, 129 and 131 after SIGINT, SIGTERM, SIGHUP and SIGQUIT.
    """
    from terminus_core.cli.task import read_task  # noqa: PLC0415 - heavy

    task = read_task(instruction, task_file)
    from terminus_core.cli.run_command import run_agent  # noqa: PLC0415 - heavy

    return run_agent(task, options)


@terminus.command()
@common_options
def plugins(**options: Any) -> None:
    """List every plugin, what it brings, and what became of it."""
    from terminus_core.cli.list_commands import list_plugins  # noqa: PLC0415 - heavy

    list_plugins(options)


@terminus.command()
@common_options
def hooks(**options: Any) -> None:
    """List every hook, its signature, and who implements it."""
    from terminus_core.cli.list_commands import list_hooks  # noqa: PLC0415 - heavy

    list_hooks(options)


@terminus.command("new-plugin")
@click.argument("name")
@click.option("--role", metavar="ROLE", required=True, help="What the part is: parser, gate, observer …")
@click.option("--dir", "folder", metavar="DIR", default=".", help="Where its folder is made, instead of here.")
def new_plugin(name: str, role: str, folder: str) -> None:
    """Write a plugin that works: a distribution with one part and its tests.

    NAME is the distribution's, such as terminus-shout. ROLE is one of environment, session, parser, llm, completion,
    context, action, gate, observer, command.
    """
    from terminus_core.cli import new_plugin as writing  # noqa: PLC0415 - heavy

    commands = terminus.list_commands(click.get_current_context())
    writing.new_plugin(name, role, Path(folder), commands)


terminus.add_command(config)
terminus.add_command(keys)
