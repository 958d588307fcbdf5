"""Observer ``stuck_shell``: says so when the terminal waits for something that the model may not have noticed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from terminus_core import hookimpl

if TYPE_CHECKING:
    from terminus_core import Command, Run

_PASSWORD = re.compile(r"(?:password|passphrase|passcode|\bPIN)\b[^:]{0,80}:\s*$", re.IGNORECASE)
_MORE = re.compile(r"^(?:>|heredoc>|quote>|dquote>|bquote>|cmdsubst>|pipe>|for>|while>|if>)\s*$")
_PROMPT = re.compile(r"[$#%\u276f]\s*$")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")

LOGIN_ASKED = (
    "The terminal waits for a password, which is not shown while it is typed: {row!r}. If the task gives you none, "
    "stop it with C-c and find a way that asks for none (a key, an option such as --batch or sudo -n)."
)
HEREDOC_OPEN = (
    "The shell waits for the end of a here-document: a line that holds {word} and nothing else. Until then everything "
    "you type becomes part of it. Send that line, or give it up with C-c."
)
COMMAND_OPEN = (
    "The terminal shows {row!r}. If that is the shell, it waits for the rest of a command: a quote, a bracket or a "
    "block is still open, or a line ended with a backslash. Close it, or give the command up with C-c."
)
SILENT = (
    "Nothing new has come from the terminal for {n} turns, and it shows no prompt. If you do not wait on purpose, what "
    "runs there hangs or wants input: try C-c, then C-d or C-\\, or q if it may be a pager."
)
RESTART = " If nothing helps, ask for restart_shell: it ends what runs there and gives you a fresh shell."


class StuckShell:
    """Looks at the last row of the terminal, and counts turns without anything new; tells each thing once."""

    name: ClassVar[str] = "stuck_shell"

    class Config(BaseModel):
        """``[observer.stuck_shell]``."""

        model_config = ConfigDict(extra="forbid")

        silent_turns: int = Field(3, ge=1, description="turns without new output until the model is told")

    def __init__(self, config: Config) -> None:
        self._silent_turns = config.silent_turns
        self._silent = 0
        self._said = ""
        self._heredoc = ""  # the word that ends the open here-document

    @hookimpl
    def terminus_command_sent(self, command: Command) -> None:
        """Follow which here-document is open."""
        for line in command.keystrokes.splitlines():
            if self._heredoc:
                self._heredoc = "" if line.strip() == self._heredoc else self._heredoc
            elif found := _HEREDOC.search(line):
                self._heredoc = found[2]

    @hookimpl(tryfirst=True)
    def terminus_filter_observation(self, run: Run, text: str) -> None:
        """Judge what the terminal shows; it comes with its kind only before other filters have seen it."""
        kind = getattr(text, "kind", None)
        if run.n_episodes == 0 or kind is None:
            return
        row = text.rstrip().rpartition("\n")[2]
        self._silent = self._silent + 1 if kind == "none" and not _PROMPT.search(row) else 0
        what = self._waits_for(row)
        if not what and self._silent and self._silent % self._silent_turns == 0:
            what = SILENT.format(n=self._silent)
        if what and what != self._said:
            offered = "restart_shell" in run.actions
            run.say(what + (RESTART if offered else ""))
        self._said = what

    def _waits_for(self, row: str) -> str:
        if _PASSWORD.search(row):
            return LOGIN_ASKED.format(row=row.strip())
        if not _MORE.match(row):
            self._heredoc = ""
            return ""
        return HEREDOC_OPEN.format(word=self._heredoc) if self._heredoc else COMMAND_OPEN.format(row=row)


@hookimpl
def terminus_register_observers() -> list[type[StuckShell]]:
    """Bring ``stuck_shell``."""
    return [StuckShell]
