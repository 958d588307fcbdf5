"""Every benchmark script still runs; its figures are looked at elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import need

NEEDS = {"places": [("sshd", "openssh-server"), ("busybox", "busybox-static"), ("podman", "podman"), ("runc", "runc")]}
SCRIPTS = sorted(path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "_")))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_runs(script):
    for program, package in NEEDS.get(script.stem, []):
        need(program, package)
    done = subprocess.run([sys.executable, script, "--smoke"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "|" in done.stdout
