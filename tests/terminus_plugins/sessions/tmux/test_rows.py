"""Every row of the terminal is given once."""

from __future__ import annotations

import anyio
import pytest

pytestmark = pytest.mark.anyio


async def test_first_look_is_the_screen(terminal):
    async with terminal.open() as session:
        text = await session.get_incremental_output()
        assert (text, text.kind, text.rows_left_out) == ("$", "screen", 0)


async def test_nothing_new_is_the_row_with_the_cursor(terminal, say):
    async with terminal.open() as session:
        await say(session, "echo one")
        text = await session.get_incremental_output()
        assert (text, text.kind) == ("$", "none")


async def test_same_command_three_times(terminal, say):
    async with terminal.open() as session:
        await session.get_incremental_output()
        for _ in range(3):
            text = await say(session, "echo same; echo same")
            assert (text, text.kind) == ("$ echo same; echo same\nsame\nsame\n$", "new")


async def test_equal_rows_twice(terminal, say):
    """se-05"""
    async with terminal.open() as session:
        await session.get_incremental_output()
        for _ in range(2):
            text = await say(session, "yes same | head -50")
            assert text.split("\n") == ["$ yes same | head -50", *["same"] * 50, "$"]


async def test_no_newline_at_the_end(terminal, say):
    async with terminal.open() as session:
        await session.get_incremental_output()
        assert await say(session, "printf abc") == "$ printf abc\nabc$"
        assert await say(session, "echo next") == "abc$ echo next\nnext\n$"


async def test_blank_rows_are_given_once_the_cursor_has_left_them(terminal, say):
    async with terminal.open() as session:
        await session.get_incremental_output()
        await session.send_keys("read x; echo; echo end\n", min_timeout_sec=0.3)
        assert await session.get_incremental_output() == "$ read x; echo; echo end"
        assert await say(session, "") == "\n\nend\n$"


async def test_progress_bar_read_half_way(terminal, say):
    async with terminal.open() as session:
        await session.get_incremental_output()
        await session.send_keys(
            r"printf '10%%'; read -s x; printf '\r20%%'; read -s x; printf '\r99%%\n'; seq 300" + "\n",
            min_timeout_sec=0.3,
        )
        assert (await session.get_incremental_output()).endswith("\n10%")
        await session.send_keys("\n", min_timeout_sec=0.3)
        assert await session.get_incremental_output() == "20%"
        assert (await say(session, "")).split("\n") == ["99%", *map(str, range(1, 301)), "$"]


@pytest.mark.parametrize("command", ["clear", "clear; cat five"])
async def test_clear_after_a_lone_prompt(terminal, say, command):
    (terminal.folder / "five").write_text("1\n2\n3\n4\n5\n")
    async with terminal.open() as session:
        await session.get_incremental_output()
        text = await say(session, command)
        expected = "1\n2\n3\n4\n5\n$" if "cat" in command else "$"
        assert text == (expected if text.kind == "screen" else f"$ {command}\n{expected}")
        assert await say(session, "echo after-clear") == "$ echo after-clear\nafter-clear\n$"


async def test_screen_that_begins_with_blank_rows(terminal, say):
    async with terminal.open() as session:
        await say(session, r"printf '\033[H\033[J\n\n\nabc'")
        assert await say(session, "echo x") == "abc$ echo x\nx\n$"


async def test_900_rows_three_times_past_a_trimmed_history(terminal, say):
    async with terminal.open(history_limit=1000) as session:
        await session.get_incremental_output()
        for start in (1, 1001, 2001):
            text = await say(session, f"seq {start} {start + 899}")
            rows = text.split("\n")
            assert (text.kind, text.rows_left_out) == ("new", 0)
            assert rows == [f"$ seq {start} {start + 899}", *map(str, range(start, start + 900)), "$"]


async def test_300_rows_beyond_the_history_limit(terminal, say):
    async with terminal.open(history_limit=1000) as session:
        await say(session, "seq 2000")
        text = await say(session, "seq 300")
        assert text.split("\n") == ["$ seq 300", *map(str, range(1, 301)), "$"]


async def test_equal_rows_past_a_trimmed_history(terminal, say):
    async with terminal.open(history_limit=1000) as session:
        await say(session, "yes same | head -1500")
        for _ in range(5):
            text = await say(session, "yes same | head -333")
            assert text.split("\n") == ["$ yes same | head -333", *["same"] * 333, "$"]


async def test_more_rows_than_one_look_gives(terminal, say):
    async with terminal.open(max_rows=500) as session:
        await session.get_incremental_output()
        text = await say(session, "seq 2000")
        rows = text.split("\n")
        assert rows[-2] == "2000"
        assert text.rows_left_out + int(rows[-2]) - int(rows[0]) == 2000
        assert 450 < len(rows) < 600
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_row_wider_than_the_pane(terminal, say):
    """tm-10"""
    async with terminal.open(pane_width=40) as session:
        await session.get_incremental_output()
        rows = (await say(session, 'seq -s "" 100 130')).split("\n")
        assert [len(row) for row in rows[1:-1]] == [40, 40, 13]
        assert "".join(rows[1:-1]) == "".join(map(str, range(100, 131)))
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_wide_characters_combining_marks_joined_emoji(terminal, say):
    words = "日本語 e\u0301 한국 👩\u200d👩\u200d👧 ✓"
    (terminal.folder / "words").write_text(words + "\n")
    async with terminal.open() as session:
        await session.get_incremental_output()
        rows = (await say(session, "cat words")).split("\n")
        assert rows[0] == "$ cat words"
        assert "日本語 e\u0301 한국" in rows[1]
        assert "✓" in rows[1]
        assert await say(session, "echo x") == "$ echo x\nx\n$"


@pytest.mark.parametrize(
    ("program", "quit_keys"), [("less long", "q"), ("vim -u NONE -N long", ":q!\n"), ("watch -n 9 cat long", "C-c")]
)
async def test_full_screen_program_opened_scrolled_left(terminal, say, until, program, quit_keys):
    (terminal.folder / "long").write_text("".join(f"row {n}\n" for n in range(1, 201)))
    async with terminal.open() as session:
        await session.get_incremental_output()
        await session.send_keys(program + "\n")
        told = await until(session, lambda rows: "row 20" in "\n".join(rows))
        text = await session.get_incremental_output()
        assert text.kind == "none"
        if not program.startswith("watch"):
            await session.send_keys("G")
            await until(session, lambda rows: "row 200" in rows)
        await session.send_keys(quit_keys, min_timeout_sec=5)
        text = await session.get_incremental_output()
        assert "row 1" not in text
        assert f"$ {program}" in [*told, *text.split("\n")]  # a look may have met it before the program was there
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_full_screen_program_without_alternate_screen(terminal, say, until):
    async with terminal.open() as session:
        await session.get_incremental_output()
        await session.send_keys("TERM=vt100 top -d 9\n")
        await until(session, lambda rows: any("PID" in row for row in rows))
        await session.send_keys("q", min_timeout_sec=5)
        await session.get_incremental_output()
        assert await say(session, "echo x") == "$ echo x\nx\n$"


@pytest.mark.parametrize("command", ["tput reset", r"printf '\033[3J'", r"printf '\033[3J\033[H\033[2J'"])
async def test_wiped_terminal_is_given_as_a_screen(terminal, say, command):
    async with terminal.open() as session:
        await say(session, "seq 100")
        text = await say(session, f"{command}; echo after")
        assert text.kind == "screen"
        assert text.endswith("after\n$")
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_history_cleared_and_filled_again(terminal, say):
    async with terminal.open() as session:
        await say(session, "seq 100")
        text = await say(session, r"printf '\033[3J'; seq 300")
        assert text.kind == "screen"
        assert text.endswith("299\n300\n$")


async def test_resize(terminal, say):
    async with terminal.open() as session:
        await say(session, "seq 100", "echo " + "x" * 150)
        await session.resize(50, 10)
        text = await say(session, "echo y; tput cols; tput lines")
        assert text.kind == "screen"
        assert text.endswith("y\n50\n10\n$")
        assert len(text.split("\n")) <= 10
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_resize_of_the_height_loses_nothing(terminal, say):
    async with terminal.open() as session:
        await say(session, "seq 100")
        await session.resize(160, 10)
        assert await say(session, "echo x") == "$ echo x\nx\n$"
        await session.resize(160, 60)
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_copy_mode_that_somebody_entered(terminal, say):
    async with terminal.open() as session:
        await say(session, "seq 100")
        for words in ("copy-mode", "send-keys -X top-line"):
            await anyio.run_process(f"{session.place.client} {words}")
        await session.get_incremental_output()
        assert await say(session, "echo x") == "$ echo x\nx\n$"


async def test_output_that_runs_on_while_it_is_read(terminal):
    """A counter to a million: no number twice, and a gap only where the text says how many rows were left out."""
    async with terminal.open(history_limit=20_000) as session:
        await session.get_incremental_output()
        await session.send_keys("seq 1000000\n")
        # The row with the cursor comes again when it has been written on; until then nobody knows.
        whole, perhaps, looks = 0, 0, 0
        while perhaps < 1_000_000:
            text = await session.get_incremental_output()
            if text.kind == "none":
                await session.send_keys("", min_timeout_sec=0.01)
                continue
            looks += 1
            assert text.kind == "new"
            *rows, last = text.split("\n")
            numbers = [int(row) for row in rows if row.isdigit()]
            if numbers:
                assert numbers == list(range(numbers[0], numbers[-1] + 1))
                left_out = text.rows_left_out - (not whole and text.rows_left_out > 0)  # the row of the command
                assert numbers[0] - left_out - 1 in {whole, perhaps}
                whole = perhaps = numbers[-1]
            if last == str(perhaps + 1):
                whole, perhaps = perhaps, perhaps + 1
        assert looks > 5


async def test_entire_history(terminal, say):
    """tm-11"""
    async with terminal.open() as session:
        await say(session, "seq 1 9000")
        rows = (await session.capture_pane(entire=True)).split("\n")
        assert rows == ["$ seq 1 9000", *map(str, range(1, 9001)), "$"]
        assert (await session.capture_pane()).split("\n") == [*map(str, range(8962, 9001)), "$"]
