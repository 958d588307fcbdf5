"""A run that goes on is told from one whose process is gone, also where its number is somebody else's now."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from terminus_core.runfile import RunFile
from terminus_plugins.commands.view.runs import find_runs, read_run

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system has no /proc")

BEGIN_AND_WAIT = """
import sys
from pathlib import Path
from terminus_core.runfile import RunFile
RunFile(Path(sys.argv[1]), "s", "the task")
print(flush=True)
sys.stdin.read()
"""


def status(folder):
    return read_run(find_runs(folder)[0])["status"]


def change(folder, **fields):
    """Other fields of the record, and of its ``process``."""
    path = folder / "run.json"
    record = json.loads(path.read_text())
    for key, value in fields.items():
        if key in record:
            record[key] = value
        else:
            record["process"][key] = value
    path.write_text(json.dumps(record))


@pytest.fixture
def folder(tmp_path):
    RunFile(tmp_path / "run", "s", "the task")
    return tmp_path / "run"


def begin(folder, *wrapper):
    return subprocess.Popen(
        [*wrapper, sys.executable, "-c", BEGIN_AND_WAIT, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_a_run_goes_on_until_it_ends(folder):
    assert status(folder) == "running"


@linux
def test_a_run_goes_on_in_another_process_until_that_is_killed(tmp_path):
    with begin(tmp_path / "run") as process:
        process.stdout.readline()
        assert status(tmp_path / "run") == "running"
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert status(tmp_path / "run") == "killed", "nobody has asked yet how it ended"
    assert status(tmp_path / "run") == "killed"


@linux
def test_the_number_is_another_process_now(folder):
    change(folder, start_ticks=1)
    assert status(folder) == "killed"
    change(folder, pid=os.getppid())
    assert status(folder) == "killed"


@linux
def test_the_number_is_another_process_after_a_reboot(folder):
    change(folder, boot_id="00000000-0000-4000-8000-000000000000")
    assert status(folder) == "killed"


@pytest.mark.parametrize("process", [{}, None, [], "text", {"start_ticks": 1}, {"start_ticks": 1, "boot_id": None}])
def test_without_more_than_a_number_any_process_counts(folder, process):
    change(folder, process=process)
    assert status(folder) == "running"
    change(folder, pid=2**22 + 5)
    assert status(folder) == "killed"


@pytest.mark.parametrize("pid", [0, -1, 10**30, "7", None])
def test_a_number_that_no_process_has(folder, pid):
    change(folder, pid=pid)
    assert status(folder) == "killed"


@linux
def test_a_run_in_a_container_is_seen_from_outside(tmp_path):
    """There it has another number."""
    wrapper = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may make no namespaces")
    if str(Path("/proc/self/ns/pid").readlink()) != "pid:[4026531836]":
        pytest.skip("this is a container itself")
    with begin(tmp_path / "run", *wrapper) as process:
        process.stdout.readline()
        assert json.loads((tmp_path / "run" / "run.json").read_text())["pid"] == 1
        assert status(tmp_path / "run") == "running"
    assert status(tmp_path / "run") == "killed"
