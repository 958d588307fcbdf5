"""The options that commands share, as decorators, and the setting behind each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

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
    click.option("--action", "actions", metavar="NAME", multiple=True, help="Offer an action; no:NAME takes one back."),
    click.option("--gate", "gates", metavar="NAME", multiple=True, help="Add a gate; no:NAME takes one out."),
    click.option("--observer", "observers", metavar="NAME", multiple=True, help="Add an observer; no:NAME likewise."),
    click.option("--max-episodes", type=int, metavar="N", help="End after N episodes."),
    click.option("--max-cost", metavar="USD", help="End when the model has cost this much; none: no limit."),
    click.option("--max-time", metavar="TIME", help="End after so many seconds, or after 10m, 1h30m."),
    click.option("--logs-dir", metavar="DIR", help="Folder of the run, instead of a new one (see terminus runs)."),
)
_RUN = (
    click.option("-q", "--quiet", is_flag=True, help="Print the summary only."),
    click.option("--trace-plugins", is_flag=True, help="Show each call of a plugin's hook, and its time, on stderr."),
)


def common_options(command: F) -> F:
    """Add the options of every command that reads settings: ``--config``, ``--set``, ``-p``, ``--json`` and so on."""
    return _decorated(command, _COMMON)


def agent_options(command: F) -> F:
    """Add the options that choose an agent's parts and limits, such as ``--model`` and ``--max-cost``."""
    return _decorated(command, _AGENT)


def run_options(command: F) -> F:
    """Add all options that :func:`run_agent` reads: those of an agent, the common ones, and how a run is shown."""
    return agent_options(common_options(_decorated(command, _RUN)))


def _decorated(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command
