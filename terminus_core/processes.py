"""Whether a process that a file tells of is still there: a pid alone may be somebody else's by now."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

_FIRST_NAMESPACE = "pid:[4026531836]"
"""The kernel's own: from there all processes can be seen."""


def describe_process() -> dict[str, Any]:
    """This process, so that :func:`is_process_there` knows it again.

    Returns:
        ``boot_id`` of the host, ``start_ticks`` (clock ticks from boot to the start) and ``pid_namespace``; without
        those that the system does not tell.
    """
    started = _start_ticks("self")
    found = {"boot_id": _boot_id(), "start_ticks": started, "pid_namespace": _namespace()}
    return {key: value for key, value in found.items() if value}


def is_process_there(pid: int, described: dict[str, Any]) -> bool:
    """Whether the process lives.

    Args:
        pid: its number, as it saw it itself.
        described: what :func:`describe_process` gave in it; with what is missing, any process of the number counts.
    """
    if pid <= 0:
        return False
    boot, ticks, namespace = (described.get(key) for key in ("boot_id", "start_ticks", "pid_namespace"))
    here, own = _boot_id(), _namespace()
    if boot and here and boot != here:
        return False
    if boot and here and ticks:
        if not namespace or namespace == own:
            now = _start_ticks(str(pid))
            if now is not None:
                return bool(now == ticks)
        elif own == _FIRST_NAMESPACE:
            return _is_in_a_container(pid, ticks)
    return _has_number(pid)


def _has_number(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _is_in_a_container(pid: int, ticks: int) -> bool:
    """Whether a process that has this number further inside, and another here, lives."""
    for each in Path("/proc").glob("[0-9]*"):
        if _start_ticks(each.name) == ticks:
            with suppress(OSError):
                status = (each / "status").read_text(errors="replace")
                numbers = next((line.split() for line in status.splitlines() if line.startswith("NSpid:")), [])
                if numbers[-1:] == [str(pid)]:
                    return True
    return False


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def _namespace() -> str | None:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return None


def _start_ticks(pid: str) -> int | None:
    """When a process began, 0 if only its parent has not yet asked how it ended, ``None`` if that cannot be told."""
    try:
        # Behind the program's name, which may hold anything: the state, and the 22nd of all fields.
        state, *fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()
        return 0 if state in "ZX" else int(fields[18])
    except (OSError, ValueError, IndexError):
        return None
