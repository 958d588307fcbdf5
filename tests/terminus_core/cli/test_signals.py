"""Signals end a run cleanly, whatever it is doing; a reader that goes away does not."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.command_line import DONE, SIGNALS, last_json, read_until, reply
from tests.support.provider_server import ProviderServer, fault

WAIT_SEC = 60
"""Far above the two seconds that a run has, for a loaded machine; far below what each run would wait for."""
SLOW = (reply(("sleep 300\n", 60.0)), *DONE)


def finish(process):
    """What a process says until it ends."""
    output, errors = process.communicate(timeout=WAIT_SEC)
    process.stdout, process.stderr = output, errors
    return process


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_in_a_long_command_lo_07(number, terminus):
    process = terminus.start("run", "task", *terminus.script(*SLOW), "--json")
    watch = read_until(process.stderr, "to watch: ")[-1]
    read_until(process.stderr, "> sleep 300")
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == 128 + number
    assert last_json(done)["status"] == "cancelled"
    assert last_json(done)["reason"] == number.name
    assert "Traceback" not in done.stderr
    document = terminus.trajectory()
    assert document["final_metrics"]["extra"]["status"] == "cancelled"
    assert document["final_metrics"]["total_prompt_tokens"] == 100
    assert not Path(re.search(r"-S (\S+)", watch)[1]).parent.exists()


PLACE = """
import ctypes, sys
import anyio
from terminus_core import Environment, hookimpl
def say(text):
    print(text, file=sys.stderr, flush=True)
class Slow(Environment):
    name = "slow"
    async def __aenter__(self):
        say("setting up")
        await anyio.sleep(300)
    async def exec(self, command, **_): ...
    async def upload_file(self, source, target): ...
    async def download_file(self, source, target): ...
class Sticky(Slow):
    name = "sticky"
    async def __aenter__(self):
        try:
            await super().__aenter__()
        finally:
            with anyio.CancelScope(shield=True):
                say("closing")
                await anyio.sleep(300)
class Stuck(Slow):
    name = "stuck"
    async def __aenter__(self):
        say("stuck")
        while True:
            ctypes.CDLL(None).sleep(300)  # no Python code runs, not even a signal's handler
@hookimpl
def terminus_register_environments():
    return [Slow, Sticky, Stuck]
"""


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_during_set_up(number, terminus):
    words = ("run", "task", *terminus.script(*DONE), *terminus.plugin(PLACE), "--environment", "slow", "--json")
    process = terminus.start(*words)
    read_until(process.stderr, "setting up")
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == 128 + number
    assert last_json(done)["status"] == "cancelled"
    assert json.loads((terminus.runs[0] / "run.json").read_text())["status"] == "cancelled"


def test_a_later_signal_ends_at_once_cl_03(terminus):
    """One within a second of the first belongs to it: GNU ``timeout`` sends two."""
    process = terminus.start("run", "task", *terminus.script(*DONE), *terminus.plugin(PLACE), "--environment", "sticky")
    read_until(process.stderr, "setting up")
    process.send_signal(signal.SIGINT)
    read_until(process.stderr, "closing")
    process.send_signal(signal.SIGINT)
    later_than_a_repetition()
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert finish(process).returncode == 143
    record = json.loads((terminus.runs[0] / "run.json").read_text())
    assert record["status"] == "cancelled"
    assert record["reason"] == "SIGTERM for the second time: ended at once, without cleaning up"


def test_ctrl_c_at_any_moment_of_the_start_prints_no_traceback(terminus):
    """Python's own start, before the first line of ours, is left out."""
    for delay in range(0, 60, 6):
        process = terminus.start("plugins", PYTHONPROFILEIMPORTTIME="1")
        read_until(process.stderr, "terminus_core")
        process.stderr.readline()
        time.sleep(delay / 1000)
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in finish(process).stderr
        assert process.returncode in (0, 130, -signal.SIGINT)


def test_a_place_that_hangs_stops_no_signal(terminus):
    process = terminus.start("run", "task", *terminus.script(*DONE), *terminus.plugin(PLACE), "--environment", "stuck")
    read_until(process.stderr, "stuck")
    process.send_signal(signal.SIGTERM)
    later_than_a_repetition()
    process.send_signal(signal.SIGTERM)
    assert finish(process).returncode == 143
    assert json.loads((terminus.runs[0] / "run.json").read_text())["status"] == "cancelled"


def later_than_a_repetition():
    """What is tested is time: a signal is one of its own from a second after the first on."""
    time.sleep(1.2)


def test_a_reader_that_stops_reading_stops_neither_the_run_nor_its_signals(terminus):
    long = "x" * 150
    replies = [reply("true\n", analysis=f"{n} {long}") for n in range(700)]
    process = terminus.start("run", "task", *terminus.script(*replies, *DONE))
    folder = wait_for(lambda: next(iter(terminus.runs), None))
    record = folder / "run.json"
    wait_for(lambda: record.exists() and json.loads(record.read_text())["status"] == "completed")
    process.send_signal(signal.SIGTERM)
    process.wait(WAIT_SEC)
    assert process.returncode == 143
    assert finish(process).stdout.startswith("scripted ")


def wait_for(condition, seconds=60):
    """What ``condition`` gives as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def test_json_to_a_full_disk_is_an_error(terminus):
    words = [sys.executable, "-m", "terminus_core", "run", "task", *terminus.script(*DONE), "--json", "--quiet"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            words, cwd=terminus.folder, env=terminus.env, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 1
    assert b"terminus: cannot write to stdout: No space left on device" in done.stderr


def test_in_the_pause_between_two_requests_cl_03(terminus):
    asked = threading.Event()

    def busy(_):
        asked.set()
        return fault(429, headers={"Retry-After": "60"})

    with ProviderServer(busy) as server:
        process = terminus.start(
            "run", "task", "--json", "-m", "openai/some-model", "--api-base", server.url, OPENAI_API_KEY="none"
        )
        assert asked.wait(200)
        assert "retrying in 60.0 s (attempt 2 of " in read_until(process.stderr, "retrying in")[-1]
        process.send_signal(signal.SIGINT)
        done = finish(process)
        assert done.returncode == 130
        assert last_json(done)["status"] == "cancelled"
        assert len(server.requests) == 1
    assert terminus.trajectory()["final_metrics"]["extra"]["status"] == "cancelled"


def test_a_signal_that_the_parent_switched_off_stays_off(terminus):
    process = terminus.start("run", "task", *terminus.script(*SLOW), ignore=(signal.SIGHUP,))
    read_until(process.stdout, "> sleep 300")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    done = finish(process)
    assert done.returncode == 128 + signal.SIGTERM
    assert "cancelled: SIGTERM" in done.stdout


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_goes_away_does_not_end_the_run(stream, terminus):
    """Such as `terminus run … | head -1`."""
    words = ["run", "task", *terminus.script(reply("true\n"), *DONE), *(["--json"] if stream == "stderr" else [])]
    with terminus.start(*words) as process:
        read_until(getattr(process, stream), "task: ")
        getattr(process, stream).close()
        rest = (process.stderr if stream == "stdout" else process.stdout).read()
    assert process.returncode == 0
    assert "Error" not in rest
    assert terminus.trajectory()["final_metrics"]["extra"]["status"] == "completed"
