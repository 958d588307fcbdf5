"""Python's logging on the command line: each warning once, as one line on stderr."""

from __future__ import annotations

import logging
import sys

from terminus_core.cli.printing import Lines, literal
from terminus_core.hooks import tracer


def configure_logging(*, verbose: bool, trace: bool = False, lines: Lines | None = None) -> None:
    """Show warnings and errors.

    Args:
        lines: where they are printed, by default on stderr.
        verbose: show details of this project's own packages too, and tracebacks.
        trace: show each call of a hook.
    """
    lines = lines or Lines(sys.stderr)
    every = _LinesHandler(lines)
    every.setFormatter(_OneLine(verbose=verbose))
    tracer.handlers = [every]
    tracer.setLevel(logging.INFO if trace else logging.WARNING)
    tracer.propagate = False
    handler = _LinesHandler(lines)
    handler.setFormatter(_OneLine(verbose=verbose))
    if verbose:
        for name in ("terminus_core", "terminus_plugins"):
            logging.getLogger(name).setLevel(logging.DEBUG)
    else:
        handler.addFilter(_Once())
    logging.captureWarnings(capture=True)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


class _LinesHandler(logging.Handler):
    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record."""
        try:
            self._lines.write(self.format(record))
        except Exception:  # noqa: BLE001 - a record whose arguments do not fit its text
            self.handleError(record)


class _OneLine(logging.Formatter):
    def __init__(self, *, verbose: bool) -> None:
        super().__init__()
        self._verbose = verbose

    def format(self, record: logging.LogRecord) -> str:
        """The message, literally; with ``verbose`` the traceback below it."""
        line = f"terminus: {literal(record.getMessage().strip())}"
        if self._verbose and record.exc_info:
            line += "\n" + "\n".join(map(literal, self.formatException(record.exc_info).splitlines()))
        return line


class _Once(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this message is new."""
        message = record.getMessage()
        if message in self._seen:
            return False
        self._seen.add(message)
        return True
