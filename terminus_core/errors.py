"""Every error that terminus_core raises on purpose.

Each class knows the exit code of the command line (``exit_code``), so that nothing else has to map errors to codes.
"""

from __future__ import annotations

from typing import ClassVar


class TerminusError(Exception):
    """Base of all errors raised on purpose; its text is one line that a user can act on."""

    exit_code: ClassVar[int] = 1
    error_kind: str = "core_bug"
    """What a run that ends by it is filed under: :attr:`RunResult.error_kind`."""


class ConfigError(TerminusError):
    """A setting, name or argument is wrong; the text says what, where, and what would be right."""

    exit_code = 2
    error_kind: str = "settings"


class PluginError(TerminusError):
    """A plugin cannot be used: it does not load, breaks the hook rules, or collides with another."""

    exit_code = 2
    error_kind: str = "plugin_bug"


class PartFailedError(PluginError):
    """A part broke the contract of its role while it worked; the text names the part and what was expected."""

    exit_code = 1


class LLMError(TerminusError):
    """The model provider failed and trying again does not help, or did not help.

    Args:
        message: one line.
        kind: ``provider_auth``, ``provider_not_found``, ``provider_rate_limited``, ``provider_unavailable``,
            ``provider_bad_request`` or ``refused``; by default ``provider_unavailable``.
    """

    exit_code = 3
    error_kind: str = "provider_unavailable"

    def __init__(self, message: str = "", *, kind: str = "") -> None:
        super().__init__(message)
        if kind:
            self.error_kind = kind


class ContextLengthExceededError(LLMError):
    """The provider says that the request is longer than the model's context window."""

    error_kind: str = "context"


class EnvironmentFailedError(TerminusError):
    """The place where commands run, or the way to it, cannot be had or does not answer any more."""

    exit_code = 4
    error_kind: str = "environment"


class StreamsUnsupportedError(EnvironmentFailedError):
    """This environment has ``exec`` only: :meth:`Environment.open_process` cannot be had here."""


class SessionClosedError(TerminusError):
    """The terminal session has ended: its shell, its server or its pane is gone."""

    exit_code = 4
    error_kind: str = "session"


class RunLimitReached(TerminusError):  # noqa: N818 - a public name: reaching a limit is an end, no fault
    """A limit of the run is reached; the run ends as ``limit_reached``.

    Args:
        reason: the short word that becomes ``RunResult.reason``, such as ``max_cost_usd`` or ``context``.
        detail: one line for people, if the reason alone does not say enough.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.error_kind = reason
