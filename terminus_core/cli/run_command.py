"""``terminus run``: one run with signals, a summary and an exit code."""

from __future__ import annotations

import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from terminus_core.agent import Agent
from terminus_core.cli.cost_limit import HINT, DefaultCostLimit
from terminus_core.cli.exit_codes import SIGNAL_BASE, ExitCode
from terminus_core.cli.key_store import apply_keys
from terminus_core.cli.live import LiveView
from terminus_core.cli.logs import configure_logging
from terminus_core.cli.option_settings import read_settings
from terminus_core.cli.panel_lines import PanelLines
from terminus_core.cli.printing import literal, print_json, shorten
from terminus_core.cli.queued_lines import QueuedLines
from terminus_core.cli.signals import Interrupts
from terminus_core.cli.summary import absolute, summarize
from terminus_core.cli.task import ask_for_model
from terminus_core.errors import SessionClosedError, TerminusError
from terminus_core.hooks import one_line
from terminus_core.result import RunResult
from terminus_core.secrets import mask_text

if TYPE_CHECKING:
    from anyio import CancelScope

    from terminus_core.settings import LoadedSettings


def run_agent(instruction: str, options: Mapping[str, Any], loaded: LoadedSettings | None = None) -> int:
    """Run a task, print what happens and the result, and give the exit code.

    Args:
        instruction: the task.
        options: the command's options.
        loaded: settings, if they are not to be read from all layers.

    Raises:
        TerminusError: there was no run to speak of: wrong settings, a missing part.
    """
    console = _Console(options)
    if loaded is None:
        apply_keys()
        loaded = read_settings(options)
    if not options["as_json"]:
        ask_for_model(loaded)
    started = time.monotonic()
    with console, Interrupts(console.leave) as interrupts:
        view = console.view(loaded)
        settings = loaded.settings.agent
        limits = [] if "max_cost_usd" in settings.model_fields_set else [DefaultCostLimit()]
        agent = Agent(settings=loaded.settings, observers=[*settings.observers, view, *limits])
        end = anyio.run(_watched, agent, instruction, view, interrupts)
        interrupts.has_run_ended = True
        view.run = view.run or agent.failed_run
        result = _result(end, view, console)
        result.files = list(dict.fromkeys(map(absolute, result.files)))
        if result.status == "error":
            console.errors.write(f"terminus: {shorten(result.reason, 2000)}", fg="red")
        summarize(result, console.lines, view, time.monotonic() - started)
        if any(limit.was_reached for limit in limits):
            console.lines.write(HINT)
        console.drain(lambda: interrupts.first is not None)
    if options["as_json"]:
        print_json(result.to_json())
    return _exit_code(result, end)


class _Console:
    """Where a run prints: its lines, its errors, and what plugins print by themselves."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._stack = ExitStack()
        stream = sys.stderr if options["as_json"] else sys.stdout
        self.errors = QueuedLines(sys.stderr)
        self.has_panel = stream.isatty() and not (options["quiet"] or options["as_json"] or options["verbose"])
        self.lines = (
            PanelLines(stream) if self.has_panel else self.errors if options["as_json"] else QueuedLines(stream)
        )
        if self.has_panel and self.errors.is_terminal:
            self.errors = self.lines

        configure_logging(verbose=options["verbose"], trace=options["trace_plugins"], lines=self.errors)

    def __enter__(self) -> None:
        if self._options["as_json"]:
            self._stack.enter_context(redirect_stdout(sys.stderr))
        if isinstance(self.lines, PanelLines):
            stream = self.lines.as_stream()
            self._stack.enter_context(redirect_stdout(stream))
            if self.errors is self.lines:
                self._stack.enter_context(redirect_stderr(stream))

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        if isinstance(self.lines, PanelLines):
            self.lines.clear()
        self.drain()

    def view(self, loaded: LoadedSettings) -> LiveView:
        """A panel on a terminal; plain lines elsewhere, and where a gate may have to ask the person at the terminal."""
        if self._options["quiet"]:
            return LiveView(None)
        if not isinstance(self.lines, PanelLines) or loaded.settings.agent.gates:
            return LiveView(self.lines)
        from terminus_core.cli.panel import PanelView  # noqa: PLC0415 - only a terminal needs it

        return PanelView(self.lines)

    def drain(self, is_hurried: Callable[[], bool] = lambda: True) -> None:
        """Wait until all is written, or until it is too late for that."""
        for lines in (self.errors, self.lines):
            lines.drain(is_hurried)

    def leave(self) -> None:
        """Put the terminal right before the program ends at once."""
        if isinstance(self.lines, PanelLines):
            self.lines.leave()


@dataclass(slots=True)
class _End:
    """What ended a run."""

    result: RunResult | None = None
    error: BaseException | None = None
    signal: signal.Signals | None = None


async def _watched(agent: Agent, instruction: str, view: LiveView, interrupts: Interrupts) -> _End:
    """Run; a signal cancels it. Nothing is raised through the task group, which would wrap it."""
    end = _End()
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_on_signal, interrupts, group.cancel_scope)
        group.start_soon(view.follow)
        try:
            end.result = await agent.run(instruction)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything; it is told below
            end.error = error
        finally:
            end.signal = interrupts.first
        group.cancel_scope.cancel()
    return end


async def _cancel_on_signal(interrupts: Interrupts, scope: CancelScope) -> None:
    await interrupts.wait()
    scope.cancel()


def _result(end: _End, view: LiveView, console: _Console) -> RunResult:
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
        result.reason = mask_text(result.reason) + _traceback_place(end.error, view, console)
        return result
    result = view.result or RunResult("cancelled")
    if end.signal is not None and not result.reason:
        result.reason = end.signal.name
    return result


def _traceback_place(error: BaseException, view: LiveView, console: _Console) -> str:
    """Write the traceback of a bug into the run's folder, and say where it is."""
    text = mask_text("".join(traceback.format_exception(error)))
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    if view.run is None:
        console.errors.write("\n".join(map(literal, text.splitlines())))
        return notes
    text = view.run.redact(text)
    path = view.run.logs_dir.absolute() / "traceback.txt"
    try:
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        return f"{notes} (the traceback could not be written: {fault})"
    return f"{notes} (traceback: {path})"


def _exit_code(result: RunResult, end: _End) -> int:
    if result.status == "completed":
        return ExitCode.INCOMPLETE if result.incomplete else ExitCode.COMPLETED
    if result.status == "cancelled" and end.signal is not None:
        return SIGNAL_BASE + end.signal
    if result.error is not None:
        return result.error.exit_code
    if result.status == "session_ended" and result.n_episodes == 0:
        return SessionClosedError.exit_code  # the session could not be had
    return ExitCode.INCOMPLETE
