"""Listeners get everything that happens, beginning with how things are."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.anyio


async def test_size_and_screen_come_first_then_raw_output_and_input(terminal):
    events = []
    async with terminal.open() as session:
        await session.send_keys("echo before\n", block=True)
        started = time.monotonic()
        session.listen(events.append)
        await session.send_keys(r"printf '\033[31mred\200\n'" + "\n", block=True)
        await session.send_keys("Up")
        await session.resize(100, 30)
        await session.capture_pane()
    kinds = [event.kind for event in events]
    assert kinds[:2] == ["resize", "screen"]
    assert events[0].data == (160, 40)
    assert events[1].data.startswith(b"\x1b[0m\x1b[H\x1b[2J$ echo before\r\nbefore\r\n$")
    assert events[1].data.endswith(b"\x1b[3;3H")
    output = b"".join(event.data for event in events if event.kind == "output")
    assert b"\x1b[31mred\x80\r\n" in output
    assert [event.data for event in events if event.kind == "input"] == [
        rb"printf '\033[31mred\200\n'" + b"\r",
        b"\x1b[A",
    ]
    assert (100, 30) in [event.data for event in events if event.kind == "resize"]
    assert all(started <= event.time <= time.monotonic() for event in events)
    assert [event.time for event in events] == sorted(event.time for event in events)


async def test_late_listener_of_a_full_screen_program(terminal, until):
    (terminal.folder / "long").write_text("row\n" * 200)
    events = []
    async with terminal.open() as session:
        await session.send_keys("less long\n")
        await until(session, lambda rows: rows.count("row") > 20)
        session.listen(events.append)
        await session.capture_pane()
    assert events[1].kind == "screen"
    assert events[1].data.startswith(b"\x1b[?1049h")


async def test_a_listener_can_stop(terminal):
    first, second = [], []
    async with terminal.open() as session:
        stop = session.listen(first.append)
        session.listen(second.append)()
        await session.capture_pane()
        stop()
        stop()
        await session.send_keys("echo x\n", block=True)
    assert [event.kind for event in first] == ["resize", "screen"]
    assert second == []


async def test_a_listener_that_raises_harms_nobody(terminal, say, caplog):
    events = []

    def bad(event) -> None:
        if event.kind == "output":
            raise ValueError("mine")

    async with terminal.open() as session:
        session.listen(bad)
        session.listen(events.append)
        await session.get_incremental_output()
        assert await say(session, "echo x") == "$ echo x\nx\n$"
    assert any(event.kind == "output" for event in events)
    assert caplog.text.count("listener of the terminal session failed") == 1


async def test_what_programs_write_arrives_byte_for_byte(terminal):
    (terminal.folder / "bytes").write_bytes(bytes(range(256)) * 400)
    events = []
    async with terminal.open() as session:
        session.listen(events.append)
        await session.send_keys("stty -opost; cat bytes; stty opost\n", block=True)
    assert bytes(range(256)) * 400 in b"".join(event.data for event in events if event.kind == "output")
