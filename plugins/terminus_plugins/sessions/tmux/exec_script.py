"""A round with tmux as one shell command line: command lists, waits, a look; and the reading of what comes back.

Lists go to ``tmux source-file`` as they are, so that a list means the same as on a control-mode channel: no argument
passes a shell, none is too long, no ``;`` at its end is lost. Each answer is followed by a line with a secret mark. No
input or output here.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from terminus_plugins.sessions.tmux.protocol import Reply, quote
from terminus_plugins.sessions.tmux.shell import PANE

if TYPE_CHECKING:
    from terminus_plugins.sessions.tmux.channel import Foresight, Goal
    from terminus_plugins.sessions.tmux.exec_channel import ExecRequest
    from terminus_plugins.sessions.tmux.shell import Place

STATE = "#{@ended};#{history_size};#{cursor_x};#{cursor_y};#{pane_path}"
"""tmux format of what every round ends with. The path comes last: a program may put anything in it."""
QUIET_SEC = 0.1
"""Quiet after a prompt that ends a wait where the number of prompts does not tell."""
MARGIN = 8
"""Rows that a look takes above those that should be new: output may go on meanwhile."""

# t: tmux. gone: a server that is no more is told as such. a: a file of command lists. q: the state. nap: not every
# sleep knows fractions. w: wait at most $1 seconds, until $2 new prompts (0: no number is enough) of the form $3, or
# with $4 one and quiet. A child that has not got to its exec yet still has our trap, and would lose a TERM: hence 9.
_FUNCTIONS = """\
unset TMUX TMUX_PANE
timer=
trap 'kill -9 $timer 2>/dev/null' EXIT
trap exit HUP TERM PIPE
t() {{ {client} "$@"; }}
gone() {{ t has-session -t {pane} 2>/dev/null || {{ echo '{mark} gone'; exit; }}; }}
a() {{
  exec 3>&1
  err=$(t source-file "$1" 2>&1 >&3) || gone
  exec 3>&-
  [ -z "$err" ] || echo "{mark} error $err"
}}
q() {{
  line=$(t display-message -p -t {pane} {state}) || gone
  path=${{line#*;*;*;*;}}
}}
nap() {{ sleep "$1" 2>/dev/null || sleep 1; }}
w() {{
  sleep "$1" >/dev/null 2>&1 &
  timer=$! naps=0
  while kill -0 $timer 2>/dev/null && q; do
    case $line in ';'*) ;; *) over=1; break ;; esac
    case $path in
      "$known") ;;
      $3)
        now=${{path##*;}}
        case $now in '' | *[!0-9]* | 0?* | ??????????*) now=0 ;; esac
        if [ "$2" -gt 0 ] && [ $((now - number)) -ge "$2" ]; then back=1; break; fi
        if [ "$4" ]; then
          before=$line
          nap {quiet}
          q
          if [ "$line" = "$before" ]; then back=1 quiet={quiet}; break; fi
          continue
        fi ;;
    esac
    naps=$((naps + 1))
    if [ $naps -lt 8 ]; then nap 0.01; elif [ $naps -lt 50 ]; then nap 0.05; else nap 0.2; fi
  done
  kill -9 $timer 2>/dev/null
  wait $timer 2>/dev/null
}}
over= back=1 quiet=0 line={line} path={path} now={number}
echo '{mark} begin'
[ -d {folder} ] && : >{folder}/used
"""
# As many rows as are new since the last look, within bounds.
_ROWS = """\
rows=${{line#*;}} rows=${{rows%%;*}}
case $rows in '' | *[!0-9]*) rows=0 ;; esac
rows=$((rows - {anchor} + {margin}))
[ $rows -gt {least} ] || rows={least}
[ $rows -lt {most} ] || rows={most}
"""


@dataclass(slots=True)
class Step:
    """Command lists, then a wait.

    Attributes:
        lists: with the requests that wait for their answers.
        seconds: to wait, at most.
        goal: what ends the wait before; ``None``: the end of the session only.
    """

    lists: list[tuple[tuple[str, ...], ExecRequest]] = field(default_factory=list)
    seconds: float = 0.0
    goal: Goal | None = None


@dataclass(slots=True)
class Round:
    """What came back.

    Attributes:
        begun: the shell line has been run at all.
        gone: the server is no more.
        state: the newest :data:`STATE`, ``None`` if there was none.
        quiet: seconds without change before the end of the last wait.
        look: the answers to the look that was foreseen.
        noise: what else was said, for error texts.
    """

    begun: bool = False
    gone: bool = False
    state: str | None = None
    quiet: float = 0.0
    look: list[Reply] = field(default_factory=list)
    noise: str = ""

    def take(self, about: str, value: str, lines: list[bytes]) -> None:
        """Take a marked line, and the lines before it."""
        match about:
            case "begin":
                self.begun = True
            case "gone":
                self.gone = True
            case "error":
                self.noise = value
            case "quiet":
                self.quiet = float(value)
            case "state":
                self.state = value
            case "look" if value:
                self.look.append(Reply(ok=True, lines=lines))


class RoundScript:
    """Builds the command line of a round, piece by piece, and reads its output.

    Args:
        place: where the server is.
        mark: a secret word.
        state: the newest state that is known.
        path: the path in it.
        number: how often the prompt had been drawn then.
    """

    def __init__(self, place: Place, mark: str, *, state: str, path: str, number: int) -> None:
        self._mark = mark
        self._requests: list[ExecRequest] = []
        self._parts = [
            _FUNCTIONS.format(
                client=place.client,
                folder=shlex.quote(place.folder),
                pane=PANE,
                mark=mark,
                state=shlex.quote(STATE),
                quiet=QUIET_SEC,
                line=shlex.quote(state),
                path=shlex.quote(path),
                number=number,
            )
        ]

    def lines(self, step: Step) -> str:
        """The command lists of a step as a file for tmux."""
        lines = []
        for commands, request in step.lists:
            number = len(self._requests)
            self._requests.append(request)
            marked = [
                f"{command} ; display-message -p '{self._mark} {number} {each}'"
                for each, command in enumerate(commands)
            ]
            lines += [f"display-message -p '{self._mark} {number}'", " ; ".join(marked)]
        return "".join(line + "\n" for line in lines)

    def add(self, step: Step, lines: str, file: str = "") -> None:
        """Add a step; its ``lines`` may lie in a ``file`` of the environment already."""
        part = []
        if file:
            part.append(f"a {shlex.quote(file)}; rm -f {shlex.quote(file)}")
        elif lines:
            part.append(f"a - <<'{self._mark}'\n{lines}{self._mark}")
        if step.seconds > 0:
            # After a wait that no prompt has ended, the number of prompts says nothing.
            part.append(f'enough=0; [ -z "$back" ] || enough={step.goal.prompts if step.goal else 0}')
            part.append("back= quiet=0 known=$path number=$now")
            quiet = "1" if step.goal and step.goal.quiet else "''"
            part.append(f"w {step.seconds:.3f} $enough {shlex.quote(_form(step.goal))} {quiet}")
        else:
            part.append("back=")
        self._parts.append('if [ -z "$over" ]; then\n' + "\n".join(part) + "\nfi\n")

    def finish(self, foresight: Foresight | None) -> str:
        """The whole, with a look if one is foreseen, and the state."""
        lines = []
        if foresight is not None:
            self._parts.append(
                _ROWS.format(anchor=foresight.anchor, margin=MARGIN, least=foresight.least, most=foresight.most)
            )
            told = [
                f"{command} ; display-message -p '{self._mark} look {each}'"
                for each, command in enumerate(foresight.commands("$rows"))
            ]
            lines += [f"display-message -p '{self._mark} look'", " ; ".join(told)]
        lines.append(f"display-message -p -t {PANE} {quote(f'{self._mark} state {STATE}')}")
        script = "\n".join(lines)
        self._parts.append(f'echo "{self._mark} quiet $quiet"\na - <<{self._mark}\n{script}\n{self._mark}\n')
        return "".join(self._parts)

    def read(self, output: str) -> Round:
        """Give the requests their answers, and return the rest. Requests without an answer stay unfinished."""
        told = Round()
        request: ExecRequest | None = None
        # What comes before a mark belongs to it; some places end their lines with a carriage return too.
        text, *parts = ("\n" + output.replace("\r\n", "\n")).split(f"\n{self._mark} ")
        lines = _lines(text)
        for part in parts:
            head, newline, rest = part.partition("\n")
            about, _, value = head.partition(" ")
            if not about.isdigit():
                told.take(about, value, lines)
            elif value and request is not None:
                request.add(Reply(ok=True, lines=lines))
            else:
                request = self._requests[int(about)]
                request.begun = True
            lines = _lines(rest) if newline else []
        told.noise = told.noise or b" ".join(lines).decode(errors="replace").strip()
        return told


def _lines(text: str) -> list[bytes]:
    return text.encode(errors="replace").split(b"\n")


def _form(goal: Goal | None) -> str:
    """The pattern of the paths (:mod:`.path_marks`) that may reach a goal."""
    return f"B;{'0;[cn]' if goal.jobs else '*'};{goal.shell or '*'};*" if goal else ""
