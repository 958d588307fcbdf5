"""``terminus run``: one run with signals, a summary and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from terminus_core.agent import Agent
from terminus_core.cli.live import LiveView, spent
from terminus_core.cli.logs import configure_logging
from terminus_core.cli.option_settings import read_settings
from terminus_core.cli.printing import Lines, literal, print_json, shorten
from terminus_core.errors import SessionClosedError, TerminusError
from terminus_core.hooks import one_line
from terminus_core.masking import mask_text
from terminus_core.result import RunResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio import CancelScope

    from terminus_core.settings import LoadedSettings

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Each ends the run cleanly; the second one ends the program at once."""


def run_agent(instruction: str, options: Mapping[str, Any], loaded: LoadedSettings | None = None) -> int:
    """Run a task, print what happens and the result, and give the exit code.

    Args:
        instruction: the task.
        options: the command's options.
        loaded: settings, if they are not to be read from all layers.

    Raises:
        TerminusError: there was no run to speak of: wrong settings, a missing part.
    """
    configure_logging(verbose=options["verbose"], trace=options["trace_plugins"])
    lines = Lines(sys.stderr if options["as_json"] else sys.stdout)
    started = time.monotonic()
    with redirect_stdout(sys.stderr) if options["as_json"] else nullcontext():
        loaded = loaded or read_settings(options)
        view = _view(lines, options, loaded)
        agent = Agent(settings=loaded.settings, observers=[*loaded.settings.agent.observers, view])
        end = anyio.run(_watched, agent, instruction, view)
        view.run = view.run or agent.failed_run
        result = _result(end, view)
        result.files = list(dict.fromkeys(map(_absolute, result.files)))
        _summarize(result, lines, view, time.monotonic() - started)
    if options["as_json"]:
        print_json(result.to_json())
    return _exit_code(result, end)


@dataclass(slots=True)
class _End:
    """What ended a run."""

    result: RunResult | None = None
    error: BaseException | None = None
    signal: signal.Signals | None = None


def _view(lines: Lines, options: Mapping[str, Any], loaded: LoadedSettings) -> LiveView:
    """A panel on a terminal; plain lines elsewhere, and where a gate may have to ask the person at the terminal."""
    if options["quiet"]:
        return LiveView(None)
    if not lines.is_terminal or options["as_json"] or options["verbose"] or loaded.settings.agent.gates:
        return LiveView(lines)
    from terminus_core.cli.panel import PanelView  # noqa: PLC0415 - only a terminal needs rich

    return PanelView(lines.stream)


async def _watched(agent: Agent, instruction: str, view: LiveView) -> _End:
    """Run; a signal cancels it. Nothing is raised through the task group, which would wrap it."""
    end = _End()
    # A signal that the parent process has switched off (nohup, a background job) stays off.
    heeded = [each for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    with anyio.open_signal_receiver(*heeded) as signals:
        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_on_signal, signals, group.cancel_scope, end)
            group.start_soon(view.follow)
            try:
                end.result = await agent.run(instruction)
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - a plugin may raise anything; it is told below
                end.error = error
            group.cancel_scope.cancel()
    return end


async def _cancel_on_signal(signals: AsyncIterator[signal.Signals], scope: CancelScope, end: _End) -> None:
    end.signal = await anext(signals)
    for each in SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _end_at_once)
    scope.cancel()


def _end_at_once(number: int, _: object) -> None:
    os._exit(128 + number)


def _result(end: _End, view: LiveView) -> RunResult:
    """The result, also where :meth:`Agent.run` could not return one.

    Raises:
        TerminusError: the run ended before it began.
    """
    if end.result is not None:
        return end.result
    if isinstance(end.error, TerminusError):
        raise end.error
    if end.error is not None:
        told = view.run.result if view.run else None  # newer than what the view was told, if it failed after that
        result = told or RunResult("error", one_line(end.error))
        result.reason = mask_text(result.reason) + _traceback_place(end.error, view)
        return result
    result = view.result or RunResult("cancelled")
    if end.signal is not None and not result.reason:
        result.reason = end.signal.name
    return result


def _absolute(path: Any) -> Path:
    """The path of a file of the run, which a plugin may have noted as a text, or as anything."""
    return Path(path if isinstance(path, os.PathLike) else str(path)).absolute()


def _traceback_place(error: BaseException, view: LiveView) -> str:
    """Write the traceback of a bug into the run's folder, and say where it is."""
    text = mask_text("".join(traceback.format_exception(error)))
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    if view.run is None:
        Lines(sys.stderr).write("\n".join(map(literal, text.splitlines())))
        return notes
    text = view.run.redact(text)
    path = view.run.logs_dir.absolute() / "traceback.txt"
    try:
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        return f"{notes} (the traceback could not be written: {fault})"
    return f"{notes} (traceback: {path})"


def _summarize(result: RunResult, lines: Lines, view: LiveView, seconds: float) -> None:
    reason = f": {shorten(result.reason, 2000)}" if result.reason else ""
    if result.status == "error":
        Lines(sys.stderr).write(f"terminus: {shorten(result.reason, 2000)}", fg="red")
        reason = ""
    episodes = "1 episode" if result.n_episodes == 1 else f"{result.n_episodes:,} episodes"
    style = {"fg": "green" if result.status == "completed" else "red", "bold": True}
    lines.write(f"{result.status}{reason}", **style)
    if view.run is None:
        return
    lines.write(f"{episodes}, {spent(result.totals)}, {seconds:.1f} seconds")
    for path in result.files:
        lines.write(f"{path.name.split('.')[0]}: {literal(str(path))}")
    lines.write(f"folder: {literal(str(view.run.logs_dir.absolute()))}")


def _exit_code(result: RunResult, end: _End) -> int:
    if result.status == "completed":
        return 0
    if result.status == "cancelled" and end.signal is not None:
        return 128 + end.signal
    if result.error is not None:
        return result.error.exit_code
    if result.status == "session_ended" and result.n_episodes == 0:
        return SessionClosedError.exit_code  # the session could not be had
    return 1
