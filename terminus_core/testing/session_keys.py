"""Tests of session backends: every key arrives as it was meant, and waits end with what they wait for."""

# ruff: noqa: S101 - a suite asserts; the names of these tests say what is wanted

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from terminus_core.testing.session_base import LONG, PROMPT, SessionSuite, Terminal, look_until, run, took
from terminus_core.testing.suite import needs

if TYPE_CHECKING:
    from terminus_core import Session

RAW_READER = """
import os, termios, tty
tty.setraw(0)
os.write(1, b"READY\\r\\n")
with open("got", "wb", buffering=0) as got:
    while not (data := os.read(0, 65536)).endswith(b"\\x04"):
        got.write(data)
    got.write(data[:-1])
os.rename("got", "done")
os.write(1, b"DONE\\r\\n")
"""
NAMES: dict[str, set[bytes]] = {
    "Enter": {b"\r"},
    "Escape": {b"\x1b"},
    "Tab": {b"\t"},
    "BTab": {b"\x1b[Z"},
    "BSpace": {b"\x7f", b"\x08"},
    "Space": {b" "},
    "Up": {b"\x1b[A", b"\x1bOA"},
    "Down": {b"\x1b[B", b"\x1bOB"},
    "Left": {b"\x1b[D", b"\x1bOD"},
    "Right": {b"\x1b[C", b"\x1bOC"},
    "Home": {b"\x1b[1~", b"\x1b[H", b"\x1bOH"},
    "End": {b"\x1b[4~", b"\x1b[F", b"\x1bOF"},
    "PageUp": {b"\x1b[5~"},
    "PPage": {b"\x1b[5~"},
    "PageDown": {b"\x1b[6~"},
    "NPage": {b"\x1b[6~"},
    "IC": {b"\x1b[2~"},
    "DC": {b"\x1b[3~"},
    **{f"F{n}": {b"\x1bO" + b"PQRS"[n - 1 : n], b"\x1b[%d~" % (10 + n)} for n in range(1, 5)},
    **{f"F{n}": {b"\x1b[%d~" % code} for n, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)},
    "C-a": {b"\x01"},
    "C-c": {b"\x03"},
    "C-j": {b"\n"},
    "C-z": {b"\x1a"},
    "C-[": {b"\x1b"},
    "C-\\": {b"\x1c"},
    "M-x": {b"\x1bx"},
    "M-;": {b"\x1b;"},
    "M-é": {"\x1bé".encode()},
    "C-M-a": {b"\x1b\x01"},
}
"""Every name, and what terminals send for it."""
TYPED = [
    "SELECT count(*) FROM t;",
    "x=1;;",
    "a\\;",
    ";",
    "-l",
    "--",
    "-t other",
    "0x41",
    "^x",
    "F13",
    "enter",
    "C-",
    "C-xy",
    "#{pane_id} #(touch evil) #[fg=red] %1 $HOME ~ `id`",
    "it's \"quoted\" '\\'' \\\\ \\n {a} {",
    "é✓日本👩\u200d👧",
    "a\x00b\x01\x02\x7f\x1b[A",
    "".join(map(chr, range(32, 127))),
]
"""Texts that are typed as they stand."""


class SessionKeyTests(SessionSuite):
    """What is typed, and how long that is waited for."""

    async def test_every_key_name_is_pressed(self, terminal: Terminal) -> None:
        """A text that is the name of a key is that key, as the program reads it."""
        async with terminal.open() as session:
            got = await _raw(session, terminal.folder, [key for name in NAMES for key in (name, "|")])
        seen = dict(zip(NAMES, got.split(b"|"), strict=False))
        assert [name for name in NAMES if seen[name] not in NAMES[name]] == []

    async def test_everything_else_is_typed_byte_for_byte(self, terminal: Terminal) -> None:
        """Quotes, leading dashes, formats and control characters arrive as they are."""
        async with terminal.open() as session:
            got = await _raw(session, terminal.folder, [text for typed in TYPED for text in (typed, "\x1e")])
        assert [part.decode() for part in got.split(b"\x1e")] == [*TYPED, ""]

    async def test_a_newline_is_the_enter_key(self, terminal: Terminal) -> None:
        r"""``\n`` and ``\r\n`` are one Enter each."""
        keys = ["y\n", "Enter", "a\nb\n", "c\r\nd", "Up\n", "a\tb\n\tc\n"]
        async with terminal.open() as session:
            got = await _raw(session, terminal.folder, keys)
        assert got == b"y\r\ra\rb\rc\rdUp\ra\tb\r\tc\r"

    async def test_a_megabyte_to_a_raw_reader(self, terminal: Terminal) -> None:
        """However long a text is, a program that reads gets all of it."""
        text = "".join(f"{n} zwölf 'Boxkämpfer'; \\jagen\t✓\n" for n in range(27_000))
        async with terminal.open() as session:
            got = await _raw(session, terminal.folder, [text])
        assert got == text.replace("\n", "\r").encode()

    async def test_a_heredoc_with_tabs_quotes_and_formats(self, terminal: Terminal) -> None:
        """A text of several lines reaches the shell as text: its tabs complete nothing."""
        body = "".join(f"\tif (a{n} && 'x') {{ \"#{{y}}\" }};\n\t\t$HOME -- `z` \\\n" for n in range(500))
        async with terminal.open() as session:
            await run(session, f"cat > tabs.txt <<'END'\n{body}END")
            await run(session, "true")
        assert (terminal.folder / "tabs.txt").read_text() == body

    @pytest.mark.parametrize("text", ["-----BEGIN CERTIFICATE-----", "Up", "echo Enter", "a\\;", "x" * 4094])
    async def test_a_line_into_a_plain_program(self, terminal: Terminal, text: str) -> None:
        """A program without a line editor gets each byte of a line."""
        async with terminal.open() as session:
            await session.send_keys("echo READY; cat > got\n")
            await look_until(session, lambda rows: "READY" in rows)
            await session.send_keys("", min_timeout_sec=0.2)  # cat has to be there when the line ends
            await session.send_keys(text + "\n", min_timeout_sec=0.1)
            await session.send_keys("C-d")
            await run(session, "true")
        assert (terminal.folder / "got").read_text() == text + "\n"

    async def test_a_tab_in_one_line_completes(self, terminal: Terminal) -> None:
        """Within one line a tab is the key."""
        (terminal.folder / "only_one_here").touch()
        async with terminal.open() as session:
            await session.get_incremental_output()
            assert f"only_one_here\n{PROMPT}" in await run(session, "echo only_\t")

    # -- waiting -------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("keys", ["", "sleep 2 &\n", "cat\n", "echo 'open\n", "echo not run"])
    async def test_a_wait_is_never_too_short(self, terminal: Terminal, keys: str) -> None:
        """What leaves the shell busy, or is a wait alone, is waited for in full."""
        async with terminal.open() as session:
            with took(at_least=0.5):
                await session.send_keys(keys, min_timeout_sec=0.5)

    async def test_a_blocking_wait_ends_with_the_command(self, terminal: Terminal) -> None:
        """``block=True`` comes back when the command has ended."""
        async with terminal.open() as session:
            await session.get_incremental_output()
            with took(at_least=0.4):
                await session.send_keys("sleep 0.5; echo late\n", block=True, max_timeout_sec=LONG)
            assert (await session.get_incremental_output()).endswith(f"late\n{PROMPT}")

    async def test_a_blocking_wait_is_given_up(self, terminal: Terminal) -> None:
        """After ``max_timeout_sec`` it is a ``TimeoutError``, and the command runs on."""
        async with terminal.open() as session:
            await session.get_incremental_output()
            with took(at_least=0.3), pytest.raises(TimeoutError):
                await session.send_keys("sleep 300; true\n", block=True, max_timeout_sec=0.3)
            await session.send_keys("C-c", min_timeout_sec=0.5)
            assert (await run(session, "echo next")).endswith(f"next\n{PROMPT}")

    async def test_a_cancel_is_not_swallowed(self, terminal: Terminal) -> None:
        """A wait that is cancelled ends at once; the session is as usable as before."""
        async with terminal.open() as session:
            for options in ({"block": True}, {"min_timeout_sec": LONG}):
                with anyio.move_on_after(0.2) as scope, took():
                    await session.send_keys("sleep 60\n", **options)
                assert scope.cancelled_caught
                await session.send_keys("C-c", min_timeout_sec=0.3)
            assert await session.is_session_alive()

    @needs("prompt")
    @pytest.mark.parametrize(
        ("keys", "seen"),
        [
            ("echo one\n", f"one\n{PROMPT}"),
            ("sleep 0.3; echo late\n", f"late\n{PROMPT}"),
            ("sleep 0.2\necho second\n", f"second\n{PROMPT}"),
            ("for i in 1 2; do\nsleep 0.2\necho $i\ndone\n", f"1\n2\n{PROMPT}"),
            ("cat <<E\nx\nE\nsleep 0.2; echo end\n", f"end\n{PROMPT}"),
            ("no-such-command-here\n", PROMPT),
            ("\n", PROMPT),
        ],
    )
    async def test_back_when_the_shell_is(self, terminal: Terminal, keys: str, seen: str) -> None:
        """With ``prompt``: a wait ends when the shell is back at its prompt."""
        async with terminal.open() as session:
            for block in (False, True):
                with took():
                    await session.send_keys(keys, block=block, min_timeout_sec=LONG, max_timeout_sec=LONG)
                assert (await session.get_incremental_output()).endswith(seen)

    @needs("prompt")
    @pytest.mark.parametrize("program", ["bash --norc", "cat", "python3 -q"])
    async def test_never_early_in_a_nested_program(self, terminal: Terminal, program: str) -> None:
        """With ``prompt``: the prompt of another program ends no wait."""
        async with terminal.open() as session:
            await session.send_keys(program + "\n", min_timeout_sec=0.5)
            with took(at_least=0.3):
                await session.send_keys("echo x\n", min_timeout_sec=0.3)


async def _raw(session: Session, folder: Path, keystrokes: list[str]) -> bytes:
    """What a program in raw mode reads."""
    (folder / "reader.py").write_text(RAW_READER)
    await session.send_keys("python3 reader.py\n")
    await look_until(session, lambda rows: "READY" in rows)
    for keys in keystrokes:
        await session.send_keys(keys)
    await session.send_keys("C-d")
    await look_until(session, lambda rows: any("DONE" in row for row in rows))
    return (folder / "done").read_bytes()
