"""What the shell says about itself: marks (OSC 133) that its prompt writes among the output. No input or output here.

``D``: a command has ended; ``B``: the prompt is drawn; ``C``: a command begins; ``X``: the shell itself has ended. Each
names its shell, so that nested shells are told apart. ``D`` ends with flags: ``c``, this bash can tell when a command
begins (PS0, since 4.4); ``j``, its last background process runs on, though it may be no job any more. Any program can
write such marks: they are a hint about time, never about success.
"""

from __future__ import annotations

import re

_SIGNS = re.compile(rb"\x1b(?:\]133;([BCDX]);([^\x07\x1b]*)\x07|\[\?2004([hl])|(c|\[3J))")
_UNFINISHED = re.compile(rb"\x1b(?:\](?:1(?:3(?:3(?:;[^\x07\x1b]{,80})?)?)?)?|\[(?:3|\?(?:2(?:0(?:04?)?)?)?)?)?\Z")

PS0 = r"\e]133;C;$$\a"
# bash runs this before each prompt, and keeps ``$?``. The first time it switches history expansion off: a model's
# ``echo "a!b"`` would be dropped. The marks B and C are added to the user's own PS1 and PS0.
# All is said where the prompt is written; neither ``set -x`` nor a DEBUG trap says a word about it, and no other shell
# inherits what only bash can read.
PROMPT_COMMAND = (
    r"""{ _terminus_last=$?; case ${_terminus_mark-} in '') set +H ;; esac; _terminus_mark="$_terminus_last;$$;"; """
    r"""case $BASH_VERSION in [0-3].* | 4.[0-3].*) ;; *) _terminus_mark=${_terminus_mark}c ;; esac; """
    r"""case ${!-} in '') ;; *) kill -0 $! && _terminus_mark=${_terminus_mark}j ;; esac; """
    r"""printf '\033]133;D;%s\007' "$_terminus_mark" >&3; """
    r"""case ${PS1-} in *'133;B;'*) ;; *) PS1="${PS1-}"'\[\e]133;B;\j;$$\a\]' ;; esac; """
    rf"""case ${{PS0-}} in *'133;C;'*) ;; *) PS0="${{PS0-}}"'{PS0}' ;; esac; """
    r"""export -n PS1 PS0; } 3>&2 >/dev/null 2>&1"""
)


class PromptState:
    """Follows the marks of one shell.

    Attributes:
        idle: the shell shows its prompt: D, then B, and nothing sent since.
        prompts: prompts shown since the last :meth:`sent`.
        jobs: the shell's background and stopped jobs at the last prompt, and a process that it has disowned.
        begins: the shell tells when a command begins.
        shell: the process id of the shell that the marks belong to, ``None`` before its first prompt.
        end_status: exit status in the end mark; ``None`` as long as the shell lives.
        reading: a line editor has asked for bracketed paste: it reads.
        cleared: how often the history was wiped.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._tail = b""
        self.cleared = 0
        self.restart(token)

    def restart(self, token: str) -> None:
        """A new shell, whose end mark carries ``token``."""
        self._token = token.encode()
        self._done = False
        self._disowned = False
        self.idle = False
        self.begins = False
        self.reading = False
        self.prompts = 0
        self.jobs = 0
        self.shell: bytes | None = None
        self.end_status: int | None = None

    def resume(self, token: str, shell: bytes | None, end_status: int | None) -> None:
        """The shell was another process's until now; what it has told of its prompt already counts."""
        self._token = token.encode()
        self.shell = shell
        self.end_status = end_status

    def sent(self) -> None:
        """Something was typed: what was known about the prompt is no longer."""
        self.idle = False
        self._done = False
        self.prompts = 0

    @property
    def wants(self) -> bool:
        """Whether something of interest may be cut at the end of what has been fed."""
        return bool(self._tail)

    def feed(self, data: bytes) -> bool:
        """Take output as the program wrote it; ``True`` if the shell has said something."""
        data = self._tail + data
        cut = _UNFINISHED.search(data, max(0, data.rfind(b"\x1b")))
        self._tail = cut[0] if cut else b""
        said = False
        for kind, text, paste, _ in _SIGNS.findall(data):
            said = said or bool(kind or paste)
            if kind:
                self._take(kind, text.split(b";"))
            elif paste:
                self.reading = paste == b"h"
            else:
                self.cleared += 1
        return said

    def _take(self, kind: bytes, values: list[bytes]) -> None:
        if kind == b"X" and values[0] == self._token:
            self.idle = False
            self.end_status = _number(values[-1])
        elif kind == b"D" and len(values) > 1:
            self.shell = self.shell or values[1]
            self.idle = False
            self._done = values[1] == self.shell
            if self._done:
                self.begins = b"c" in values[-1]
                self._disowned = b"j" in values[-1]
        elif kind == b"C" and values[0] == self.shell:
            self._done = self.idle = False
        elif kind == b"B" and self._done and len(values) > 1 and values[1] == self.shell:
            self._done = False
            self.idle = True
            self.prompts += 1
            self.jobs = _number(values[0]) or int(self._disowned)


def _number(text: bytes) -> int:
    """A small number, 0 for anything else: programs can write anything."""
    return int(text) if len(text) < len("1000000") and text.isdigit() else 0
