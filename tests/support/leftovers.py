"""Processes that a test run has started and that are still there at its end."""

import os
import time
from pathlib import Path

VARIABLE = "PYTEST_RUN_MARK"
"""Every process that a test starts inherits it, however far it gets away."""
PATIENCE_SEC = 30.0


def begin():
    """Mark this process and all that it starts; ``None`` in a worker of xdist, which has the mark already."""
    if VARIABLE in os.environ:
        return None
    mark = os.environ[VARIABLE] = f"{os.getpid()}-{time.time_ns()}"
    return mark


def left_over(mark):
    """The command lines of marked processes that do not end within :data:`PATIENCE_SEC`, this one and its own aside."""
    deadline = time.monotonic() + PATIENCE_SEC
    while (found := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return sorted(found.values())


def _marked(mark):
    own = {os.getpid(), os.getppid()}
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environ = (process / "environ").read_bytes().split(b"\0")
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if int(process.name) not in own and words and f"{VARIABLE}={mark}".encode() in environ:
            found[int(process.name)] = f"{process.name}: {words[:200]}"
    return found
