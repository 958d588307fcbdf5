"""Tests of session backends: every row of the terminal is given once."""

# ruff: noqa: S101, PLR2004 - a suite asserts; the names of these tests say what is wanted

from __future__ import annotations

import shutil
import unicodedata
from typing import TYPE_CHECKING

import pytest

from terminus_core.testing.session_base import PROMPT, SessionSuite, Terminal, look_until, run
from terminus_core.testing.suite import needs

if TYPE_CHECKING:
    from terminus_core import Session, TerminalText

COUNTER = 20_000


class SessionRowTests(SessionSuite):
    """What is seen of the terminal."""

    async def test_the_first_look_is_the_screen(self, terminal: Terminal) -> None:
        """Nothing was given before, so nothing can be new."""
        async with terminal.open() as session:
            text = await session.get_incremental_output()
            assert (text, text.kind, text.rows_left_out) == (PROMPT, "screen", 0)

    async def test_nothing_new_is_the_row_with_the_cursor(self, terminal: Terminal) -> None:
        """``none`` carries the row in which the next key would show."""
        async with terminal.open() as session:
            await run(session, "echo one")
            text = await session.get_incremental_output()
            assert (text, text.kind) == (PROMPT, "none")

    async def test_new_output_is_seen(self, terminal: Terminal) -> None:
        """``new`` has the command's own row, its output, and the prompt."""
        async with terminal.open() as session:
            for word in ("one", "two", "one"):
                text = await run(session, f"echo {word}")
                assert text.kind in {"new", "screen"}
                assert text.endswith(f"{PROMPT} echo {word}\n{word}\n{PROMPT}")

    async def test_the_screen_can_be_read(self, terminal: Terminal) -> None:
        """``capture_pane`` has what a person would see now."""
        async with terminal.open() as session:
            await run(session, "echo one")
            rows = (await session.capture_pane()).rstrip("\n").split("\n")
            assert rows == [f"{PROMPT} echo one", "one", PROMPT]

    @needs("rows")
    async def test_the_same_command_three_times(self, terminal: Terminal) -> None:
        """Rows count, not their text: equal output is new output."""
        async with terminal.open() as session:
            await session.get_incremental_output()
            for _ in range(3):
                text = await run(session, "echo same; echo same")
                assert (text, text.kind) == (f"{PROMPT} echo same; echo same\nsame\nsame\n{PROMPT}", "new")

    @needs("rows")
    async def test_equal_rows_twice(self, terminal: Terminal) -> None:
        """Equal rows one below the other are all given."""
        async with terminal.open() as session:
            await session.get_incremental_output()
            for _ in range(2):
                text = await run(session, "yes same | head -50")
                assert text.split("\n") == [f"{PROMPT} yes same | head -50", *["same"] * 50, PROMPT]

    @needs("rows")
    async def test_no_newline_at_the_end(self, terminal: Terminal) -> None:
        """Output without a last newline, and the prompt in the same row behind it."""
        async with terminal.open() as session:
            await session.get_incremental_output()
            assert await run(session, "printf abc") == f"{PROMPT} printf abc\nabc{PROMPT}"
            assert await run(session, "echo next") == f"abc{PROMPT} echo next\nnext\n{PROMPT}"

    @needs("rows")
    async def test_blank_rows_come_once_the_cursor_has_left_them(self, terminal: Terminal) -> None:
        """A blank row under the cursor may still be written to."""
        async with terminal.open() as session:
            await session.get_incremental_output()
            await session.send_keys("read x; echo; echo end\n", min_timeout_sec=0.3)
            rows = await look_until(session, bool)
            assert rows == [f"{PROMPT} read x; echo; echo end"]
            assert await run(session, "") == f"\n\nend\n{PROMPT}"

    @needs("rows")
    async def test_a_progress_bar_read_half_way(self, terminal: Terminal) -> None:
        """A row that has changed since it was given comes again."""
        async with terminal.open() as session:
            await session.get_incremental_output()
            await session.send_keys(
                r"printf '10%%'; read -s x; printf '\r20%%'; read -s x; printf '\r99%%\n'; seq 300" + "\n"
            )
            await look_until(session, lambda rows: "10%" in rows)
            await session.send_keys("\n")
            assert await look_until(session, lambda rows: "20%" in rows) == ["20%"]
            assert (await run(session, "")).split("\n") == ["99%", *map(str, range(1, 301)), PROMPT]

    @pytest.mark.parametrize("command", ["clear", "clear; cat five"])
    async def test_clear_after_a_lone_prompt(self, terminal: Terminal, command: str) -> None:
        """A screen that was wiped shows what came after."""
        (terminal.folder / "five").write_text("1\n2\n3\n4\n5\n")
        async with terminal.open() as session:
            await session.get_incremental_output()
            text = await run(session, command)
            expected = f"1\n2\n3\n4\n5\n{PROMPT}" if "cat" in command else PROMPT
            assert text == (expected if text.kind == "screen" else f"{PROMPT} {command}\n{expected}")
            await self._still_exact(session, "echo after")

    @needs("rows")
    async def test_a_screen_that_begins_with_blank_rows(self, terminal: Terminal) -> None:
        """Blank rows above the text are rows too."""
        async with terminal.open() as session:
            await run(session, r"printf '\033[H\033[J\n\n\nabc'")
            assert await run(session, "echo x") == f"abc{PROMPT} echo x\nx\n{PROMPT}"

    @needs("rows", "history")
    async def test_900_rows_three_times(self, terminal: Terminal) -> None:
        """Many screens at once: each row once, in order."""
        async with terminal.open() as session:
            await session.get_incremental_output()
            for start in (1, 1001, 2001):
                text = await run(session, f"seq {start} {start + 899}")
                assert (text.kind, text.rows_left_out) == ("new", 0)
                rows = [*map(str, range(start, start + 900))]
                assert text.split("\n") == [f"{PROMPT} seq {start} {start + 899}", *rows, PROMPT]

    @needs("rows", "history")
    async def test_300_rows_beyond_the_history_limit(self, terminal: Terminal) -> None:
        """What has left the history is counted in ``rows_left_out``."""
        async with terminal.open() as session:
            await run(session, f"seq {self.history_rows + 1000}")
            text = await run(session, "seq 300")
            assert text.split("\n") == [f"{PROMPT} seq 300", *map(str, range(1, 301)), PROMPT]

    @needs("rows")
    async def test_a_row_wider_than_the_terminal(self, terminal: Terminal) -> None:
        """It takes as many rows as it needs, each given once."""
        async with terminal.open() as session:
            width = int((await run(session, "tput cols")).split("\n")[-2])
            text = "".join(map(str, range(100, 100 + width)))
            (terminal.folder / "wide").write_text(text + "\n")
            rows = (await run(session, "cat wide")).split("\n")
            assert [len(row) for row in rows[1:-1]] == [width] * 3
            assert "".join(rows[1:-1]) == text
            await self._still_exact(session)

    async def test_wide_characters_and_combining_marks(self, terminal: Terminal) -> None:
        """They come out as they went in."""
        (terminal.folder / "words").write_text("日本語 e\u0301 한국 👩\u200d👩\u200d👧 ✓\n")
        async with terminal.open() as session:
            await session.get_incremental_output()
            rows = (await run(session, "cat words")).split("\n")
            assert f"{PROMPT} cat words" in rows
            assert "日本語 é 한국" in unicodedata.normalize("NFC", rows[-2])
            assert "✓" in rows[-2]
            await self._still_exact(session)

    @needs("screen")
    @pytest.mark.parametrize(
        ("program", "quit_keys"),
        [("less long", "q"), ("vi -u NONE long", ":q!\n"), ("watch -n 9 cat long", "C-c"), ("top -d 9", "q")],
    )
    async def test_a_full_screen_program(self, terminal: Terminal, program: str, quit_keys: str) -> None:
        """Its screens are ``screen``; afterwards the rows count on from before it."""
        if shutil.which(program.split(maxsplit=1)[0]) is None:
            pytest.skip(f"{program.split(maxsplit=1)[0]} is not installed")
        (terminal.folder / "long").write_text("".join(f"row {n}\n" for n in range(1, 201)))
        pager = program.startswith(("less", "vi"))
        async with terminal.open() as session:
            await session.get_incremental_output()
            await session.send_keys(program + "\n")
            await look_until(session, lambda rows: ("PID" if "top" in program else "row 20") in "\n".join(rows))
            if pager:
                assert (await session.get_incremental_output()).kind == "none"
                await session.send_keys("G")
                await look_until(session, lambda rows: "row 200" in rows)
            await session.send_keys(quit_keys)
            await look_until(session, lambda rows: bool(rows) and rows[-1] == PROMPT)
            if pager:
                assert "row 1" not in await session.capture_pane()
            await self._still_exact(session)

    @pytest.mark.parametrize("command", ["tput reset", r"printf '\033[3J\033[H\033[2J'"])
    async def test_a_wiped_terminal_is_given_as_a_screen(self, terminal: Terminal, command: str) -> None:
        """Or the rows since then, where they can be told all the same."""
        async with terminal.open() as session:
            await run(session, "seq 100")
            text = await run(session, f"{command}; echo after")
            assert text.kind == "screen" or text == f"{PROMPT} {command}; echo after\nafter\n{PROMPT}"
            assert text.endswith(f"after\n{PROMPT}")
            assert "99" not in text
            await self._still_exact(session)

    @needs("resize")
    async def test_resize(self, terminal: Terminal) -> None:
        """The next look is the ``screen`` at its new size."""
        async with terminal.open() as session:
            await run(session, "seq 100", "echo " + "x" * 150)
            await _resize(session, 50, 10)
            text = await run(session, "echo y; tput cols; tput lines")
            assert text.endswith(f"y\n50\n10\n{PROMPT}")
            assert len(text.split("\n")) <= 10
            await self._still_exact(session)

    @needs("rows")
    async def test_output_that_runs_on_while_it_is_read(self, terminal: Terminal) -> None:
        """No number twice, and a gap only where the text says how many rows were left out.

        Who does not get every byte cannot always tell how many, and then gives the screen.
        """
        async with terminal.open() as session:
            await session.get_incremental_output()
            await session.send_keys(f"seq {COUNTER}\n")
            # The row with the cursor comes again when it has been written on; until then nobody knows.
            whole, perhaps = 0, 0
            while perhaps < COUNTER:
                text = await session.get_incremental_output()
                if text.kind == "none":
                    await session.send_keys("", min_timeout_sec=0.01)
                    continue
                if text.kind == "screen" and "stream" not in self.capabilities:
                    assert min(_numbers(text), default=whole) >= whole
                    whole = perhaps = max(_numbers(text), default=perhaps)
                else:
                    whole, perhaps = _count_on(text, whole, perhaps)
                if text.split("\n")[-1] == str(perhaps + 1):
                    whole, perhaps = perhaps, perhaps + 1

    @needs("history")
    async def test_the_whole_history(self, terminal: Terminal) -> None:
        """``capture_pane(entire=True)`` reaches back to the first row kept."""
        async with terminal.open() as session:
            count = self.history_rows - 100
            await run(session, f"seq {count}")
            rows = (await session.capture_pane(entire=True)).rstrip("\n").split("\n")
            assert rows == [f"{PROMPT} seq {count}", *map(str, range(1, count + 1)), PROMPT]

    async def _still_exact(self, session: Session, command: str = "echo x") -> None:
        """What comes next is whole, and where rows are promised exactly that."""
        text = await run(session, command)
        expected = f"{PROMPT} {command}\n{command.removeprefix('echo ')}\n{PROMPT}"
        assert text == expected if "rows" in self.capabilities else text.endswith(expected)


def _numbers(text: str) -> list[int]:
    """The rows that are numbers, as far as they are whole."""
    return [int(row) for row in text.split("\n")[:-1] if row.isdigit()]


def _count_on(text: TerminalText, whole: int, perhaps: int) -> tuple[int, int]:
    """Check that ``text`` goes on where the last one ended.

    Args:
        text: the next look.
        whole: the last number that will not come again.
        perhaps: the next one, if it was in the row with the cursor, else ``whole``.
    """
    assert text.kind == "new"
    numbers = _numbers(text)
    if numbers:
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        command = set() if whole else {-1}  # its row may be among those left out
        assert numbers[0] - text.rows_left_out - 1 in {whole, perhaps, *command}
        whole = perhaps = numbers[-1]
    return whole, perhaps


async def _resize(session: Session, width: int, height: int) -> None:
    await session.resize(width, height)
    await session.send_keys("", min_timeout_sec=0.2)
