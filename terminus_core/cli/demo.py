"""``terminus demo``: a scripted model in the real terminal. It names parts and settings, nothing more."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from contextlib import chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from terminus_core.cli.layers import with_options
from terminus_core.cli.running import run_task
from terminus_core.errors import ConfigError
from terminus_core.run import new_logs_dir
from terminus_core.settings import load_settings

INSTRUCTION = (
    "Open a tea shop in a folder named shop: write its prices to prices.txt (tea 3, coffee 4, cake 5) and their sum to "
    "total.txt, boil the kettle, which takes three seconds, and print 1,000 numbered receipts."
)
_DEFAULTS = (
    ("agent.llm", "scripted"),
    ("llm.scripted.replies", str(Path(__file__).with_name("demo.jsonl"))),
    # No prompt, start-up files or history of the user's: the demo looks the same everywhere.
    ("session.tmux.shell", "env PS1='demo$ ' HISTFILE= bash --norc --noprofile"),
)


def run_demo(options: Mapping[str, Any]) -> int:
    """Run the demo in a temporary folder that is gone afterwards; the run's own folder stays.

    Settings files and environment variables play no part; options do, a settings file that is named too.

    Raises:
        ConfigError: a setting is unknown or wrong, or the working folder is not there any more.
    """
    try:
        file = Path(options["config"] or os.devnull).absolute()
        Path.cwd()
    except OSError as error:
        raise ConfigError(f"the working folder cannot be used: {error.strerror}") from None
    loaded = with_options(partial(load_settings, file, environ={}, defaults=_DEFAULTS), options)
    agent = loaded.settings.agent
    agent.logs_dir = str(Path(agent.logs_dir or new_logs_dir(uuid.uuid4().hex)).absolute())
    agent.plugins = [str(Path(name).absolute()) if name.endswith(".py") else name for name in agent.plugins]
    with TemporaryDirectory(prefix="terminus-demo-") as folder, chdir(folder):
        return run_task(INSTRUCTION, options, loaded)
