"""What the program's exit codes mean."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How the program ended; after a signal it is :data:`SIGNAL_BASE` and the signal's number."""

    COMPLETED = 0
    INCOMPLETE = 1
    """The run ended without completion: a limit, the session ended, a bug in a part."""
    USAGE = 2
    """Usage, settings or plugins are wrong."""
    PROVIDER = 3
    """The model provider failed."""
    ENVIRONMENT = 4
    """The environment or the session could not be reached, or was lost."""


SIGNAL_BASE = 128
"""Exit codes after a signal are this and its number, as in a shell."""
