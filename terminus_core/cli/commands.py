"""The commands and their options. What they do is imported when they do it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from terminus_core.cli.cast import cast
from terminus_core.cli.view import view

Command = Callable[..., int | None]

SETTING_KEYS = {
    "model": "agent.model",
    "llm": "agent.llm",
    "parser": "agent.parser",
    "session": "agent.session",
    "environment": "agent.environment",
    "completion": "agent.completion",
    "context": "agent.context",
    "max_episodes": "agent.max_episodes",
    "max_cost": "agent.max_cost_usd",
    "max_time": "agent.max_time_sec",
    "logs_dir": "agent.logs_dir",
    "strict_plugins": "agent.strict_plugins",
}
"""Options that are a setting: the option's name, the setting's key."""

_COMMON = (
    click.option("--config", metavar="FILE", help="Settings file, instead of ~/.config/terminus/terminus.toml."),
    click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set any setting (terminus config)."),
    click.option(
        "-p", "plugins", metavar="MODULE|no:NAME", multiple=True, help="Load a module or .py file; no:NAME blocks one."
    ),
    click.option("--strict-plugins", is_flag=True, default=None, help="A plugin that does not load ends the program."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout; all else goes to stderr."),
    click.option("-v", "--verbose", is_flag=True, help="Show details and tracebacks on stderr."),
)
_AGENT = (
    click.option("-m", "--model", metavar="MODEL", help="The model, as its provider names it."),
    click.option("--api-base", metavar="URL", help="Where the model is served, for a server of your own."),
    click.option("--llm", metavar="NAME", help="How the model is asked."),
    click.option("--parser", metavar="NAME", help="The format of the model's answers."),
    click.option("--session", metavar="NAME", help="How the terminal is driven."),
    click.option("--environment", metavar="NAME", help="Where commands run."),
    click.option("--completion", metavar="NAME", help="When a claim of completion counts."),
    click.option("--context", metavar="NAME", help="How the chat is kept inside the model's window."),
    click.option("--gate", "gates", metavar="NAME", multiple=True, help="Add a gate; no:NAME takes one out."),
    click.option("--observer", "observers", metavar="NAME", multiple=True, help="Add an observer; no:NAME likewise."),
    click.option("--max-episodes", type=int, metavar="N", help="End after N episodes."),
    click.option("--max-cost", type=float, metavar="USD", help="End when the model has cost this much."),
    click.option("--max-time", type=float, metavar="SEC", help="End after this many seconds."),
    click.option("--logs-dir", metavar="DIR", help="Folder of the run, instead of terminus-runs/<time>-<id>."),
)
_RUN = (
    click.option("-q", "--quiet", is_flag=True, help="Print the summary only."),
    click.option("--trace-plugins", is_flag=True, help="Show each call of a plugin's hook, and its time, on stderr."),
)


def _with(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _print_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version  # noqa: PLC0415 - not needed by --help

        click.echo(f"terminus {version('terminus-agent')}")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def terminus() -> None:
    """A terminal agent in which every part is a plugin."""


@terminus.command()
@click.argument("instruction")
@_with(*_AGENT, *_COMMON, *_RUN)
def run(instruction: str, **options: Any) -> int:
    """Work on a task in a real terminal.

    INSTRUCTION says what to do; - reads it from stdin.

    Exit codes: 0 completed, 1 ended without completion, 2 usage or settings, 3 model provider, 4 environment or
    session could not be had, 130, 143 and 129 after SIGINT, SIGTERM and SIGHUP.
    """
    from terminus_core.cli.running import run_task  # noqa: PLC0415 - heavy

    if instruction == "-":
        instruction = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not instruction.strip():
        raise click.UsageError("the instruction is empty", click.get_current_context())
    return run_task(instruction, options)


@terminus.command()
@_with(*_AGENT, *_COMMON, *_RUN)
def demo(**options: Any) -> int:
    """Watch a scripted model at work: no key, no network.

    It works in the real terminal, in a temporary folder. Your settings play no part; options do, and
    a settings file named with --config.
    """
    from terminus_core.cli.demo import run_demo  # noqa: PLC0415 - heavy

    return run_demo(options)


@terminus.command()
@_with(*_COMMON)
def plugins(**options: Any) -> None:
    """List every plugin, what it brings, and what became of it."""
    from terminus_core.cli.listing import list_plugins  # noqa: PLC0415 - heavy

    list_plugins(options)


@terminus.command()
@_with(*_COMMON)
def hooks(**options: Any) -> None:
    """List every hook, its signature, and who implements it."""
    from terminus_core.cli.listing import list_hooks  # noqa: PLC0415 - heavy

    list_hooks(options)


@terminus.command("new-plugin")
@click.argument("name")
@click.option("--role", metavar="ROLE", required=True, help="What the part is: parser, gate, observer …")
@click.option("--dir", "folder", metavar="DIR", default=".", help="Where its folder is made, instead of here.")
def new_plugin(name: str, role: str, folder: str) -> None:
    """Write a plugin that works: a distribution with one part and its tests.

    NAME is the distribution's, such as terminus-shout. ROLE is one of environment, session, parser, llm, completion,
    context, gate, observer.
    """
    from terminus_core.cli import new_plugin as writing  # noqa: PLC0415 - heavy

    writing.new_plugin(name, role, Path(folder))


@terminus.command()
@_with(*_AGENT, *_COMMON)
def config(**options: Any) -> None:
    """List every setting, its value, and where it comes from."""
    from terminus_core.cli.listing import list_settings  # noqa: PLC0415 - heavy

    list_settings(options)


terminus.add_command(view)
terminus.add_command(cast)
