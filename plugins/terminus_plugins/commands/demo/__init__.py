"""``terminus demo``: a scripted model in the real terminal. It names parts and settings, nothing more."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from terminus_core.cli import run_options

INSTRUCTION = (
    "Open a tea shop in a folder named shop: write its prices to prices.txt (tea 3, coffee 4, cake 5) and their sum to "
    "total.txt, boil the kettle, which takes three seconds, and print 1,000 numbered receipts."
)
_DEFAULTS = (
    ("agent.llm", "scripted"),
    ("llm.scripted.replies", str(Path(__file__).with_name("replies.jsonl"))),
    # No prompt, start-up files or history of the user's: the demo looks the same everywhere.
    ("session.tmux.shell", "env PS1='demo$ ' HISTFILE= bash --norc --noprofile"),
)


@click.command()
@run_options
def demo(**options: Any) -> int:
    """Watch a scripted model at work: no key, no network.

    It works in the real terminal, in a temporary folder. Your settings play no part; options do, and
    a settings file named with --config.
    """
    from terminus_core.cli import read_options, run_agent  # noqa: PLC0415 - heavy

    loaded = read_options(options, _DEFAULTS)
    agent = loaded.settings.agent
    for key in ("logs_dir", "runs_dir"):
        if given := getattr(agent, key):
            setattr(agent, key, str(Path(given).absolute()))
    agent.plugins = [str(Path(name).absolute()) if name.endswith(".py") else name for name in agent.plugins]
    with TemporaryDirectory(prefix="terminus-demo-") as folder, chdir(folder):
        return run_agent(INSTRUCTION, options, loaded)
