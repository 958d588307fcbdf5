"""What happens when the folder of a run is damaged while the run goes on."""

import json
import os
import shutil

import pytest

from terminus_core import Trajectory
from tests.support.damage import MENDED, N_STEPS, SAID, damaged_run
from tests.support.scripted_run import DONE, Program, typing


def test_what_can_be_mended_is_mended(tmp_path):
    for number, (case, command) in enumerate(MENDED.items()):
        done = damaged_run(tmp_path / str(number), command)
        assert (done.code, done.stderr) == (0, ""), (case, done.stderr)
        assert not (done.folder / "trajectory.json").is_symlink(), case
        document = json.loads((done.folder / "trajectory.json").read_text())
        Trajectory.model_validate(document)
        assert len(document["steps"]) == N_STEPS, case


def test_what_is_lost_is_said_and_the_exit_code_tells(tmp_path):
    for number, (case, command) in enumerate(SAID.items()):
        done = damaged_run(tmp_path / str(number), command)
        assert done.code == 1, (case, done.stderr)
        assert str(done.folder) in done.stderr, case
        assert "Traceback" not in done.stderr, case


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="only root can mount")
def test_a_full_disk_is_said(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    if os.system(f"mount -t tmpfs -o size=300k none {folder} 2>/dev/null"):
        pytest.skip("nothing can be mounted here")
    try:
        program = Program(tmp_path)
        long = "x" * 40_000
        replies = [typing("true\n", analysis=f"{n} {long}") for n in range(12)]
        done = program("--logs-dir", str(folder / "run"), replies=[*replies, DONE, DONE])
    finally:
        os.system(f"umount {folder}")
    assert done.code == 1
    assert "is not complete" in done.stderr
