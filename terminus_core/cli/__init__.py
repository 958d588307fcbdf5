"""The command line: ``terminus``, ``terminus-agent``, ``python -m terminus_core``, and what commands share.

A command is a :class:`click.Command` behind an entry point of the group ``terminus_core.commands``. It imports from
here and from ``terminus_core``. Names that are heavy are loaded when they are first used, so that ``--help`` is fast;
a command imports them where it needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from terminus_core.cli.exit_codes import SIGNAL_BASE, ExitCode
from terminus_core.cli.options import agent_options, common_options, run_options
from terminus_core.cli.printing import Lines, literal, print_json, shorten
from terminus_core.cli.program import main

if TYPE_CHECKING:
    from terminus_core.cli.option_settings import read_options, read_runs_dir, read_settings
    from terminus_core.cli.run_command import run_agent
    from terminus_core.runfile import RUN_FILE, is_going_on, read_record

__all__ = [
    "RUN_FILE",
    "SIGNAL_BASE",
    "ExitCode",
    "Lines",
    "agent_options",
    "common_options",
    "is_going_on",
    "literal",
    "main",
    "print_json",
    "read_options",
    "read_record",
    "read_runs_dir",
    "read_settings",
    "run_agent",
    "run_options",
    "shorten",
]

_HOMES = {
    "RUN_FILE": "runfile",
    "is_going_on": "runfile",
    "read_options": "cli.option_settings",
    "read_record": "runfile",
    "read_runs_dir": "cli.option_settings",
    "read_settings": "cli.option_settings",
    "run_agent": "cli.run_command",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"terminus_core.{_HOMES[name]}"), name)
    return value
