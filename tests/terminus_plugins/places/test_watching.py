"""The line for watching, typed as it stands on this machine, shows the terminal of the place."""

import os

import pytest

from tests.support.command_line import DONE, Terminus, read_until, reply
from tests.support.person import Person
from tests.terminus_plugins.places.test_runs import place

__all__ = ["place"]


@pytest.mark.parametrize("place", ["ssh", "podman", "sandbox"], indirect=True)
def test_the_line_for_watching_works(place, tmp_path):
    terminus = Terminus(tmp_path, {**os.environ, "HOME": str(tmp_path)})
    waiting = reply(("echo wat''ch me; until [ -e go ]; do sleep 0.1; done\n", 200.0))
    words = ["run", "task", *terminus.script(waiting, *DONE), *place]
    words += ["--set", "agent.max_command_duration_sec=200", "--logs-dir", "run"]
    process = terminus.start(*words)
    try:
        line = read_until(process.stdout, "to watch: ")[-1].removeprefix("to watch: ").strip()
        with Person(tmp_path, terminus.env, 200, 50) as person:
            person.types(f"clear; {line}")
            person.sees("watch me")
    finally:
        process.terminate()
        process.communicate(timeout=60)
