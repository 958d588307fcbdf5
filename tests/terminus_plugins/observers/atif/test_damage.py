"""What happens when the folder of a run is damaged while the run goes on."""

import json
import os
import shutil

import pytest

from terminus_core import Trajectory
from tests.support.scripted_run import DONE, Program, typing

MENDED = {
    "the trajectory is removed": "rm trajectory.json",
    "the trajectory is emptied": ": > trajectory.json",
    "the trajectory is emptied twice": ": > trajectory.json; sleep 0.2; : > trajectory.json",
    "the hidden files are removed": "rm -f .trajectory.json.*",
    "the trajectory is replaced": "echo nonsense > other; mv other trajectory.json",
    "the trajectory is a link": "ln -sf /etc/hostname trajectory.json",
    "a stranger's file appears": "touch stranger",
}
SAID = {
    "the hidden files are emptied": "for f in .trajectory.json.*; do : > $f; done",
    "the folder is removed": "cd ..; rm -rf logs",
    "the folder is removed and made anew": "cd ..; rm -rf logs; mkdir logs",
    "the folder is a file": "cd ..; rm -rf logs; touch logs",
    "everything is emptied": "for f in * .t*; do : > $f; done",
    "the folder is moved away": "cd ..; mv logs elsewhere",
}


def run(folder, command):
    folder.mkdir()
    program = Program(folder)
    replies = [typing("echo one\n"), typing(f"(cd logs; {command})\n"), typing("echo three\n"), typing("echo four\n")]
    return program(replies=[*replies, DONE, DONE])


def test_what_can_be_mended_is_mended(tmp_path):
    for number, (case, command) in enumerate(MENDED.items()):
        done = run(tmp_path / str(number), command)
        assert (done.code, done.stderr) == (0, ""), (case, done.stderr)
        assert not (done.folder / "trajectory.json").is_symlink(), case
        document = json.loads((done.folder / "trajectory.json").read_text())
        Trajectory.model_validate(document)
        assert len(document["steps"]) == 7, case


def test_what_is_lost_is_said_and_the_exit_code_tells(tmp_path):
    for number, (case, command) in enumerate(SAID.items()):
        done = run(tmp_path / str(number), command)
        assert done.code == 1, (case, done.stderr)
        assert "trajectory.json" in done.stderr, case
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
