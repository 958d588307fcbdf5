"""Commands on this machine."""

from __future__ import annotations

import os
import pwd
import time
from pathlib import Path

import anyio
import pytest

from terminus_core import EnvironmentFailedError
from terminus_plugins.environments.local import LocalEnvironment

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return LocalEnvironment()


async def test_command_runs_in_the_programs_folder(place, tmp_path):
    result = await place.exec("pwd; echo oops >&2; exit 3")
    assert (result.stdout, result.stderr, result.return_code) == (f"{tmp_path}\n", "oops\n", 3)


async def test_folder_and_variables_can_be_given(place, tmp_path):
    (tmp_path / "sub").mkdir()
    result = await place.exec('echo "$PWD $MINE $HOME"', cwd="sub", env={"MINE": "x y"})
    assert result.stdout == f"{tmp_path}/sub x y {os.environ['HOME']}\n"
    with pytest.raises(EnvironmentFailedError, match="nowhere"):
        await place.exec("true", cwd="nowhere")


async def test_bytes_that_are_no_text_are_replaced(place):
    assert (await place.exec(r"printf 'a\377b'")).stdout == "a\N{REPLACEMENT CHARACTER}b"


async def test_much_output_on_both_streams(place):
    result = await place.exec("yes out | head -c 2000000; yes err | head -c 2000000 >&2")
    assert (len(result.stdout), len(result.stderr)) == (2_000_000, 2_000_000)


async def test_stdin_is_empty(place):
    assert (await place.exec("cat; echo end")).stdout == "end\n"


async def test_time_limit_ends_all_that_the_command_started(place, tmp_path):
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await place.exec("(sleep 60.25; touch late) & echo $! > pid; sleep 60", timeout_sec=0.3)
    assert time.monotonic() - started < 10
    await _gone(int((tmp_path / "pid").read_text()))


async def test_cancel_ends_all_that_the_command_started(place, tmp_path):
    with anyio.move_on_after(0.3) as scope:
        await place.exec("sleep 60 & echo $! > pid; sleep 60")
    assert scope.cancelled_caught
    await _gone(int((tmp_path / "pid").read_text()))


async def test_background_children_are_not_waited_for(place):
    started = time.monotonic()
    result = await place.exec("sleep 20 & echo $!")
    assert time.monotonic() - started < 10
    os.kill(int(result.stdout), 9)


async def _gone(pid) -> None:
    with anyio.fail_after(5):
        while _runs(pid):  # noqa: ASYNC110 - another process, no event tells of its end
            await anyio.sleep(0.02)


def _runs(pid) -> bool:
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())  # empty for a zombie
    except FileNotFoundError:
        return False


async def test_process_is_a_byte_stream(place):
    async with place.open_process("cat; echo bye >&2; exit 4") as process:
        assert process.return_code is None
        for text in (b"one\n", b"\x00\xff\n"):
            await process.send(text)
            assert await process.receive() == text
        await process.send_eof()
        with pytest.raises(anyio.EndOfStream):
            await process.receive()
    assert process.return_code == 4
    assert process.stderr_tail == "bye"


async def test_writing_to_a_process_that_is_gone(place):
    async with place.open_process("exec true") as process:
        with pytest.raises(anyio.EndOfStream):
            await process.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await _send_much(process)


async def _send_much(process) -> None:
    for _ in range(100):
        await process.send(b"x" * 10_000)
        await anyio.sleep(0.01)


async def test_leaving_ends_the_process_and_its_children(place, tmp_path):
    async with place.open_process("sleep 60 & echo $! > pid; echo ready; trap '' TERM; wait; sleep 60") as process:
        assert await process.receive() == b"ready\n"
        await anyio.sleep(0.1)
    assert process.return_code == -9
    await _gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("error", [KeyError("mine"), SystemExit(3)])
async def test_exception_of_the_body_comes_out_as_it_is(place, error):
    with pytest.raises(type(error)) as caught:
        async with place.open_process("sleep 60"):
            raise error
    assert caught.value is error


async def test_stderr_tail_is_short(place):
    async with place.open_process("seq 100000 >&2; echo done") as process:
        assert await process.receive() == b"done\n"
        with pytest.raises(anyio.EndOfStream):
            await process.receive()
    assert process.stderr_tail.endswith("\n99999\n100000")
    assert len(process.stderr_tail) < 5000


async def test_files_go_both_ways(place, tmp_path):
    source = tmp_path / "script"
    source.write_bytes(b"#!/bin/sh\necho \xff\n")
    source.chmod(0o755)
    await place.upload_file(source, "there")
    assert os.access(tmp_path / "there", os.X_OK)
    await place.download_file("there", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == source.read_bytes()


async def test_files_that_cannot_be_copied(place, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError):
        await place.upload_file(tmp_path / "none", "there")
    with pytest.raises(EnvironmentFailedError, match="cannot write"):
        await place.upload_file(tmp_path / "file", "no/such/folder/there")
    with pytest.raises(FileNotFoundError):
        await place.download_file("none", tmp_path / "back")
    with pytest.raises(OSError, match="folder"):
        await place.download_file("file", tmp_path / "no" / "such" / "folder" / "back")


async def test_other_users(place):
    me = pwd.getpwuid(os.geteuid()).pw_name
    assert (await place.exec("id -un", user=me)).stdout == f"{me}\n"
    with pytest.raises(EnvironmentFailedError, match="no user 'nobody-at-all'"):
        await place.exec("true", user="nobody-at-all")


async def test_only_root_becomes_another_user(place):
    if os.geteuid() != 0:
        with pytest.raises(EnvironmentFailedError, match="only root can"):
            await place.exec("true", user="root")
        return
    result = await place.exec("id -un; id -Gn; echo $HOME $USER", user="daemon", cwd="/")
    assert result.stdout == "daemon\ndaemon\n/usr/sbin daemon\n"
    async with place.open_process("id -un", user="daemon", cwd="/") as process:
        assert await process.receive() == b"daemon\n"


async def test_the_event_loop_goes_on(place):
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await place.exec("sleep 0.5")
        group.cancel_scope.cancel()
    assert ticks > 10


async def test_commands_see_no_secret_and_none_of_our_own_settings(monkeypatch, caplog):
    hidden = {"SHOP_TOKEN": "tok-1", "OPENAI_API_KEY": "key-2", "MY_CRED": "cred-3", "TERMINUS_AGENT__MODEL": "ours-4"}
    shown = {"GITHUB_TOKEN": "tok-5", "PLAIN_WORD": "word-6", "SSH_KEY": "/etc/hostname"}
    for name, value in {**hidden, **shown}.items():
        monkeypatch.setenv(name, value)
    place = LocalEnvironment(LocalEnvironment.Config(pass_env=["GITHUB_TOKEN"]))
    async with place:
        result = await place.exec("env")
        async with place.open_process("env") as process:
            streamed = (await process.receive()).decode()
    for text in (result.stdout, streamed):
        assert not [value for value in hidden.values() if value in text]
        assert all(f"{name}={value}" in text for name, value in shown.items())
    (line,) = [record.message for record in caplog.records]
    assert line == (
        "not passed to the terminal: MY_CRED, OPENAI_API_KEY, SHOP_TOKEN (environment.local.pass_env passes one)"
    )
