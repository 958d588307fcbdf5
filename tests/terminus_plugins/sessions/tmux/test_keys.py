"""Every key arrives as it was meant."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terminus_plugins.sessions.tmux.keys import compile_keys, key_data
from terminus_plugins.sessions.tmux.protocol import quote

RAW_READER = """
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"READY\\r\\n")
with open("got", "wb", buffering=0) as got:
    while not (data := os.read(0, 65536)).endswith(b"\\x04"):
        got.write(data)
    got.write(data[:-1])
os.rename("got", "done")
os.write(1, b"DONE\\r\\n")
"""
NAMES = {
    "Enter": b"\r",
    "Escape": b"\x1b",
    "Tab": b"\t",
    "BTab": b"\x1b[Z",
    "BSpace": b"\x7f",
    "Space": b" ",
    "Up": b"\x1b[A",
    "Down": b"\x1b[B",
    "Left": b"\x1b[D",
    "Right": b"\x1b[C",
    "Home": b"\x1b[1~",
    "End": b"\x1b[4~",
    "PageUp": b"\x1b[5~",
    "PPage": b"\x1b[5~",
    "PageDown": b"\x1b[6~",
    "NPage": b"\x1b[6~",
    "IC": b"\x1b[2~",
    "DC": b"\x1b[3~",
    "F1": b"\x1bOP",
    "F2": b"\x1bOQ",
    "F3": b"\x1bOR",
    "F4": b"\x1bOS",
    "F5": b"\x1b[15~",
    "F6": b"\x1b[17~",
    "F7": b"\x1b[18~",
    "F8": b"\x1b[19~",
    "F9": b"\x1b[20~",
    "F10": b"\x1b[21~",
    "F11": b"\x1b[23~",
    "F12": b"\x1b[24~",
    "C-a": b"\x01",
    "C-c": b"\x03",
    "C-j": b"\n",
    "C-z": b"\x1a",
    "C-[": b"\x1b",
    "C-\\": b"\x1c",
    "C-]": b"\x1d",
    "C-_": b"\x1f",
    "C-1": b"1",
    "C-2": b"\x00",
    "C-3": b"\x1b",
    "C-8": b"\x7f",
    "C-/": b"\x1f",
    "C-;": b";",
    'C-"': b'"',
    "C-é": b"\xc3\xa9",
    "C-M-.": b"\x1b.",
    "M-x": b"\x1bx",
    "M-;": b"\x1b;",
    "M-.": b"\x1b.",
    "M-'": b"\x1b'",
    "M-é": b"\x1b\xc3\xa9",
    "C-M-a": b"\x1b\x01",
}
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
    "C-M-",
    "#{pane_id} #(touch evil) #[fg=red] %1 $HOME ~ `id`",
    "it's \"quoted\" '\\'' \\\\ \\n {a} {",
    "é✓日本👩\u200d👧",
    "a\x00b\x01\x02\x7f\x1b[A",
    "".join(map(chr, range(32, 127))),
    "%end 1 2 1",
]


async def raw(session, until, folder, keystrokes):
    """What a program in raw mode reads."""
    (folder / "reader.py").write_text(RAW_READER)
    (folder / "done").unlink(missing_ok=True)
    await session.send_keys("python3 reader.py\n")
    await until(session, lambda rows: "READY" in rows)
    for keys in keystrokes:
        await session.send_keys(keys)
    await session.send_keys("C-d")
    await until(session, lambda rows: any("DONE" in row for row in rows))
    return (folder / "done").read_bytes()


@pytest.mark.anyio
async def test_every_key_name_is_pressed(terminal, until):
    """tm-05"""
    async with terminal.open() as session:
        for start in range(0, len(NAMES), 50):
            names = list(NAMES)[start : start + 50]
            got = await raw(session, until, terminal.folder, [key for name in names for key in (name, "|")])
            assert dict(zip(names, got.split(b"|"), strict=False)) == {name: NAMES[name] for name in names}
    assert {name: key_data(name).encode() for name in NAMES} == NAMES


@pytest.mark.anyio
async def test_everything_else_is_typed_byte_for_byte(terminal, until):
    """tm-01, tm-03, tm-05"""
    async with terminal.open() as session:
        got = await raw(session, until, terminal.folder, [text for typed in TYPED for text in (typed, "\x1e")])
        assert [part.decode() for part in got.split(b"\x1e")] == [*TYPED, ""]


@pytest.mark.anyio
async def test_newline_is_the_enter_key(terminal, until):
    """tm-17"""
    async with terminal.open() as session:
        got = await raw(
            session, until, terminal.folder, ["y\n", "Enter", "C-j", "a\nb\n", "c\r\nd", "Up\n", "a\tb\n\tc\n"]
        )
        assert got == b"y\r\r\na\rb\rc\rdUp\ra\tb\r\tc\r"


@pytest.mark.anyio
async def test_five_megabytes_to_a_raw_reader(terminal, until):
    text = "".join(f"{n} zwölf 'Boxkämpfer'; \\jagen\t✓\n" for n in range(130_000))
    assert len(text.encode()) > 5_000_000
    async with terminal.open() as session:
        got = await raw(session, until, terminal.folder, [text])
        assert got == text.replace("\n", "\r").encode()


@pytest.mark.anyio
async def test_long_heredoc(terminal, say):
    """tm-04"""
    body = "".join(f"{n:04d} {'✓é' * 18}{'x' * 19}\n" for n in range(3000))
    async with terminal.open() as session:
        await say(session, f"cat > big.txt <<END\n{body}END")
        await say(session, "true")
        assert (terminal.folder / "big.txt").read_text() == body


@pytest.mark.anyio
async def test_heredoc_with_tabs_quotes_and_formats(terminal, say):
    body = "".join(f"\tif (a{n} && 'x') {{ \"#{{y}}\" }};\n\t\t$HOME -- `z` \\\n" for n in range(500))
    assert len(body) > 20_000
    async with terminal.open() as session:
        await say(session, f"cat > tabs.txt <<'END'\n{body}END")
        await say(session, "true")
        assert (terminal.folder / "tabs.txt").read_text() == body


@pytest.mark.anyio
async def test_lines_into_a_plain_program(terminal):
    """tm-01, tm-03, tm-05"""
    lines = ["-----BEGIN CERTIFICATE-----", "-la", "Up", "F1", "echo Enter", "x=1;;", "a\\;"]
    async with terminal.open() as session:
        await session.send_keys("cat > got\n", min_timeout_sec=0.2)
        for line in lines:
            await session.send_keys(line + "\n")
        await session.send_keys("C-d", min_timeout_sec=5)
        assert (terminal.folder / "got").read_text() == "".join(line + "\n" for line in lines)


@pytest.mark.anyio
async def test_longest_line_of_the_kernel(terminal):
    async with terminal.open() as session:
        await session.send_keys("cat > got\n", min_timeout_sec=0.2)
        await session.send_keys("x" * 4094 + "\n", min_timeout_sec=0.1)
        await session.send_keys("C-d", min_timeout_sec=5)
        assert (terminal.folder / "got").read_text() == "x" * 4094 + "\n"


@pytest.mark.anyio
async def test_tab_in_one_line_completes(terminal, say):
    (terminal.folder / "only_one_here").touch()
    async with terminal.open() as session:
        await session.get_incremental_output()
        assert "only_one_here\n$" in await say(session, "echo only_\t")


@pytest.mark.anyio
async def test_python_prompt(terminal, until):
    async with terminal.open() as session:
        await session.send_keys("python3 -q\n")
        await until(session, lambda rows: ">>>" in rows[-1:])
        await session.send_keys("def f(x):\n    return x * 'ab;'\n\nf(2)\n")
        assert "'ab;ab;'" in await until(session, lambda rows: "'ab;ab;'" in rows)


@pytest.mark.anyio
async def test_pager_takes_keys(terminal, until):
    (terminal.folder / "long").write_text("".join(f"row {n}\n" for n in range(1, 500)))
    async with terminal.open() as session:
        await session.send_keys("less long\n")
        await until(session, lambda rows: "row 30" in rows)
        for key, seen in (("NPage", "row 70"), ("End", "row 499"), ("Home", "row 1"), ("/row 250\n", "row 250")):
            await session.send_keys(key)
            await until(session, lambda rows, seen=seen: seen in rows)


def unquote(argument: str) -> str:
    """tmux's own reading of quotes, for what :func:`quote` writes."""
    parts = re.findall(r"'([^']*)'|\"((?:\\[0-7]{3}|[^\"\\$])*)\"", argument)
    assert "".join(f"'{a}'" if not b else f'"{b}"' for a, b in parts) == argument
    return "".join(a or re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), b) for a, b in parts)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_quoted_text_is_one_line_and_reads_as_it_was(text):
    argument = quote(text)
    assert "\n" not in argument
    assert unquote(argument) == text


@given(st.text(alphabet=st.one_of(st.sampled_from("CM-xU p\t\n\r;'"), st.characters(codec="utf-8")), max_size=30))
def test_a_text_is_a_key_name_or_is_typed_whole(text):
    keys = compile_keys(text, "%0")
    commands = [command for commands in keys.lists for command in commands]
    assert all("\n" not in command for command in commands)
    if key_data(text) is not None:
        assert commands == [f"send-keys -t %0 {quote(text)}"]
        return
    assert keys.enters == len(re.findall("\r\n|\r|\n", text))
    typed = "".join(
        "\0" if command.endswith("-H 00") else unquote(command.partition(" -- ")[2])
        for command in commands
        if not command.startswith("paste-buffer")
    )
    assert typed.encode() == keys.data
    assert keys.data.decode() == re.sub("\r\n|\n", "\r", text)


def test_parts_of_a_long_text_keep_its_order():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) * 3
    commands = [command for commands in compile_keys(text, "%0").lists for command in commands]
    assert len(commands) > 1
    assert "".join(unquote(command.partition(" -- ")[2]) for command in commands) == text
