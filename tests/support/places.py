"""What tests of places need from the machine, and what happens where it is not there."""

import os
import shutil
from pathlib import Path

import pytest

REQUIRED = os.environ.get("TERMINUS_REQUIRE_PLACES") == "1"


def lacking(why):
    """Skip and say why; where places are required, fail."""
    if REQUIRED:
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


def need(program, package):
    """The path of a program, or the reason why there is no test."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        lacking(f"{program} is not installed: apt-get install {package}")
    return found


def need_root(why):
    if os.geteuid() != 0:
        lacking(f"only root can {why}")


def children(pid):
    """All processes below ``pid``, oldest first."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found, new = [], {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new}
        found += sorted(new)
    return found


def program_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""
