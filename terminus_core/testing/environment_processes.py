"""Conformance of environments: processes as byte streams."""

# ruff: noqa: S101, PLR2004, PT012, ASYNC110 - a suite asserts, and polls what nobody tells it

from __future__ import annotations

import anyio
import pytest

from terminus_core import Environment, EnvironmentFailedError, EnvironmentProcess, StreamsUnsupportedError
from terminus_core.testing.environment_base import BIG, PROMPT_SEC, SLEEP, EnvironmentSuite, own_folder, wait_for_end_of
from terminus_core.testing.suite import needs


class EnvironmentProcessTests(EnvironmentSuite):
    """``open_process``: every byte both ways, the end, what is left."""

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
        async with environment as place, own_folder(place, "a b") as folder:
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
                await wait_for_end_of(place, number)

    @needs("streams")
    async def test_an_error_of_the_body_comes_out_as_it_is(self, environment: Environment) -> None:
        """Never as an ``ExceptionGroup``, and the process has ended."""
        async with environment as place:
            with pytest.raises(ZeroDivisionError):
                async with place.open_process(f"echo $$; exec {SLEEP}") as process:
                    number = await _line(process)
                    raise ZeroDivisionError
            await wait_for_end_of(place, number)

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
            await wait_for_end_of(place, number)

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
