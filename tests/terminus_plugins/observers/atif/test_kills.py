"""A kill at any instant leaves the last complete state."""

import json
import os
import subprocess
import sys
from pathlib import Path

KILLS = 60


def test_tr_01_files_are_whole_and_hold_every_recorded_step_after_a_kill(rig):
    script = Path(__file__).with_name("record_and_be_killed.py")
    done = subprocess.run(
        [sys.executable, script, rig.folder, str(KILLS)], capture_output=True, text=True, check=True, env=os.environ
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == KILLS
    for folder, returned in lines:
        killed = type(rig)(Path(folder))
        steps = killed.read()["steps"]
        assert returned + 1 <= len(steps) <= returned + 2
        assert [step["message"].partition(" ")[0] for step in steps[1:]] == [str(n) for n in range(1, len(steps))]
        assert returned <= len(killed.replies()) <= returned + 1
        assert killed.hidden() != []
        before = (killed.folder / "trajectory.json").read_bytes()
        killed.start()
        assert killed.hidden() == []
        assert (killed.folder / "trajectory.json").read_bytes() == before
