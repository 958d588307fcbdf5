"""Trajectories of any version and any agent, read liberally."""

import json
import os

import pytest

from terminus_core.errors import ConfigError
from terminus_plugins.commands.common.cast_alignment import episode_markers, place_steps
from terminus_plugins.commands.common.documents import DocumentError, read_documents, read_steps
from terminus_plugins.commands.view.runs import find_runs, newest_run, read_run, stamp_of, summary_of

from .conftest import BEGIN, agent_step, prompt_step, trajectory


def steps_of(tmp_path, *steps, **fields):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"steps": list(steps), **fields}))
    return read_documents(path)["t.json"]["steps"]


@pytest.mark.parametrize("version", ["ATIF-v1.0", "ATIF-v1.4", "ATIF-v1.7", "ATIF-v1.8", "ATIF-v9", None])
def test_every_version_is_read(tmp_path, version):
    (step,) = steps_of(tmp_path, agent_step(1, 2), schema_version=version, agent={"name": "someone else's"})
    assert step["calls"][0]["command"] == "make\n"
    assert step["results"][0]["text"].startswith("New Terminal Output")
    assert step["time"] == BEGIN.timestamp() + 2
    assert (step["prompt"], step["completion"], step["cost"]) == (1000, 50, 0.01)


@pytest.mark.parametrize(
    ("arguments", "command", "rest"),
    [
        ({"command": "ls", "timeout": 3}, "ls", ""),
        ({"cmd": "ls"}, "ls", ""),
        ({"code": "print(1)"}, "print(1)", ""),
        ({"path": "/x"}, None, '{\n  "path": "/x"\n}'),
        ({}, None, ""),
        ("text", None, '"text"'),
        (None, None, ""),
        ([1], None, "[\n  1\n]"),
    ],
)
def test_tools_of_other_agents(tmp_path, arguments, command, rest):
    (step,) = steps_of(
        tmp_path, {"source": "agent", "tool_calls": [{"function_name": "tool", "arguments": arguments}, "no call"]}
    )
    (call,) = step["calls"]
    assert (call["name"], call["command"], call["arguments"]) == ("tool", command, rest)


@pytest.mark.parametrize(
    "step",
    [
        {},
        {"step_id": "x", "source": 7, "message": {"a": 1}, "timestamp": "yesterday", "metrics": []},
        {"message": ["a", 1], "observation": "text", "tool_calls": "none", "extra": [1]},
        {"message": None, "observation": [None, 1, {"content": {"deep": [1]}}], "metrics": {"cost_usd": "1"}},
        {"observation": {"results": {"content": 1}}, "timestamp": 1e300, "metrics": {"prompt_tokens": True}},
        {"observation": {"results": [{"subagent_trajectory_ref": [1, {}, {"trajectory_path": 5}]}]}},
        {"timestamp": 1714824000, "metrics": {"prompt_tokens": 10**400, "cost_usd": float("nan")}},
    ],
)
def test_odd_steps_become_text(tmp_path, step):
    shown = steps_of(tmp_path, step, "no step", agent=[], final_metrics=3, subagent_trajectories=7)
    assert len(shown) == 1
    json.dumps(shown, allow_nan=False)


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"steps": 1}', "[" * 100_000, '{"steps": [', "\xff\xfe"])
def test_what_is_no_trajectory_is_said_in_one_line(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(DocumentError, match=r"is not (a JSON document|an ATIF trajectory)") as caught:
        read_documents(path)
    assert "\n" not in str(caught.value)


def test_parts_of_a_message(tmp_path):
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/a.png"}}
    outside = {"type": "image", "source": {"media_type": "image/png", "path": "../secret.png"}}
    script = {"type": "image", "source": {"media_type": "image/svg+xml", "path": "images/a.png"}}
    (tmp_path / "run" / "images").mkdir(parents=True)
    (tmp_path / "run" / "images" / "a.png").write_bytes(b"png")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (step,) = steps_of(
        tmp_path / "run", {"source": "user", "message": [{"type": "text", "text": "see"}, image, outside, script]}
    )
    assert step["message"] == "see\n[image: images/a.png]\n[image: ../secret.png]\n[image: images/a.png]"
    assert step["images"] == ["data:image/png;base64,cG5n"]


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({"extra": {"finish_reason": "length"}}, ["The answer was cut off at the output limit"]),
        ({"extra": {"error": "boom"}}, ["Error: boom"]),
        ({"observation": {"results": [{"content": "x", "extra": {"is_error": True}}]}}, ["Error"]),
        ({"observation": {"results": [{"content": "x", "extra": {"exit_code": 2}}]}}, ["Exit status 2"]),
        ({"observation": {"results": [{"content": "x", "extra": {"exit_code": 0, "error": None}}]}}, []),
        (
            {"observation": {"results": [{"content": "Previous response had warnings:\nWARNINGS: odd"}]}},
            ["Warnings about the answer"],
        ),
        (
            {"observation": {"results": [{"content": "The terminal did not come back within 5 seconds"}]}},
            ["A command timed out"],
        ),
    ],
)
def test_errors_are_marked(tmp_path, fields, flags):
    (step,) = steps_of(tmp_path, {"source": "agent"} | fields)
    assert [flag["text"] for flag in step["flags"]] == flags


def test_references_stay_below_the_folder(tmp_path):
    (tmp_path / "run").mkdir()
    secret = trajectory([prompt_step(text="secret")])
    (tmp_path / "secret.json").write_text(json.dumps(secret))
    (tmp_path / "run" / "link.json").symlink_to(tmp_path / "secret.json")
    paths = ["../secret.json", str(tmp_path / "secret.json"), "link.json", "t.json", "\0", "x" * 5000]
    refs = [{"trajectory_path": path} for path in paths]
    step = {"source": "system", "observation": {"results": [{"subagent_trajectory_ref": refs}]}}
    (shown,) = steps_of(tmp_path / "run", step, continued_trajectory_ref="t.json")
    assert [ref["doc"] for ref in shown["results"][0]["refs"]] == [None, None, None, "t.json", None, None]


def test_a_chain_of_documents_may_be_long(tmp_path, save):
    """Longer than functions that call each other could follow it."""
    names = ["trajectory.json", *(f"trajectory.cont-{n}.json" for n in range(1, 1200))]
    documents = {}
    for number, (name, following) in enumerate(zip(names, [*names[1:], None], strict=True), start=1):
        fields = {"continued_trajectory_ref": following} if following else {}
        documents[name] = trajectory([prompt_step(number)], **fields)
    folder = save("run", documents.pop("trajectory.json"), others=documents)
    run = read(folder)
    assert (list(run["documents"]), run["problems"]) == (names, [])
    assert len(read_steps(folder / "trajectory.json")) == len(names)
    (folder / names[700]).unlink()
    run = read(folder)
    assert list(run["documents"]) == names[:700]
    assert run["problems"] == [f"The steps after {names[699]} are missing: {names[700]} cannot be read."]


# -- runs on disk ------------------------------------------------------------------------------------------------------


def test_runs_are_found_wherever_they_are(tmp_path, save):
    for number, name in enumerate(["job/task-a/agent", "job/task-b/agent", "plain"]):
        folder = save(f"runs/{name}", trajectory([prompt_step()]))
        os.utime(folder / "trajectory.json", (number, number))
    only_begun = tmp_path / "runs" / "begun"
    only_begun.mkdir()
    (only_begun / "run.json").write_text("{}")
    os.utime(only_begun / "run.json", (99, 99))
    (tmp_path / "runs" / "empty").mkdir()
    names = [place.name for place in find_runs(tmp_path / "runs")]
    assert names == ["begun", "plain", "job/task-b/agent", "job/task-a/agent"]
    assert newest_run(tmp_path / "runs") == only_begun
    assert [place.name for place in find_runs(tmp_path / "runs" / "plain")] == ["plain"]
    other = tmp_path / "else.json"
    other.write_text(json.dumps(trajectory([prompt_step()])))
    assert [place.name for place in find_runs(other)] == ["else.json"]
    for nothing in (tmp_path / "runs" / "empty", tmp_path / "absent"):
        with pytest.raises(ConfigError, match=r"no run in|does not exist"):
            find_runs(nothing)


@pytest.mark.parametrize("target", ["absent.json", "trajectory.json"], ids=["to nothing", "to itself"])
def test_a_trajectory_that_is_a_link_to_nothing(tmp_path, save, target):
    whole = save("runs/whole", trajectory([prompt_step()]))
    linked = tmp_path / "runs" / "linked"
    linked.mkdir()
    (linked / "trajectory.json").symlink_to(target)
    assert newest_run(tmp_path / "runs") == whole
    assert newest_run(linked) == linked
    places = find_runs(tmp_path / "runs")
    assert [place.name for place in places] == ["whole", "linked"]
    assert stamp_of(places[1])
    (problem,) = read_run(places[1])["problems"]
    assert ("link to nothing" if target == "absent.json" else "cannot be read") in problem


def read(folder):
    return read_run(find_runs(folder)[0])


def write_record(folder, **fields):
    (folder / "run.json").write_text(json.dumps({"session_id": "s", **fields}))


def test_a_killed_run_is_told_from_one_that_goes_on(save):
    folder = save("run", trajectory([prompt_step(), agent_step(2, 4)]))
    write_record(folder, pid=os.getpid(), status="running", started_at=BEGIN.isoformat())
    run = read(folder)
    assert (run["status"], run["failure"]) == ("running", None)
    assert run["ended"] > BEGIN.timestamp()
    stamp = stamp_of(find_runs(folder)[0])
    write_record(folder, pid=2**22 + 5, status="running", started_at=BEGIN.isoformat())
    assert stamp_of(find_runs(folder)[0]) != stamp
    run = read(folder)
    assert run["status"] == "killed"
    assert run["failure"]["command"] == "make\n"
    assert run["ended"] == BEGIN.timestamp() + 4


def test_totals_are_those_of_the_whole_run(save):
    aside = trajectory([prompt_step(), agent_step(2, 4, keys=())])
    system = prompt_step(3, "replaced", 5) | {
        "source": "system",
        "observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_path": "aside.json"}]}]},
    }
    first = trajectory([prompt_step(), agent_step(2, 4), system], continued_trajectory_ref="trajectory.cont-1.json")
    copied = agent_step(1, 4) | {"is_copied_context": True}
    second = trajectory([copied, agent_step(2, 9)], status="completed")
    others = {"aside.json": aside, "trajectory.cont-1.json": second}
    run = read(save("summed", first, others=others))
    assert run["totals"] == {
        "episodes": 2,
        "prompt": 3000,
        "completion": 150,
        "cached": None,
        "cost": pytest.approx(0.03),
    }
    second["final_metrics"]["extra"]["run"] = {"total_prompt_tokens": 5, "total_cost_usd": 7.5}
    run = read(save("told", first, others=others))
    assert (run["totals"]["prompt"], run["totals"]["completion"], run["totals"]["cost"]) == (5, 150, 7.5)


def test_problems_are_said(save):
    folder = save("run", trajectory([prompt_step()]), [[0.5, "o", "a"]])
    with (folder / "recording.cast").open("a") as file:
        file.write('[0.9, "o", "to')
    assert read(folder)["problems"] == ['recording.cast: line 3 is not an event and was left out: [0.9, "o", "to']
    (folder / "recording.cast").write_text("no recording\n")
    (folder / "trajectory.json").write_text("torn {")
    problems = read(folder)["problems"]
    assert len(problems) == 2
    assert "is not a JSON document" in problems[0]
    assert "its first line is not a header" in problems[1]


def test_a_summary_is_small(save):
    run = read(save("run", trajectory([prompt_step(text="x" * 100_000)])))
    assert len(json.dumps(summary_of(run))) < 1000


# -- steps and recordings ----------------------------------------------------------------------------------------------


def test_steps_without_markers_are_placed_by_the_clock():
    steps = [{"source": "user", "time": 100.0}, {"source": "agent", "time": 103.0}, {"source": "agent", "time": 110.0}]
    for step in steps:
        step["copied"] = False
    place_steps(steps, 98.0, [], 60.0)
    assert [step["at"] for step in steps] == [2.0, 2.0, 5.0]
    place_steps(
        steps, 98.0, [(2.5, "Episode 1: x"), (6.0, "note"), (7.5, "Episode 2: y"), (50.0, "Episode 2: again")], 60.0
    )
    assert [step["at"] for step in steps] == [2.0, 2.5, 7.5]
    place_steps(steps, None, [], 60.0)
    assert [step["at"] for step in steps] == [None, None, None]
    place_steps(steps, 98.0, [], 3.0)
    assert [step["at"] for step in steps] == [2.0, 2.0, 3.0], "nothing is behind the end"


def test_markers_for_a_recording_made_elsewhere(tmp_path):
    failed = agent_step(3, 9, keys=(), text="Previous response had parsing errors:\nERROR: x\n\nPlease")
    done = agent_step(4, 12, keys=["a\n", "b\n"], message="Plan: " + "long words " * 30)
    steps = steps_of(tmp_path, prompt_step(), agent_step(2, 5), failed, done)
    markers = episode_markers(steps, BEGIN.timestamp() - 1)
    assert [at for at, _ in markers] == [1.0, 6.0, 10.0]
    labels = [label for _, label in markers]
    assert labels[:2] == ["Episode 1: 1 commands · Do thing 2.", "Episode 2: the answer could not be used"]
    assert labels[2].startswith("Episode 3: 2 commands · long words")
    assert len(labels[2]) < 90
    assert episode_markers(steps, BEGIN.timestamp(), markers[:2]) == [(9.0, labels[2])]
