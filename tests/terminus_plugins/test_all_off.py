"""Plugins that are there and not asked for change nothing."""

import subprocess
import sys

from tests.support.scripted_run import Done

OPTIONAL = [
    *("tools", "checklist", "single", "verify", "confirm", "deny", "dry_run"),
    *("loop_guard", "stuck_shell", "compact_old_output", "instruction_extra", "redact"),
]


def recorded(done):
    """The trajectory without what differs from run to run."""
    document = done.trajectory
    del document["session_id"], document["trajectory_id"], document["agent"]["extra"]
    for step in document["steps"]:
        del step["timestamp"]
    return document


def test_the_demo_is_the_same_with_all_of_them_off(program):
    demos = []
    for name, off in (("there", []), ("blocked", OPTIONAL)):
        words = [
            "demo",
            "-q",
            "--logs-dir",
            str(program.folder / name),
            *[word for each in off for word in ("-p", f"no:{each}")],
        ]
        done = subprocess.run(
            [sys.executable, "-m", "terminus_core", *words],
            env=program.variables,
            cwd=program.folder,
            timeout=100,
            check=True,
        )
        demos.append(recorded(Done(done.returncode, "", "", program.folder / name)))
    there, blocked = demos
    assert there == blocked
    assert len(there["steps"]) == 8
