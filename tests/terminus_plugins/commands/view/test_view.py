"""`terminus view` and `terminus cast markers` on the command line."""

import json
import stat
import subprocess
import sys
import urllib.request

import pytest

from terminus_core.cli import main


def document(n_turns=2):
    step = {
        "source": "agent",
        "message": "Plan: go on.",
        "tool_calls": [{"tool_call_id": "c", "function_name": "bash_command", "arguments": {"keystrokes": "ls\n"}}],
        "observation": {"results": [{"content": "out"}]},
    }
    times = [{"step_id": n + 2, "timestamp": f"2026-05-04T12:00:{n * 5 + 5:02}Z"} for n in range(n_turns)]
    first = {"step_id": 1, "timestamp": "2026-05-04T12:00:00Z", "source": "user", "message": "Go."}
    return {
        "schema_version": "ATIF-v1.6",
        "agent": {"name": "x", "version": "1"},
        "steps": [first, *(step | t for t in times)],
    }


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "terminus" / "runs" / "20260504-1"
    folder.mkdir(parents=True)
    (folder / "trajectory.json").write_text(json.dumps(document()))
    header = {"version": 2, "width": 80, "height": 24, "timestamp": 1777896000}
    (folder / "recording.cast").write_text(json.dumps(header) + '\n[1.0, "o", "a"]\n[9.0, "o", "b"]\n')
    return folder


def test_without_a_path_the_newest_run_is_shown(run, capsys):
    assert main(["view"]) == 0
    page = run / "report.html"
    assert capsys.readouterr().out == f"{page}\n"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "20260504-1" in page.read_text()
    assert main(["view"]) == 0, "a second time too"


def test_a_file_or_a_folder_and_another_target(run, capsys, tmp_path):
    assert main(["view", str(run / "trajectory.json"), "-o", str(tmp_path / "a.html")]) == 0
    assert main(["view", str(run.parent), "-o", str(tmp_path / "b.html")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'a.html'}\n{tmp_path / 'b.html'}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["view", "absent"], "absent does not exist"),
        (["view", __file__], "test_view.py is not a JSON document"),
        (["view", "--serve", __file__], "test_view.py is not a JSON document"),
        (["view", "."], None),
        (["view", "-o", "no/such/folder/a.html"], "cannot write"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(run, capsys, arguments, said):
    code = main(arguments)
    told = capsys.readouterr().err
    assert code == (2 if said else 0)
    assert said is None or (said in told and told.count("\n") == 1)


@pytest.mark.parametrize(
    "record",
    [
        '{"instruction": NaN, "status": "completed"}',
        '{"instruction": 1e999, "status": NaN, "reason": -Infinity}',
        '{"instruction": ' + "[" * 600 + "]" * 600 + "}",
        '{"status": ' + "[" * 600 + "]" * 600 + "}",
        '{"instruction": ' + "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
    ],
    ids=["NaN", "infinite", "deep", "deep status", "deeper and torn", "deeper"],
)
def test_an_odd_record_of_the_run_is_no_reason_to_show_nothing(run, capsys, record):
    (run / "run.json").write_text(record)
    for path in (run, run.parent):
        assert main(["view", str(path)]) == 0
        assert "Plan: go on." in (path / "report.html").read_text()
    assert capsys.readouterr().err == ""


def test_a_link_brings_no_other_file_into_the_page(run, tmp_path):
    assert main(["view", str(run)]) == 0
    assert 'id="cast-' in (run / "report.html").read_text()
    (run / "recording.cast").rename(tmp_path / "elsewhere")
    (run / "recording.cast").symlink_to(tmp_path / "elsewhere")
    assert main(["view", str(run)]) == 0
    assert 'id="cast-' not in (run / "report.html").read_text()


def test_no_run_at_all(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["view"]) == 2
    assert f"no run in {tmp_path}/terminus/runs" in capsys.readouterr().err


def test_serve_prints_the_address_and_ends_with_ctrl_c(run):
    process = subprocess.Popen(
        [sys.executable, "-m", "terminus_core", "view", "--serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        address = process.stdout.readline().strip()
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert b"20260504-1" in answer.read()
        process.send_signal(2)
        assert process.wait(timeout=30) == 0


def test_markers_are_put_in_by_the_clock(run, capsys):
    cast = run / "recording.cast"
    assert main(["cast", "markers", str(cast), "--trajectory", str(run / "trajectory.json")]) == 0
    assert capsys.readouterr().out == f"{cast}: 2 markers added\n"
    assert [json.loads(line) for line in cast.read_text().splitlines()[1:]] == [
        [0.0, "m", "Episode 1: 1 commands · go on."],
        [1.0, "o", "a"],
        [5.0, "m", "Episode 2: 1 commands · go on."],
        [9.0, "o", "b"],
    ]
    before = cast.read_bytes()
    assert main(["cast", "markers", str(cast), "--trajectory", str(run / "trajectory.json")]) == 0
    assert cast.read_bytes() == before


def test_a_clock_that_differs_is_corrected(run, tmp_path):
    target = tmp_path / "b.cast"
    arguments = ["cast", "markers", str(run / "recording.cast"), "--trajectory", str(run / "trajectory.json")]
    assert main([*arguments, "--offset", "2.5", "-o", str(target)]) == 0
    assert "[7.5, " in target.read_text()
    assert '"m"' not in (run / "recording.cast").read_text()


@pytest.mark.parametrize(
    ("cast", "trajectory", "said"),
    [
        pytest.param('{"version": 1}\n', None, "is left as it was: asciicast format 1", id="as-03 format 1"),
        ("text\n", None, "its first line is not a header"),
        (None, "{}", "is not an ATIF trajectory"),
        (None, "", "No such file"),
    ],
)
def test_what_cannot_be_marked_stays_as_it_was(run, capsys, cast, trajectory, said):
    path, steps = run / "recording.cast", run / "other.json"
    if cast:
        path.write_text(cast)
    before = path.read_bytes()
    if trajectory:
        steps.write_text(trajectory)
    elif trajectory is None:
        steps = run / "trajectory.json"
    assert main(["cast", "markers", str(path), "--trajectory", str(steps)]) == 2
    assert said in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_recording_that_does_not_say_when_begins_with_the_first_step(run, capsys):
    path = run / "recording.cast"
    path.write_text('{"version": 2, "width": 80, "height": 24}\n[9.0, "o", "b"]\n')
    assert main(["cast", "markers", str(path), "--trajectory", str(run / "trajectory.json")]) == 0
    assert "does not say when it was made" in capsys.readouterr().err
    assert '[5.0, "m"' in path.read_text()


@pytest.mark.parametrize("beginning", ["9" * 400, "1e999", "NaN", "true"], ids=["400 digits", "1e999", "NaN", "true"])
def test_a_recording_that_cannot_have_begun_then_does_not_say_when(run, capsys, beginning):
    path = run / "recording.cast"
    path.write_text(f'{{"version": 2, "width": 80, "height": 24, "timestamp": {beginning}}}\n[9.0, "o", "b"]\n')
    assert main(["view", str(run)]) == 0
    assert main(["cast", "markers", str(path), "--trajectory", str(run / "trajectory.json")]) == 0
    assert "does not say when it was made" in capsys.readouterr().err
    assert '[5.0, "m"' in path.read_text()


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "1e308"])
def test_an_offset_that_no_clock_has_is_refused(run, capsys, seconds):
    path = run / "recording.cast"
    before = path.read_bytes()
    arguments = ["cast", "markers", str(path), "--trajectory", str(run / "trajectory.json")]
    assert main([*arguments, "--offset", seconds]) == 2
    told = capsys.readouterr().err
    assert told == f"terminus: --offset {seconds.replace('1e308', '1e+308')}: clocks do not differ by that\n"
    assert path.read_bytes() == before
