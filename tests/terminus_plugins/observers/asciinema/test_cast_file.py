"""The file while it grows: whole at every instant, within its limit, continued after a kill."""

import json
import signal
import subprocess
import sys
import time

import pytest

from terminus_plugins.observers.asciinema.cast_file import CastFile

from .conftest import read, texts


def open_cast(path, version=2, **options):
    file = CastFile(path, version=version, **{"max_bytes": 10**8, **options})
    file.resize(time.monotonic(), 80, 24)
    return file


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def test_output_gets_to_the_file_although_nothing_follows(tmp_path):
    path = tmp_path / "a.cast"
    file = open_cast(path)
    file.output(time.monotonic(), b"alone")
    until(lambda: "alone" in path.read_text())
    file.output(time.monotonic(), b"and later")
    until(lambda: "and later" in path.read_text())
    file.close()


@pytest.mark.parametrize("version", [2, 3])
def test_a_recording_is_continued_wherever_a_kill_has_torn_it(tmp_path, version):
    path = tmp_path / "a.cast"
    file = open_cast(path, version)
    for text in ("first", "second"):
        file.event(time.monotonic(), "m", text)
    file.close()
    whole = path.read_bytes()
    header_end = whole.index(b"\n") + 1
    first_end = whole.index(b"\n", header_end) + 1
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        file = open_cast(path, version)
        file.event(time.monotonic(), "m", "third")
        file.close()
        header, events = read(path)
        assert header["version"] == version
        n_whole = (length >= first_end - 1) + (length >= len(whole) - 1)
        assert texts(events, "m") == [*["first", "second"][:n_whole], "third"]
        if length >= header_end - 1:
            assert path.read_bytes().startswith(whole[:header_end])
            assert texts(events, "r") == ["80x24"], "the size that the terminal has now"


def test_a_file_in_the_other_format_is_continued_in_its_own(tmp_path):
    path = tmp_path / "a.cast"
    open_cast(path, 3).close()
    file = open_cast(path, 2)
    file.event(time.monotonic(), "m", "more")
    file.close()
    header, events = read(path)
    assert header["version"] == 3
    assert texts(events, "m") == ["more"]


@pytest.mark.parametrize("head", ['{"version": 1}', "text", '["a"]'])
def test_no_recording_is_overwritten(tmp_path, head):
    path = tmp_path / "a.cast"
    path.write_text(head + "\n")
    with pytest.raises(ValueError, match=r"the (file|recording) that is there"):
        open_cast(path)
    assert path.read_text() == head + "\n"


@pytest.mark.parametrize("version", [2, 3])
def test_a_full_recording_says_so_and_stops(tmp_path, version, caplog):
    path = tmp_path / "a.cast"
    file = open_cast(path, version, max_bytes=200_000)
    n = 0
    while not file.ended:
        file.output(time.monotonic() + n, b"x" * 1000)
        n += 1
    for late in (file.flush, file.cut_output, file.close):
        late()
    file.event(time.monotonic(), "m", "late")
    _, events = read(path)
    assert 150_000 < path.stat().st_size <= 200_000
    assert events[-1][1:] == ("m", "Recording stopped: it has reached its limit of 0.2 MB")
    assert "limit of 0.2 MB" in caplog.text
    assert set("".join(texts(events, "o"))) == {"x"}


def test_a_full_disk_ends_the_recording_with_a_whole_line(tmp_path):
    """A real limit of the operating system, in a process of its own; the process goes on."""
    code = """
import logging, resource, sys, time
from pathlib import Path
from terminus_plugins.observers.asciinema.cast_file import CastFile
logging.basicConfig()
file = CastFile(Path(sys.argv[1]), version=2, max_bytes=10**8)
file.resize(time.monotonic(), 80, 24)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
for n in range(300):
    file.output(time.monotonic() + n, b"y" * 1000)
file.close()
print("still here", file.ended)
"""
    path = tmp_path / "a.cast"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "still here True\n"
    assert done.stderr.count("Recording stopped: cannot write") == 1
    _, events = read(path)
    assert set("".join(texts(events, "o"))) == {"y"}


def test_a_kill_leaves_whole_lines_to_go_on_from(tmp_path):
    code = """
import sys, time
from pathlib import Path
from terminus_plugins.observers.asciinema.cast_file import CastFile
file = CastFile(Path(sys.argv[1]), version=2, max_bytes=10**8)
file.resize(time.monotonic(), 80, 24)
n = 0
while True:
    file.output(time.monotonic() + n, b"%d;" % n + b"z" * 500)
    n += 1
    if n % 10 == 0:
        file.flush()
"""
    path = tmp_path / "a.cast"
    for n_kills in range(1, 6):
        known = path.stat().st_size if path.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", code, path])
        until(lambda known=known: path.exists() and path.stat().st_size > known + 50_000)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for line in path.read_bytes().split(b"\n")[:-1]:
            json.loads(line)
        file = open_cast(path)
        file.event(time.monotonic(), "m", f"kill {n_kills}")
        file.close()
    _, events = read(path)
    assert texts(events, "m") == [f"kill {n}" for n in range(1, 6)]


@pytest.mark.parametrize("version", [2, 3])
def test_as_06_a_size_of_0_is_never_written(tmp_path, version):
    path = tmp_path / "recording.cast"
    file = CastFile(path, version=version, max_bytes=10_000)
    for size in ((0, 0), (0, 24), (100, 30), (0, 0)):
        file.resize(time.monotonic(), *size)
    file.close()
    header, *events = map(json.loads, path.read_text().splitlines())
    size = header["term"] if version == 3 else header
    assert {80, 24} <= {value for value in size.values() if isinstance(value, int)}
    assert [data for _, code, data in events if code == "r"] == ["100x30"]
