"""A person at a terminal: a real tmux with a shell, typed at and looked at."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 60
"""How long anything may take on a busy machine."""


class Person:
    """Somebody who sits before a terminal of so many columns and rows.

    Args:
        folder: where the shell is started.
        env: its variables.
    """

    def __init__(self, folder, env, columns, rows):
        self._sockets = Path(tempfile.mkdtemp(prefix="person-"))
        # The name must not begin with `terminus`, as that is the command under test.
        program = self._sockets / "bin" / "terminus"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m terminus_core "$@"\n')
        program.chmod(0o700)
        path = f"{program.parent}:{os.environ['PATH']}"
        hidden = {"TMUX", "TMUX_PANE", "COLUMNS", "LINES", "PYTHONPATH"}
        variables = {name: value for name, value in env.items() if name not in hidden}
        self._env = variables | {"PATH": path, "PS1": "$ ", "TERM": "xterm-256color", "HISTFILE": "/dev/null"}
        size = ("-x", str(columns), "-y", str(rows))
        shell = ("env", "PS1=$ ", "bash", "--norc", "--noprofile")
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder), shlex.join(shell))
        self._tmux("set-option", "-g", "history-limit", "10000")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pid = int(self._tmux("display-message", "-p", "#{pid}"))
        self._tmux("kill-server")
        end = time.monotonic() + SECONDS
        while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
            time.sleep(0.02)
        shutil.rmtree(self._sockets)

    def _tmux(self, *words):
        tmux = ("tmux", "-S", str(self._sockets / "socket"), *words)
        done = subprocess.run(
            tmux, env=self._env, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, check=True
        )
        return done.stdout

    def types(self, text, *, enter=True):
        """Type a line."""
        self._tmux("send-keys", "-l", "--", text)
        if enter:
            self.presses("Enter")

    def presses(self, *keys):
        """Press keys by tmux's names."""
        self._tmux("send-keys", *keys)

    def resizes(self, columns, rows):
        """Make the window another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    @property
    def screen(self):
        """What is seen now; rows that the terminal wrapped are one line."""
        return self._tmux("capture-pane", "-p", "-J")

    @property
    def everything(self):
        """The screen and all that was scrolled out of it, with rows that the terminal wrapped as one line."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-").rstrip()

    def sees(self, *texts, where="screen"):
        """Wait until each text is there; gives what was seen."""
        end = time.monotonic() + SECONDS
        while not all(text in (seen := getattr(self, where)) for text in texts):
            missing = [text for text in texts if text not in seen]
            assert time.monotonic() < end, f"never seen: {missing}\n{seen}"
            time.sleep(0.05)
        return seen

    def is_done(self, text="next: terminus view"):
        """Wait for the end of a run, and for the prompt after it; gives everything."""
        end = time.monotonic() + SECONDS
        while not ((seen := self.everything).endswith("\n$") and text in seen):
            assert time.monotonic() < end, seen
            time.sleep(0.05)
        return seen
