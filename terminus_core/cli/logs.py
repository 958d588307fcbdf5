"""Python's logging on the command line: each warning once, as one line on stderr."""

from __future__ import annotations

import logging
import sys

from terminus_core.cli.printing import literal
from terminus_core.hooks import tracer


def configure_logging(*, verbose: bool, trace: bool = False) -> None:
    """Show warnings and errors.

    Args:
        verbose: show details of this project's own packages too, and tracebacks.
        trace: show each call of a hook.
    """
    every = logging.StreamHandler(sys.stderr)
    every.setFormatter(_OneLine(verbose=verbose))
    tracer.handlers = [every]
    tracer.setLevel(logging.INFO if trace else logging.WARNING)
    tracer.propagate = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine(verbose=verbose))
    if verbose:
        for name in ("terminus_core", "terminus_plugins"):
            logging.getLogger(name).setLevel(logging.DEBUG)
    else:
        handler.addFilter(_Once())
    logging.captureWarnings(capture=True)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


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
