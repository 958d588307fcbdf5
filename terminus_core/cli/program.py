"""The program: runs a command, and gives its exit code whatever happens."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

from terminus_core.cli.commands import terminus
from terminus_core.cli.exit_codes import SIGNAL_BASE
from terminus_core.cli.printing import Lines, forgiving, print_json, shorten
from terminus_core.errors import TerminusError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code.

    Args:
        arguments: what follows the program's name; by default the process's own.
    """
    _open_closed_streams()
    forgiving(sys.stdout, sys.stderr)
    words = list(sys.argv[1:] if arguments is None else arguments)
    code = _run(words)
    if code > SIGNAL_BASE and arguments is None:
        _leave(code)
    return code


def _open_closed_streams() -> None:
    """A standard stream that the parent process has closed is an empty one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


def _run(words: Sequence[str]) -> int:
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code: int | None = terminus.main(words, prog_name="terminus", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        Lines(sys.stderr).write(error.format_message())
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "terminus"
        hint = f"see {path} --help"
        if isinstance(error, click.NoSuchOption) and path.endswith(" run"):
            hint += "; a task that begins with - goes after --"
        return _failed(f"{error.format_message()} ({hint})", error.exit_code, words)
    except click.ClickException as error:
        return _failed(error.format_message(), error.exit_code, words)
    except TerminusError as error:
        return _failed(str(error), error.exit_code, words)
    except (KeyboardInterrupt, click.Abort):
        return SIGNAL_BASE + signal.SIGINT
    return code or 0


def _leave(code: int) -> NoReturn:
    """End an interrupted program now: the interpreter takes seconds to take a heavy library apart."""
    atexit._run_exitfuncs()  # noqa: SLF001 - what plugins have registered still runs
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _failed(reason: str, code: int, words: Sequence[str]) -> int:
    """Say in one line why there was no run; with ``--json`` also as a result."""
    Lines(sys.stderr).write(f"terminus: {shorten(reason.strip(), 2000)}")
    options = words[: words.index("--")] if "--" in words else words
    if "--json" in options:
        from terminus_core.result import RunResult  # noqa: PLC0415 - heavy

        print_json(RunResult("error", reason).to_json())
    return code
