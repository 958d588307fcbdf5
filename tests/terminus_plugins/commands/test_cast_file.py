"""Recordings: what is whole is read, and markers get to their place."""

import json
import os
import stat

import pytest

from terminus_plugins.commands.common.cast_file import CastError, add_markers, read_cast

HEADER_2 = '{"version": 2, "width": 80, "height": 24}'
HEADER_3 = '{"version": 3, "term": {"cols": 80, "rows": 24}}'


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def events(path):
    return [json.loads(line) for line in path.read_text().splitlines()[1:] if not line.startswith("#")]


@pytest.fixture
def recording(tmp_path):
    return write(tmp_path / "a.cast", HEADER_2, '[0.5, "o", "a"]', '[2.0, "o", "b"]', '[9.0, "o", "c"]')


MARKERS = [(3.0, "turn 2"), (0.1, "turn 1"), (9.0, "turn 3"), (-0.4, "early"), (30.0, "late")]


@pytest.mark.parametrize("case", [pytest.param(None, id="as-01")])
def test_markers_get_to_their_place_and_are_not_doubled(recording, case):
    wanted = [
        [0, "m", "early"],
        [0.1, "m", "turn 1"],
        [0.5, "o", "a"],
        [2.0, "o", "b"],
        [3.0, "m", "turn 2"],
        [9.0, "o", "c"],
        [9.0, "m", "turn 3"],
        [30.0, "m", "late"],
    ]
    assert add_markers(recording, MARKERS) == (5, [])
    assert events(recording) == wanted
    assert add_markers(recording, MARKERS) == (0, [])
    assert events(recording) == wanted


def test_markers_that_were_appended_move_and_output_never_does(tmp_path):
    path = write(
        tmp_path / "a.cast",
        HEADER_2,
        '[1.0, "o", "a"]',
        '[5.0, "o", "b"]',
        '[4.9, "o", "c"]',
        '[6.0, "o", "d"]',
        '[2.0, "m", "appended"]',
    )
    add_markers(path, [])
    assert events(path) == [
        [1.0, "o", "a"],
        [2.0, "m", "appended"],
        [5.0, "o", "b"],
        [5.0, "o", "c"],
        [6.0, "o", "d"],
    ]


@pytest.mark.parametrize("case", [pytest.param(None, id="as-02")])
def test_a_torn_recording_keeps_what_is_whole(tmp_path, monkeypatch, case):
    torn = HEADER_2 + '\n[0.1, "o", "$ "]\n\n[0.9, "o", "ls\\r\\n"]\n[1.4, "o", "READ'
    path = tmp_path / "a.cast"
    path.write_text(torn)
    path.chmod(0o640)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            add_markers(path, [(0.5, "here")])
    assert path.read_text() == torn, "the original went before the new file was whole"
    assert list(tmp_path.iterdir()) == [path]

    n_added, warnings = add_markers(path, [(0.5, "here")])
    assert n_added == 1
    assert warnings == ['line 5 is not an event and was left out: [1.4, "o", "READ']
    assert events(path) == [[0.1, "o", "$ "], [0.5, "m", "here"], [0.9, "o", "ls\r\n"]]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("case", [pytest.param(None, id="as-03")])
def test_intervals_of_format_3_stay_right(tmp_path, case):
    path = write(
        tmp_path / "a.cast",
        HEADER_3,
        '[0.5, "o", "a"]',
        '[1.5, "o", "b"]',
        "# note",
        '[4.0, "o", "c"]',
        '[0.2, "x", "0"]',
    )
    add_markers(path, [(3.0, "marked")])
    assert path.read_text().splitlines() == [
        HEADER_3,
        '[0.5, "o", "a"]',
        '[1.5, "o", "b"]',
        '[1.0, "m", "marked"]',
        "# note",
        '[3.0, "o", "c"]',
        '[0.2, "x", "0"]',
    ]
    assert sum(event[0] for event in events(path)) == pytest.approx(6.2)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param('{"version": 1, "width": 80, "height": 24, "stdout": []}', id="as-03 format 1"),
        pytest.param('{"version": 4}', id="as-03 unknown format"),
        "no header",
        "[]",
        "",
    ],
)
def test_what_is_no_recording_stays_as_it_was(tmp_path, first):
    path = write(tmp_path / "a.cast", first, '[0.5, "o", "a"]')
    before = path.read_bytes()
    with pytest.raises(CastError, match=r"format|header"):
        add_markers(path, MARKERS)
    assert path.read_bytes() == before


def test_lines_that_are_no_events_are_named(tmp_path):
    odd = ['{"a": 1}', "[1]", '["1", "o", "x"]', '[1e999, "o", "x"]', "[[[", "null"]
    path = write(tmp_path / "a.cast", HEADER_2, '[0.5, "o", "a"]', *odd, '[1.0, "o", "b"]')
    cast = read_cast(path)
    assert [event.data for event in cast.events] == ["a", "b"]
    assert [warning.split(" is ")[0] for warning in cast.warnings] == [f"line {n}" for n in range(3, 9)]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('[1.0, "m", {"a": 1}]', id="as-02 a label that is an object"),
        pytest.param('[1.0, "m", ["x"]]', id="as-02 a label that is a list"),
        pytest.param('["' + "9" * 10_000_000 + '", "o", "b"]', id="as-02 a time that is a long text"),
        pytest.param('[true, "o", "b"]', id="as-02 a time that is a truth value"),
        pytest.param('[NaN, "o", "b"]', id="as-02 a time that is no number"),
        pytest.param("[" + "9" * 4000 + ', "o", "b"]', id="as-02 a time that never comes"),
        pytest.param("[1.0, " + "[" * 600 + "]" * 600 + ', "b"]', id="as-02 a code that is a deep list"),
    ],
)
@pytest.mark.parametrize("header", [HEADER_2, HEADER_3], ids=["format 2", "format 3"])
def test_one_bad_line_does_not_make_the_recording_useless(tmp_path, header, line):
    path = write(tmp_path / "a.cast", header, '[0.5, "o", "a"]', line, '[2.0, "o", "b"]')
    n_added, warnings = add_markers(path, [(0.7, "here")])
    assert n_added == 1
    assert warnings == [f"line 3 is not an event and was left out: {line[:40].strip()}"]
    assert [event[1:] for event in events(path)] == [["o", "a"], ["m", "here"], ["o", "b"]]
    assert read_cast(path).markers == [(0.7, "here")]


def test_events_of_a_later_format_and_their_spelling_are_kept(tmp_path):
    line = '[1.000000,"o","\\u001b[0m \\u2028 é"]'
    path = write(tmp_path / "a.cast", HEADER_2, line, '[2, "q", {"new": 1}]')
    add_markers(path, [(0, "first")])
    assert path.read_text().splitlines()[2:] == [line, '[2, "q", {"new": 1}]']


def test_another_target_leaves_the_recording_alone(recording, tmp_path):
    before = recording.read_bytes()
    add_markers(recording, [(1.0, "x")], tmp_path / "b.cast")
    assert recording.read_bytes() == before
    assert [1.0, "m", "x"] in events(tmp_path / "b.cast")
