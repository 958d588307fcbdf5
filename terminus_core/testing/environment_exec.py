"""Conformance of environments: commands that run to their end."""

# ruff: noqa: S101, PLR2004, ASYNC110 - a suite asserts, and polls what nobody tells it

from __future__ import annotations

import shlex

import anyio
import pytest

from terminus_core import Environment, EnvironmentFailedError
from terminus_core.testing.environment_base import BIG, PROMPT_SEC, SLEEP, EnvironmentSuite, own_folder, wait_for_end_of
from terminus_core.testing.suite import needs

SHELL_TEXT = r"""printf '%s|' 'a "b"' "c'd" "\$x" é✓ | tr a A
x='$y;'
cat <<END
$x \$x
END
"""


class EnvironmentExecTests(EnvironmentSuite):
    """``exec``: streams, status, folder, variables, user, limits, many at once."""

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
        async with environment as place, own_folder(place, """a 'b" $c""") as folder:
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
        async with environment as place, own_folder(place) as folder:
            with anyio.fail_after(1.0 + PROMPT_SEC), pytest.raises(TimeoutError):
                await place.exec(f"echo $$ > me; {SLEEP} & echo $! > kid; wait", cwd=folder, timeout_sec=1.0)
            for number in (await place.exec("cat me kid", cwd=folder)).stdout.split():
                await wait_for_end_of(place, number)

    async def test_a_time_limit_that_is_not_reached(self, environment: Environment) -> None:
        """It changes nothing."""
        async with environment as place:
            result = await place.exec("echo done", timeout_sec=300.0)
        assert (result.stdout, result.return_code) == ("done\n", 0)

    async def test_a_cancel_is_prompt_and_ends_the_command(self, environment: Environment) -> None:
        """The command does not live on, and the environment works on."""
        async with environment as place, own_folder(place) as folder:
            with anyio.fail_after(PROMPT_SEC):
                async with anyio.create_task_group() as group:
                    group.start_soon(_exec, place, f"echo $$ > {shlex.quote(folder)}/me; {SLEEP}")
                    while not (await place.exec("cat me 2>/dev/null", cwd=folder)).stdout.endswith("\n"):
                        await anyio.sleep(0.05)
                    group.cancel_scope.cancel()
            await wait_for_end_of(place, (await place.exec("cat me", cwd=folder)).stdout)

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


async def _exec(place: Environment, command: str) -> None:
    await place.exec(command)
