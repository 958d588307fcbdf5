"""``--trace-plugins``: each call of a hook, with its time."""

import re

from tests.support.command_line import DONE, reply

LINE = re.compile(r"^terminus: (terminus_\w+), (.+): \d+\.\d{3} ms$")
SLOW = """
import time
from terminus_core import hookimpl

@hookimpl
def terminus_command_sent(run, command):
    time.sleep(0.05)
    raise ValueError("mine")
"""


def test_each_call_is_a_line(terminus):
    script = terminus.script(reply("true\n", "true\n"), *DONE)
    done = terminus("run", "work", "--trace-plugins", *terminus.plugin(SLOW), *script)
    assert done.returncode == 0, done.stderr
    calls = [found.groups() for found in map(LINE.match, done.stderr.splitlines()) if found]
    assert len([who for hook, who in calls if hook == "terminus_command_sent" and "mine.py" in who]) == 2
    assert any(hook == "terminus_step_recorded" and "observer 'atif'" in who for hook, who in calls)
    assert any(hook == "terminus_run_finished" and "observer 'atif'" in who for hook, who in calls)
    assert any(hook == "terminus_register_response_parsers" and "'json' (terminus-agent" in who for hook, who in calls)
    times = [float(line.split()[-2]) for line in done.stderr.splitlines() if "mine.py): " in line and " ms" in line]
    assert len(times) >= 2
    assert all(time >= 50 for time in times)
    assert "ValueError: mine" in done.stderr


def test_nothing_is_said_unasked(terminus):
    done = terminus("run", "work", *terminus.script(*DONE))
    assert done.returncode == 0
    assert "terminus_step_recorded" not in done.stdout + done.stderr
