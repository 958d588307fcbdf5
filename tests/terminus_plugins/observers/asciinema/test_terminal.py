"""Recordings of a real terminal: the bytes that pipe-pane sees, played by the program asciinema."""

import json
import os
import subprocess
import sys

import anyio
import pytest

from terminus_core import Agent, SessionOptions
from terminus_core.testing import FakeLLM
from terminus_plugins.environments.local import LocalEnvironment
from terminus_plugins.observers.asciinema import AsciinemaConfig, AsciinemaObserver
from terminus_plugins.observers.asciinema.cast_file import CastFile
from terminus_plugins.sessions.tmux import TmuxBackend

from .conftest import DONE, answer, read, texts

pytestmark = pytest.mark.anyio


def play(path):
    """What asciinema shows of a recording."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-m", "asciinema", "cat", path], capture_output=True, env=env, timeout=60, check=True
    )
    return done.stdout


async def eventually(condition):
    with anyio.fail_after(30):
        while not condition():  # noqa: ASYNC110 - another process writes the file
            await anyio.sleep(0.02)


@pytest.mark.parametrize("form", [2, 3])
async def test_it_equals_what_pipe_pane_sees(tmp_path, form):
    """vim, resizes, a progress bar, characters split over writes."""
    piped = tmp_path / "piped"
    (tmp_path / "text").write_text("".join(f"line {n} äöü 🦀\n" for n in range(200)))
    (tmp_path / "split.py").write_text(
        "import os, time\nfor byte in '☃🦀é'.encode() * 20:\n    os.write(1, bytes([byte])); time.sleep(0.002)\n"
    )
    progress = r"for i in $(seq 50); do printf '\r%3d%%' $i; sleep 0.005; done; echo"
    options = SessionOptions("s", tmp_path, cwd=str(tmp_path), env={"HOME": str(tmp_path), "PS1": "$ "})
    backend = TmuxBackend(TmuxBackend.Config.model_validate({"shell": "env PS1='$ ' bash --norc --noprofile"}))
    async with LocalEnvironment() as place, backend.open(place, options) as session:
        tmux = session.attach_command.split(" attach-session")[0]
        await anyio.run_process(f"{tmux} pipe-pane 'cat > {piped}'")
        path = tmp_path / "a.cast"
        recorder = AsciinemaObserver(AsciinemaConfig(format=form))

        file = CastFile(path, version=form, max_bytes=10**8)
        recorder._file = file
        stop = session.listen(recorder._on_session_event)
        await session.send_keys("echo BEG''IN\n", block=True)
        await session.send_keys(f"{progress}\n", block=True, max_timeout_sec=30)
        await session.send_keys(f"{sys.executable} split.py\n", block=True, max_timeout_sec=30)
        await session.send_keys("vim -u NONE -n text\n", min_timeout_sec=1)
        for keys in ("G", "ihello ✓", "Escape"):
            await session.send_keys(keys, min_timeout_sec=0.1)
        await session.resize(100, 30)
        await session.send_keys("gg", min_timeout_sec=0.2)
        await session.resize(160, 40)
        await session.send_keys(":q!\n", min_timeout_sec=1)
        await session.send_keys("seq 3000\n", block=True, max_timeout_sec=30)
        await session.send_keys("echo EN''D\n", block=True)
        await eventually(lambda: b"END\r\n" in piped.read_bytes())
        stop()
        file.close()

    def part(data):
        return data[data.index(b"BEGIN\r\n") : data.index(b"END\r\n") + 5]

    _, events = read(path)
    recorded = "".join(texts(events, "o")).encode()
    assert part(recorded) == part(piped.read_bytes())
    assert texts(events, "r") == ["100x30", "160x40"]
    assert "☃🦀é" in recorded.decode()
    if form == 2:
        assert play(path) == recorded


async def test_a_whole_run_is_played_to_the_last_byte(tmp_path):
    replies = [answer("echo 'a < b & ☃'\n", plan="Say it."), DONE, DONE]
    agent = Agent(
        llm=FakeLLM(replies), parser="json", observers=["atif", AsciinemaObserver()], logs_dir=tmp_path / "run"
    )
    result = await agent.run("Say something.")
    assert result.status == "completed"
    path = tmp_path / "run" / "recording.cast"
    header, events = read(path)
    assert (header["width"], header["height"]) == (160, 40)
    played = play(path)
    assert played == "".join(texts(events, "o")).encode()
    assert "a < b & ☃\r\n" in played.decode()
    marks = [(at, data) for at, code, data in events if code == "m"]
    shown = next(at for at, code, data in events if code == "o" and "a < b & ☃\r\n" in data)
    assert marks[0][1] == "Episode 1: 1 commands \u00b7 Say it."
    assert marks[0][0] <= shown <= marks[1][0]
    steps = json.loads((tmp_path / "run" / "trajectory.json").read_text())["steps"]
    assert len(steps) == 4


async def test_a_secret_that_is_typed_unseen_is_not_in_the_recording(tmp_path):
    replies = [answer("read -rs TOKEN\n"), answer("sk-very-secret\n"), answer("echo ok\n"), DONE, DONE]
    agent = Agent(llm=FakeLLM(replies), parser="json", observers=[AsciinemaObserver()], logs_dir=tmp_path / "run")
    await agent.run("Log in.")
    assert "sk-very-secret" not in (tmp_path / "run" / "recording.cast").read_text()
