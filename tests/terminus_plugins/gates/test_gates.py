"""Gates in whole runs: what is typed, what the model reads, what is recorded."""

import os
import pty
import select
import subprocess
import sys
import time

import pytest

from terminus_core import Command, ParseResult
from terminus_plugins.gates.deny import Deny
from tests.support.scripted_run import DONE, Done, typing

# Harmless patterns: what these runs mean to have refused would be typed into a real shell if it were not.


def test_deny_types_nothing_and_says_why(program):
    config = program.folder / "my.toml"
    config.write_text("[gate.deny.patterns]\n'touch\\s+never' = 'it is not wanted'\n")
    replies = [
        typing("touch before\n", "touch  never\n"),
        typing("tou", "ch never\n"),
        typing("touch after\n"),
        DONE,
        DONE,
    ]
    done = program("--config", str(config), "--gate", "deny", replies=replies)
    assert done.code == 0
    for text, found in zip(done.observations, ("touch  never", "touch never"), strict=False):
        assert text.startswith("Nothing of your answer was typed.")
        assert f"{found!r} (it is not wanted)" in text
    assert not {"before", "never"} & {path.name for path in program.folder.iterdir()}
    assert (program.folder / "after").exists()
    assert "0 of 2 commands typed: Nothing of your answer" in done.stdout


def test_deny_takes_regular_expressions_only(program):
    config = program.folder / "my.toml"
    config.write_text("[gate.deny.patterns]\n'(' = 'broken'\n")
    done = program("--config", str(config), "--gate", "deny", replies=[DONE])
    assert done.code == 2
    assert "'(' is no regular expression" in done.stderr


REFUSED = [
    *(
        "rm -rf /",
        "sudo rm -r -f /*",
        "cd x; rm -rf ~",
        "rm -fr ~/*",
        "rm -rf $HOME/",
        'rm -rf "$HOME"',
        "rm -rf / ; ls",
    ),
    *("rm -rf --no-preserve-root /", "ls && rm -rf x /", "mkfs.ext4 /dev/sda1", "dd if=/dev/zero bs=1M of=/dev/sda"),
    *("shutdown now", "sudo reboot", ":(){ :|:& };:"),
]
TYPED = [
    *("rm -rf /tmp/x", "rm -rf ./build", "rm -rf ~/x", "rm -r dir/", "man mkfs", "dd if=a of=/dev/null", "echo rm /"),
    *("cat reboot.log", "ls /", "rm x; ls /", "grep -r halt ."),
]


@pytest.mark.anyio
@pytest.mark.parametrize("keystrokes", [*REFUSED, *TYPED])
async def test_what_deny_refuses_by_itself(keystrokes):
    reply = ParseResult([Command(f"{keystrokes}\n")])
    verdict = await Deny(Deny.Config()).before_commands(None, reply)
    assert (verdict is reply) == (keystrokes in TYPED)


def test_dry_run_types_nothing_and_the_run_can_end(program):
    restart = ("--action", "restart_shell")
    replies = [typing("touch made\n", actions=[{"name": "restart_shell"}]), DONE, DONE]
    done = program("--gate", "dry_run", *restart, replies=replies)
    assert (done.code, done.end) == (0, ("completed", ""))
    assert "- type 'touch made\\n'\n- restart_shell {}\n" in done.observations[0]
    assert not (program.folder / "made").exists()


# -- confirm -----------------------------------------------------------------------------------------------------------


OWN_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Person:
    """A person at a terminal, with a program started in it."""

    def __init__(self, program, *options, replies):
        self._terminal, inside = pty.openpty()
        arguments = program.arguments("--gate", "confirm", *options, replies=replies)
        self._process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, *arguments],
            cwd=program.folder,
            env=program.variables,
            stdin=inside,
            stdout=inside,
            stderr=inside,
        )
        os.close(inside)
        self.logs = program.logs
        self.seen = ""

    def reads(self, text):
        """Wait until the terminal shows ``text`` after all that was waited for before."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            assert self._read(), self.seen
        before, _, self.seen = self.seen.partition(text)
        return before

    def types(self, text):
        os.write(self._terminal, text.encode())

    def leaves(self):
        """Wait for the end; what is still shown, and the status."""
        while self._read():
            pass
        os.close(self._terminal)
        return Done(self._process.wait(60), self.seen, "", self.logs)

    def _read(self):
        if not select.select([self._terminal], [], [], 60)[0]:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # the other side has closed it
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


QUESTION = "[a]lways: "


def test_confirm_asks_beside_the_live_output_and_obeys(program):
    replies = [
        typing("echo \x1b[31mone > yes\n"),
        typing("echo two > no\n"),
        typing("echo bad > edited\n", "echo left out\n", "touch kept\n"),
        typing("echo four > always\n"),
        typing("echo five > later\n"),
        DONE,
        DONE,
    ]
    person = Person(program, replies=replies)
    shown = person.reads(QUESTION)
    assert "[1] > echo" in shown  # the live view
    assert r"  1. echo \e[31mone > yes\n  (5 s)" in shown
    assert "\x1b[31m" not in shown
    person.types("what\n")
    assert "what: not one of y, n, e, a." in person.reads(QUESTION)
    person.types("y\n")
    person.reads(QUESTION)
    person.types("n no twos here\n")
    person.reads(QUESTION)
    person.types("e\n")
    person.reads("leaves it out): ")
    person.types("echo 'good\\\\day' > edited\\n\n")
    person.reads("leaves it out): ")
    person.types("-\n")
    person.reads("leaves it out): ")
    person.types("\n")
    assert r"  2. touch kept\n" in person.reads(QUESTION)
    person.types("yes\n")
    person.reads(QUESTION)
    person.types("a\n")
    done = person.leaves()
    assert done.code == 0
    assert QUESTION not in done.stdout
    names = {path.name for path in program.folder.iterdir()}
    assert names >= {"yes", "edited", "kept", "always", "later"}
    assert "no" not in names
    assert (program.folder / "edited").read_text() == "good\\day\n"
    assert done.observations[1].endswith("refused. The person says: no twos here")
    assert "A person changed your commands. Typed were:" in done.observations[2]
    typed = [call["arguments"]["keystrokes"] for call in done.turns[2]["tool_calls"]]
    assert typed == ["echo 'good\\day' > edited\n", "touch kept\n"]


def test_confirm_asks_again_for_what_cannot_be_typed(program):
    person = Person(program, replies=[typing("touch one\n"), DONE, DONE])
    person.reads(QUESTION)
    person.types("e\n")
    person.reads("leaves it out): ")
    for wrong in (r"\Uffffffff", r"\U00110000", r"a\x00b", r"\ud83d"):
        person.types(f"touch {wrong}\\n\n")
        assert "is no character that can be typed." in person.reads("leaves it out): ")
    person.types("touch \\U0001f600\\x32\\n\n")
    person.reads(QUESTION)
    person.types("y\n")
    done = person.leaves()
    assert done.code == 0
    assert (program.folder / "\U0001f6002").exists()
    assert [call["arguments"]["keystrokes"] for call in done.turns[0]["tool_calls"]] == ["touch \U0001f6002\n"]


def test_confirm_takes_the_end_of_input_for_a_no_and_a_signal_for_the_end(program):
    person = Person(program, replies=[typing("touch one\n"), typing("touch two\n")])
    person.reads(QUESTION)
    person.types("\x04")
    person.reads(QUESTION)
    person.types("\x03")
    done = person.leaves()
    assert done.code == 130
    assert done.end == ("cancelled", "")
    assert done.observations[0].startswith("Nothing of your answer was typed: a person looked at it and refused.")
    assert not (program.folder / "one").exists()
    assert not (program.folder / "two").exists()


@pytest.mark.parametrize("quiet", [(), ("--json",)], ids=["plain", "json"])
def test_confirm_needs_a_terminal(program, quiet):
    done = subprocess.run(
        program.arguments("--gate", "confirm", *quiet, replies=[DONE]),
        cwd=program.folder,
        env=program.variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("terminus: gate 'confirm' asks a person, and there is no terminal to ask on")
    assert not (program.logs / "trajectory.json").exists()
