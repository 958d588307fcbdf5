"""``terminus runs``: what was run, and removing it."""

import json
from pathlib import Path

from tests.support.command_line import DONE, last_json, reply


def test_runs_are_listed_and_removed(terminus, in_process):
    expensive = reply("true\n")
    expensive["usage"]["cost_usd"] = 10.5
    assert in_process("run", "the first task", *terminus.script(*DONE), "-m", "one").returncode == 0
    done = in_process("run", "the second", *terminus.script(expensive, *DONE))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "limit_reached: max_cost_usd \u2014 stopped at the cost limit (agent.max_cost_usd)" in lines
    assert lines[-1] == "the default limit of 10 dollars is agent.max_cost_usd (--max-cost USD; none lifts it)"
    unlimited = in_process("run", "a third", *terminus.script(expensive, *DONE), "--max-cost", "none")
    assert unlimited.returncode == 0

    rows = last_json(in_process("runs", "--json"))
    assert sorted(row["task"] for row in rows) == ["a third", "the first task", "the second"]
    by_task = {row["task"]: row for row in rows}
    assert by_task["the first task"]["model"] == "one"
    assert by_task["the second"]["status"] == "limit_reached"
    assert by_task["the second"]["cost_usd"] == 10.5
    shown = in_process("runs").stdout
    assert "limit_reached  $10.5000" in shown

    names = [row["name"] for row in rows]
    folder = Path(rows[0]["folder"])
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | {"status": "running"}))
    assert in_process("runs", "rm", names[0]).stderr.startswith(f"terminus: no finished run '{names[0]}' in ")
    assert in_process("runs", "rm", names[1]).returncode == 0
    assert in_process("runs", "--keep", "0").returncode == 0
    assert [path.name for path in terminus.runs] == names[:1]
