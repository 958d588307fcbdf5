"""How a run ended: its result, and the names of what can end it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio

from terminus_core.chat import Usage
from terminus_core.errors import RunLimitReached, SessionClosedError, TerminusError

if TYPE_CHECKING:
    from terminus_core.values import RunStatus

ErrorGroup: TypeAlias = Literal["", "agent", "limit", "infrastructure", "stopped", "bug"]

_GROUPS: dict[str, ErrorGroup] = {
    "unusable_answers": "agent",
    "cut_answers": "agent",
    "refused": "agent",
    "context": "agent",
    "session": "agent",
    "max_episodes": "limit",
    "max_cost_usd": "limit",
    "max_time_sec": "limit",
    "provider_auth": "infrastructure",
    "provider_not_found": "infrastructure",
    "provider_rate_limited": "infrastructure",
    "provider_unavailable": "infrastructure",
    "provider_bad_request": "infrastructure",
    "environment": "infrastructure",
    "verifier": "infrastructure",
    "settings": "infrastructure",
    "cancelled": "stopped",
    "signal": "stopped",
    "plugin_bug": "bug",
    "core_bug": "bug",
}


@dataclass(slots=True)
class RunResult:
    """How a run ended and what it left.

    Attributes:
        status: ``completed``, ``max_episodes``, ``session_ended``, ``limit_reached``, ``error`` or ``cancelled``.
        reason: a short word or one line: which limit, which fault; ``""`` where the status says it all.
        error_kind: what ended the run, by name: ``provider_auth``, ``provider_not_found``, ``provider_rate_limited``,
            ``provider_unavailable``, ``provider_bad_request``, ``refused``, ``context``, ``unusable_answers``,
            ``cut_answers``, ``environment``, ``session``, ``verifier``, ``settings``, ``plugin_bug``, ``core_bug``,
            ``signal``, ``cancelled``, the name of a limit, or a plugin's own word; ``""`` if the run completed.
        n_episodes: episodes begun.
        totals: tokens and cost of the whole run, calls beside the chat included.
        files: the files that the run's observers made.
        rollout_details: token ids and log-probabilities of each response, with ``collect_rollout_details``.
        metadata: what plugins have to add.
        error: the fault behind the status ``error``, if it was one of terminus_core's own.
        session_id: the run's id.
        logs_dir: the run's folder.
        incomplete: files that could not be written to their end, with the reason of each.
        failed_observers: names of the observers that could not be entered or left.
    """

    status: RunStatus
    reason: str = ""
    error_kind: str = ""
    n_episodes: int = 0
    totals: Usage = field(default_factory=Usage)
    files: list[Path] = field(default_factory=list)
    rollout_details: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    error: TerminusError | None = None
    session_id: str = ""
    logs_dir: Path | None = None
    incomplete: dict[str, str] = field(default_factory=dict)
    failed_observers: list[str] = field(default_factory=list)

    @property
    def error_group(self) -> ErrorGroup:
        """Whose doing the end was.

        ``agent``: its own, so the run counts; ``limit``; ``infrastructure``: it does not count and may be tried
        again; ``stopped``: by a person or a signal; ``bug``; ``""`` if the run completed.
        """
        return "" if not self.error_kind else _GROUPS.get(self.error_kind, "limit")

    def to_json(self) -> dict[str, Any]:
        """What ``--json`` prints, without rollout details, which can be large."""
        return {
            "status": self.status,
            "reason": self.reason,
            "error_kind": self.error_kind,
            "error_group": self.error_group,
            "n_episodes": self.n_episodes,
            "totals": {name: getattr(self.totals, name) for name in Usage.__slots__},
            "session_id": self.session_id,
            "logs_dir": None if self.logs_dir is None else str(self.logs_dir),
            "files": [str(path) for path in self.files],
            "incomplete": self.incomplete,
            "failed_observers": self.failed_observers,
            "metadata": self.metadata,
        }


@dataclass(slots=True, frozen=True)
class End:
    """What a fault, or the lack of one, means for the result."""

    status: RunStatus
    reason: str = ""
    error_kind: str = ""
    error: TerminusError | None = None


def end_of(fault: BaseException | None, stopped: tuple[RunStatus, str] | None, *, by_plugin: bool = False) -> End:
    """The end that belongs to what ended a run.

    Args:
        fault: what was raised, if anything.
        stopped: status and reason of :meth:`Run.stop`, which count without a fault.
        by_plugin: a fault that is not one of terminus_core's own lies in a plugin.
    """
    if fault is None:
        status, reason = stopped or ("max_episodes", "")
        return End(status, reason, _kind_of_stop(status, reason))
    if isinstance(fault, RunLimitReached):
        return End("limit_reached", fault.reason, fault.reason)
    if isinstance(fault, SessionClosedError):
        return End("session_ended", str(fault), fault.error_kind)
    if isinstance(fault, anyio.get_cancelled_exc_class()):
        return End("cancelled", "", "cancelled")
    if isinstance(fault, TerminusError):
        return End("error", str(fault), fault.error_kind, fault)
    return End("error", f"{type(fault).__name__}: {fault}", "plugin_bug" if by_plugin else "core_bug")


def _kind_of_stop(status: RunStatus, reason: str) -> str:
    match status:
        case "completed":
            return ""
        case "session_ended":
            return "session"
        case "max_episodes" | "cancelled":
            return status
        case _:
            return reason.split(":", maxsplit=1)[0] if reason else status
