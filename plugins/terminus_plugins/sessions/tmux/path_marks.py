"""Marks of the shell that tmux keeps for whoever asks later: the prompt sets the pane's path (OSC 7). No I/O here.

Where nobody reads the output as it comes, the newest mark is asked for together with the screen, so that both are of
the same instant. ``C;<shell>``: a command begins; ``B;<jobs>;<flags>;<shell>;<n>``: the prompt is drawn, for the n-th
time. The flags are those of :mod:`.prompt`, with ``n`` where there is no ``c``.
"""

from __future__ import annotations

import re

PS0 = r"\e]7;C;$$\a"
# bash runs this before each prompt, and keeps ``$?``. The marks B and C are added to the user's own PS1 and PS0.
PROMPT_COMMAND = (
    r"""{ case ${_terminus_prompts-} in '') set +H ;; esac; _terminus_prompts=$((${_terminus_prompts:-0} + 1)); """
    r"""case $BASH_VERSION in [0-3].* | 4.[0-3].*) _terminus_flags=n ;; *) _terminus_flags=c ;; esac; """
    r"""case ${!-} in '') ;; *) kill -0 $! && _terminus_flags=${_terminus_flags}j ;; esac; """
    r"""case ${PS1-} in *']7;B;'*) ;; """
    r"""*) PS1="${PS1-}"'\[\e]7;B;\j;$_terminus_flags;$$;$_terminus_prompts\a\]' ;; esac; """
    rf"""case ${{PS0-}} in *']7;C;'*) ;; *) PS0="${{PS0-}}"'{PS0}' ;; esac; """
    r"""export -n PS1 PS0; } >/dev/null 2>&1"""
)

_NUMBER = re.compile("[0-9]{1,9}")
MOST_PROMPTS = 1000
"""More prompts than this since the last mark make no difference."""


class PathMarks:
    """Turns each path of the pane into the marks (OSC 133) that a reader of the output would have met.

    Attributes:
        path: the newest path.
    """

    def __init__(self) -> None:
        self.path = ""
        self._shell = ""
        self._number = 0

    @property
    def number(self) -> int:
        """How often the shell of the newest prompt has drawn it."""
        return self._number

    def take(self, path: str) -> bytes:
        """Take the path as it is now. Any program can set it: what is no mark means nothing."""
        if path == self.path:
            return b""
        self.path = path
        match path.split(";"):
            case ["C", shell]:
                return f"\x1b]133;C;{shell}\a".encode(errors="replace")
            case ["B", jobs, flags, shell, number] if _NUMBER.fullmatch(number):
                drawn = int(number) - self._number if shell == self._shell else 1
                self._shell, self._number = shell, int(number)
                marks = f"\x1b]133;D;0;{shell};{flags}\a\x1b]133;B;{jobs};{shell}\a".encode(errors="replace")
                return marks * min(max(1, drawn), MOST_PROMPTS)
        return b""
