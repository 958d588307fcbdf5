"""The conformance suite of environments.

An author's whole test file::

    class TestGhost(EnvironmentTests):
        capabilities = frozenset({"streams", "trio"})

        @pytest.fixture
        def environment(self):
            return GhostEnvironment()

Commands of the suite are plain ``sh`` with the tools that busybox has, too.
"""

# ruff: noqa: S101, PLR2004, PT012, ASYNC110 - a suite asserts, and polls what nobody tells it

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import anyio
import pytest

from terminus_core import Environment, EnvironmentFailedError, EnvironmentProcess, StreamsUnsupportedError
from terminus_core.testing.suite import ConformanceSuite, needs

PROMPT_SEC = 15.0
"""What must come at once has this long: the machine may be busy."""
SLEEP = "sleep 300"
BIG = 5_000_000
SHELL_TEXT = r"""printf '%s|' 'a "b"' "c'd" "\$x" é✓ | tr a A
x='$y;'
cat <<END
$x \$x
END
"""


class EnvironmentTests(ConformanceSuite):
    """What every environment must do, by capability.

    Attributes:
        other_user: a user of the environment whom capability ``users`` is tried with.
    """

    known_capabilities: ClassVar[dict[str, str]] = {
        **ConformanceSuite.known_capabilities,
        "streams": "open_process works",
        "users": "commands can run as another user",
        "permissions": "copied files keep their permissions",
    }
    other_user: ClassVar[str] = "nobody"

    @pytest.fixture
    def environment(self) -> Environment:
        """The environment under test, not entered yet. Override this one."""
        raise NotImplementedError("override the fixture `environment`")

    # -- exec ----------------------------------------------------------------------------------------------------------

    async def test_exec_gives_both_streams_and_the_status(self, environment: Environment) -> None:
        """Streams are kept apart, the status is the command's."""
        async with environment as place:
            result = await place.exec("echo out; echo err >&2; exit 3")
        assert (result.stdout, result.stderr, result.return_code) == ("out\n", "err\n", 3)

    async def test_exec_runs_any_shell_text(self, environment: Environment) -> None:
        """Quotes, several lines, a here-document and characters beyond ASCII mean what they mean to ``sh``."""
        async with environment as place:
            result = await place.exec(SHELL_TEXT)
        assert (result.stdout, result.return_code) == ("""A "b"|c'd|$x|é✓|$y; $x\n""", 0)

    async def test_a_syntax_error_is_the_commands_own(self, environment: Environment) -> None:
        """It is a failing command with its words on stderr, not a fault of the place."""
        async with environment as place:
            result = await place.exec("if then ((")
        assert result.return_code not in (0, None)
        assert result.stderr

    async def test_exec_has_no_input(self, environment: Environment) -> None:
        """A command that reads sees the end at once."""
        async with environment as place:
            with anyio.fail_after(PROMPT_SEC):
                result = await place.exec("cat; echo end")
        assert result.stdout == "end\n"

    async def test_exec_uses_the_working_folder(self, environment: Environment) -> None:
        """Whatever its name."""
        async with environment as place, _folder(place, """a 'b" $c""") as folder:
            result = await place.exec("pwd", cwd=folder)
        assert result.stdout == f"{folder}\n"

    async def test_nothing_runs_where_there_is_no_folder(self, environment: Environment) -> None:
        """A missing working folder is told, and the command does not run elsewhere."""
        async with environment as place:
            try:
                result = await place.exec("echo ran", cwd="/no/such/folder")
            except EnvironmentFailedError as error:
                told = str(error)
            else:
                assert result.return_code != 0
                assert result.stdout == ""
                told = result.stderr
        assert "/no/such/folder" in told

    async def test_exec_adds_variables(self, environment: Environment) -> None:
        """Byte for byte, beside the environment's own, for this command alone."""
        value = """ two  lines\n'single' "double" $HOME `id` \\n é✓ ; # """
        async with environment as place:
            result = await place.exec(
                'printf "%s" "$SUITE_A|$SUITE_B|${PATH:+path}"', env={"SUITE_A": value, "SUITE_B": ""}
            )
            later = await place.exec('echo "${SUITE_A-unset}"')
        assert result.stdout == f"{value}||path"
        assert later.stdout == "unset\n"

    @needs("users")
    async def test_exec_runs_as_another_user(self, environment: Environment) -> None:
        """With the folder and the variables that were asked for, and nothing leaks into the next command."""
        async with environment as place:
            own = await place.exec("id -un")
            other = await place.exec(
                'id -un; pwd; echo "$SUITE_A"', cwd="/", env={"SUITE_A": "a b"}, user=self.other_user
            )
            again = await place.exec("id -un", user=own.stdout.strip())
        assert own.stdout.strip() != self.other_user
        assert other.stdout == f"{self.other_user}\n/\na b\n"
        assert again.stdout == own.stdout

    @needs("users")
    async def test_an_unknown_user_is_told(self, environment: Environment) -> None:
        """One line that names the user."""
        async with environment as place:
            with pytest.raises(EnvironmentFailedError, match="nobody-of-that-name"):
                await place.exec("echo ran", user="nobody-of-that-name")

    async def test_big_outputs_on_both_streams(self, environment: Environment) -> None:
        """Reading one stream does not wait for the other."""
        command = f"head -c {BIG} /dev/zero | tr '\\0' o; head -c {BIG} /dev/zero | tr '\\0' e >&2"
        async with environment as place:
            result = await place.exec(command)
        assert (len(result.stdout), len(result.stderr), result.return_code) == (BIG, BIG, 0)
        assert set(result.stdout) == {"o"}
        assert set(result.stderr) == {"e"}

    async def test_bytes_that_are_no_utf8(self, environment: Environment) -> None:
        """They are replaced, the rest stays."""
        async with environment as place:
            result = await place.exec(r"printf 'a\377\303\251'; printf 'b\376' >&2")
        assert (result.stdout, result.stderr) == ("a\ufffdé", "b\ufffd")

    async def test_a_killed_command_is_no_success(self, environment: Environment) -> None:
        """Its status is the signal's, or ``None`` where none is received."""
        async with environment as place:
            result = await place.exec("echo begun; kill -9 $$; echo not reached")
        assert result.stdout == "begun\n"
        assert result.return_code is None or result.return_code < 0 or result.return_code == 128 + 9

    async def test_children_in_the_background_are_not_waited_for(self, environment: Environment) -> None:
        """Even if they hold the output open."""
        async with environment as place:
            with anyio.fail_after(PROMPT_SEC):
                result = await place.exec(f"{SLEEP} & echo $!")
            await place.exec(f"kill {result.stdout}")
        assert result.return_code == 0

    async def test_a_time_limit_ends_what_was_started(self, environment: Environment) -> None:
        """The command and its children; the environment works on."""
        async with environment as place, _folder(place) as folder:
            with anyio.fail_after(1.0 + PROMPT_SEC), pytest.raises(TimeoutError):
                await place.exec(f"echo $$ > me; {SLEEP} & echo $! > kid; wait", cwd=folder, timeout_sec=1.0)
            for number in (await place.exec("cat me kid", cwd=folder)).stdout.split():
                await _ended(place, number)

    async def test_a_time_limit_that_is_not_reached(self, environment: Environment) -> None:
        """It changes nothing."""
        async with environment as place:
            result = await place.exec("echo done", timeout_sec=300.0)
        assert (result.stdout, result.return_code) == ("done\n", 0)

    async def test_a_cancel_is_prompt_and_ends_the_command(self, environment: Environment) -> None:
        """The command does not live on, and the environment works on."""
        async with environment as place, _folder(place) as folder:
            with anyio.fail_after(PROMPT_SEC):
                async with anyio.create_task_group() as group:
                    group.start_soon(_exec, place, f"echo $$ > {shlex.quote(folder)}/me; {SLEEP}")
                    while not (await place.exec("cat me 2>/dev/null", cwd=folder)).stdout.endswith("\n"):
                        await anyio.sleep(0.05)
                    group.cancel_scope.cancel()
            await _ended(place, (await place.exec("cat me", cwd=folder)).stdout)

    async def test_the_event_loop_is_never_blocked(self, environment: Environment) -> None:
        """Other tasks go on while a command runs."""
        ticks = 0
        async with environment as place, anyio.create_task_group() as group:

            async def tick() -> None:
                nonlocal ticks
                while True:
                    await anyio.sleep(0.02)
                    ticks += 1

            group.start_soon(tick)
            await place.exec("sleep 1")
            group.cancel_scope.cancel()
        assert ticks >= 20

    async def test_many_commands_at_the_same_time(self, environment: Environment) -> None:
        """Each has its own output."""
        outputs: dict[int, str] = {}

        async def run(number: int) -> None:
            outputs[number] = (await place.exec(f"{'sleep 0.1; ' if number % 3 else ''}echo {number}")).stdout

        async with environment as place, anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(run, number)
        assert outputs == {number: f"{number}\n" for number in range(30)}

    # -- open_process --------------------------------------------------------------------------------------------------

    async def test_streams_are_there_if_declared(self, environment: Environment) -> None:
        """Where they are not, the error has its own type."""
        async with environment as place:
            try:
                async with place.open_process("echo out") as process:
                    assert await _rest(process) == b"out\n"
            except StreamsUnsupportedError:
                assert "streams" not in self.capabilities
            else:
                assert "streams" in self.capabilities

    @needs("streams")
    async def test_a_process_passes_every_byte(self, environment: Environment) -> None:
        """Both ways at once, to the end of the input; then its status is known."""
        data = bytes(range(256)) * 8192
        async with environment as place, place.open_process("cat") as process:
            with anyio.fail_after(2 * PROMPT_SEC):
                async with anyio.create_task_group() as group:

                    async def send() -> None:
                        for begin in range(0, len(data), 100_000):
                            await process.send(data[begin : begin + 100_000])
                        await process.send_eof()

                    group.start_soon(send)
                    echo = await _rest(process)
                status = await _status(process)
        assert echo == data
        assert status == 0

    @needs("streams")
    async def test_a_process_answers_line_by_line(self, environment: Environment) -> None:
        """What is sent arrives without waiting for more, and a small read leaves the rest for the next."""
        async with environment as place, place.open_process('while read -r x; do echo "<$x>"; done') as process:
            with anyio.fail_after(PROMPT_SEC):
                for number in range(10):
                    await process.send(f"{number}\n".encode())
                    assert await _exactly(process, 4, at_once=3) == f"<{number}>\n".encode()
        # left without an end of input: leaving does not wait for one

    @needs("streams")
    async def test_what_is_sent_without_waiting_arrives_too(self, environment: Environment) -> None:
        """``send_nowait`` says how much it has taken, before anybody reads; ``send`` goes on from there."""
        data = bytes(range(256)) * 8192
        async with environment as place, place.open_process("cat") as process:
            taken = 0
            while taken < len(data) and (number := process.send_nowait(data[taken:])):
                taken += number
            with anyio.fail_after(2 * PROMPT_SEC):
                async with anyio.create_task_group() as group:

                    async def send() -> None:
                        await process.send(data[taken:])
                        await process.send_eof()

                    group.start_soon(send)
                    assert await _rest(process) == data
            assert process.send_nowait(b"more") == 0

    @needs("streams")
    async def test_status_and_last_words_of_a_process(self, environment: Environment) -> None:
        """They are there once the output has ended."""
        async with environment as place, place.open_process("echo some words >&2; exit 7") as process:
            with anyio.fail_after(PROMPT_SEC):
                assert await _rest(process) == b""
                assert await _status(process) == 7
                while "some words" not in process.stderr_tail:
                    await anyio.sleep(0.01)

    @needs("streams")
    async def test_a_flood_on_stderr_stops_nothing(self, environment: Environment) -> None:
        """It is read, and only its tail is kept."""
        command = f"head -c {BIG} /dev/zero | tr '\\0' e >&2; echo '<the end>' >&2; echo out"
        async with environment as place, place.open_process(command) as process:
            with anyio.fail_after(2 * PROMPT_SEC):
                assert await _rest(process) == b"out\n"
                while not process.stderr_tail.endswith("<the end>"):
                    await anyio.sleep(0.01)
        assert len(process.stderr_tail) < 100_000

    @needs("streams")
    async def test_a_process_gets_folder_and_variables(self, environment: Environment) -> None:
        """As with ``exec``."""
        async with environment as place, _folder(place, "a b") as folder:
            command = 'pwd; echo "$SUITE_A"; cat'
            async with place.open_process(command, cwd=folder, env={"SUITE_A": "a'b\nc"}) as process:
                await process.send(b"input")
                await process.send_eof()
                assert await _rest(process) == f"{folder}\na'b\nc\ninput".encode()

    @needs("streams", "users")
    async def test_a_process_of_another_user(self, environment: Environment) -> None:
        """Its input and output are the caller's all the same."""
        async with environment as place, place.open_process("id -un; cat", cwd="/", user=self.other_user) as process:
            await process.send(b"input")
            await process.send_eof()
            assert await _rest(process) == f"{self.other_user}\ninput".encode()

    @needs("streams")
    async def test_a_process_cannot_start_where_there_is_no_folder(self, environment: Environment) -> None:
        """One line that names the folder, before the body of the context manager."""
        async with environment as place:
            with pytest.raises(EnvironmentFailedError, match="/no/such/folder"):
                async with place.open_process("cat", cwd="/no/such/folder"):
                    pytest.fail("entered")

    @needs("streams")
    async def test_leaving_ends_the_process(self, environment: Environment) -> None:
        """Also one that does not read, and its children."""
        async with environment as place:
            async with place.open_process(f"{SLEEP} & echo $$ $!; wait; {SLEEP}") as process:
                numbers = (await _line(process)).split()
            for number in numbers:
                await _ended(place, number)

    @needs("streams")
    async def test_an_error_of_the_body_comes_out_as_it_is(self, environment: Environment) -> None:
        """Never as an ``ExceptionGroup``, and the process has ended."""
        async with environment as place:
            with pytest.raises(ZeroDivisionError):
                async with place.open_process(f"echo $$; exec {SLEEP}") as process:
                    number = await _line(process)
                    raise ZeroDivisionError
            await _ended(place, number)

    @needs("streams")
    async def test_a_cancelled_read_ends_the_process(self, environment: Environment) -> None:
        """At once."""
        number = ""
        async with environment as place:
            with anyio.fail_after(PROMPT_SEC):
                async with anyio.create_task_group() as group:

                    async def read() -> None:
                        nonlocal number
                        async with place.open_process(f"echo $$; exec {SLEEP}") as process:
                            number = await _line(process)
                            group.cancel_scope.cancel()
                            await process.receive()

                    group.start_soon(read)
            await _ended(place, number)

    @needs("streams")
    async def test_sending_to_nobody_is_an_error(self, environment: Environment) -> None:
        """``BrokenResourceError``, once the process has gone."""
        async with environment as place, place.open_process("exit 0") as process:
            with anyio.fail_after(PROMPT_SEC), pytest.raises(anyio.BrokenResourceError):
                while True:
                    await process.send(bytes(65536))

    @needs("streams")
    async def test_many_processes_at_the_same_time(self, environment: Environment) -> None:
        """Each has its own streams, and commands still run beside them."""
        count = 15
        async with environment as place, anyio.create_task_group() as group:
            ready, done = [anyio.Event() for _ in range(count)], anyio.Event()

            async def talk(number: int) -> None:
                async with place.open_process("cat") as process:
                    await process.send(f"{number}\n".encode())
                    assert await _line(process) == str(number)
                    ready[number].set()
                    await done.wait()

            for number in range(count):
                group.start_soon(talk, number)
            for event in ready:
                await event.wait()
            assert (await place.exec("echo beside")).stdout == "beside\n"
            done.set()

    # -- files ---------------------------------------------------------------------------------------------------------

    async def test_files_are_copied_byte_for_byte(self, environment: Environment, tmp_path: Path) -> None:
        """Any bytes, any size, any name."""
        async with environment as place, _folder(place) as folder:
            for name, data in {"""a 'b" $c é""": secrets.token_bytes(1_500_000), "-n": b"", "text": b"\r\n\0 "}.items():
                (tmp_path / name).write_bytes(data)
                await place.upload_file(tmp_path / name, f"{folder}/{name}")
                size = await place.exec(f"wc -c < {shlex.quote(f'{folder}/{name}')}")
                assert int(size.stdout) == len(data)
                await place.download_file(f"{folder}/{name}", tmp_path / "back")
                assert (tmp_path / "back").read_bytes() == data

    async def test_a_copy_replaces_what_was_there(self, environment: Environment, tmp_path: Path) -> None:
        """Longer old contents do not shine through."""
        (tmp_path / "short").write_bytes(b"new")
        async with environment as place, _folder(place) as folder:
            await place.exec("echo old and longer > file", cwd=folder)
            await place.upload_file(tmp_path / "short", f"{folder}/file")
            assert (await place.exec("cat file", cwd=folder)).stdout == "new"
            (tmp_path / "here").write_bytes(b"old and longer")
            await place.download_file(f"{folder}/file", tmp_path / "here")
        assert (tmp_path / "here").read_bytes() == b"new"

    @needs("permissions")
    async def test_copies_keep_permissions(self, environment: Environment, tmp_path: Path) -> None:
        """A script stays one, a private file stays private."""
        source, back = tmp_path / "script", tmp_path / "back"
        source.write_bytes(b"#!/bin/sh\necho ran\n")
        source.chmod(0o750)
        async with environment as place, _folder(place) as folder:
            await place.upload_file(source, f"{folder}/script")
            assert (await place.exec("./script", cwd=folder)).stdout == "ran\n"
            await place.exec("chmod 640 script", cwd=folder)
            await place.download_file(f"{folder}/script", back)
        assert back.stat().st_mode & 0o777 == 0o640

    async def test_a_missing_source_is_told(self, environment: Environment, tmp_path: Path) -> None:
        """With the errors of the interface; nothing is written."""
        async with environment as place, _folder(place) as folder:
            with pytest.raises(FileNotFoundError):
                await place.download_file(f"{folder}/none", tmp_path / "back")
            with pytest.raises(FileNotFoundError):
                await place.upload_file(tmp_path / "none", f"{folder}/target")
            listing = await place.exec("ls -a | wc -l", cwd=folder)
        assert not (tmp_path / "back").exists()
        assert int(listing.stdout) == 2

    async def test_a_target_that_cannot_be_written_is_told(self, environment: Environment, tmp_path: Path) -> None:
        """There: ``EnvironmentFailedError`` that names it; here: ``OSError``."""
        source = tmp_path / "source"
        source.write_bytes(b"x" * 200_000)
        async with environment as place, _folder(place) as folder:
            with pytest.raises(EnvironmentFailedError, match="none/target"):
                await place.upload_file(source, f"{folder}/none/target")
            await place.upload_file(source, f"{folder}/file")
            with pytest.raises(OSError, match="none"):
                await place.download_file(f"{folder}/file", tmp_path / "none" / "file")

    # -- all of it -----------------------------------------------------------------------------------------------------

    async def test_an_error_of_the_body_leaves_the_environment(self, environment: Environment) -> None:
        """It comes out as it is."""
        with pytest.raises(ZeroDivisionError):
            async with environment as place:
                await place.exec("true")
                raise ZeroDivisionError


async def _exec(place: Environment, command: str) -> None:
    await place.exec(command)


@asynccontextmanager
async def _folder(place: Environment, name: str = "work") -> AsyncIterator[str]:
    """A folder of this test's own in the environment."""
    base = f"/tmp/suite-{os.getpid()}-{secrets.token_hex(6)}"  # noqa: S108 - in the environment, a name that is nobody's
    folder = f"{base}/{name}"
    made = await place.exec(f"umask 077; mkdir {base} && mkdir {shlex.quote(folder)}")
    assert made.return_code == 0, made.stderr
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await place.exec(f"rm -rf {base}")


async def _ended(place: Environment, number: str) -> None:
    """Wait until process ``number`` of the environment has ended; a dead one that nobody asked about has."""
    alive = f"kill -0 {int(number)} && ! grep -q 'State:.*Z' /proc/{int(number)}/status"
    with anyio.fail_after(PROMPT_SEC):
        while (await place.exec(alive)).return_code == 0:
            await anyio.sleep(0.05)


async def _rest(process: EnvironmentProcess) -> bytes:
    """Everything to the end of the output."""
    data = bytearray()
    async for chunk in process:
        data += chunk
    return bytes(data)


async def _exactly(process: EnvironmentProcess, count: int, at_once: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = await process.receive(min(at_once, count - len(data)))
        assert 0 < len(chunk) <= at_once
        data += chunk
    return data


async def _line(process: EnvironmentProcess) -> str:
    with anyio.fail_after(PROMPT_SEC):
        data = b""
        while not data.endswith(b"\n"):
            data += await process.receive(1)
    return data.decode().strip()


async def _status(process: EnvironmentProcess) -> int | None:
    """The status, a moment after the end of the output at the latest."""
    with anyio.move_on_after(PROMPT_SEC):
        while process.return_code is None:
            await anyio.sleep(0.01)
    return process.return_code
