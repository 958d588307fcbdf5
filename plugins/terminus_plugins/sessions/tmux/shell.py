"""The shell command lines that find tmux, start it, and take it away again. No input or output here."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from terminus_plugins.sessions.tmux import path_marks, prompt
from terminus_plugins.sessions.tmux.protocol import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

PANE = "%0"
"""Our pane in tmux's words: the first one of a server of its own. Others come when somebody runs tmux in it."""
BASE = "/tmp/terminus-$(id -u)"  # noqa: S108 - made with mode 0700 and checked; a socket's path must be short
KEEPERS = frozenset({"sleep", "env"})
"""What tmux calls the pane's program when only the keeper is left (``env``: its own first word, when the terminal
belongs to a process group that is gone)."""

_ELSEWHERE = (
    '"$HOME/.local/bin/tmux" /usr/local/bin/tmux /opt/homebrew/bin/tmux /home/linuxbrew/.linuxbrew/bin/tmux '
    "/opt/local/bin/tmux /snap/bin/tmux"
)
_FIND = """\
umask 077
set -- {tmux}
tmux=
for name in "$@"; do tmux=$(command -v "$name" 2>/dev/null) && break; done
if [ -z "$tmux" ]; then
  echo "login $("${{SHELL:-/bin/sh}}" -lc 'command -v tmux' </dev/null 2>/dev/null | tail -n 1)"
  exit 10
fi
base={base}
mkdir -p -m 700 "$base" && [ -O "$base" ] && [ ! -L "$base" ] && chmod 700 "$base" || {{ echo "base $base"; exit 11; }}
echo "tmux $tmux"
echo "base $base"
echo "now $(date +%s)"
for old in $(cd "$base" && ls -tr -- */owner 2>/dev/null); do
  old=${{old%/owner}}
  echo "old $old $(cat "$base/$old/owner" 2>/dev/null)"
done
"""
MISSING = 10

# The end of the shell is told in-band, with its status, and to tmux; then the keeper holds the pane, so that the last
# screen stays readable. Single quotes of sh are not needed inside: it is passed as one quoted argument.
_KEEPER = """\
unset TMOUT
case "${{LC_ALL:-${{LC_CTYPE:-$LANG}}}}" in
  *[Uu][Tt][Ff]*8*) ;;
  *) if [ -n "$LC_ALL" ]; then export LANG="$LC_ALL"; unset LC_ALL; fi; export LC_CTYPE=C.UTF-8 ;;
esac
trap : INT QUIT
PROMPT_COMMAND={prompt_command} PS0={ps0} sh -c {shell}
status=$?
trap "" INT QUIT
{tmux} set-option -p -t "$TMUX_PANE" @ended "$status" 2>/dev/null
printf "\\033]133;X;%s;%s\\007" {token} "$status"
exec sleep 2147483647"""
# Until the server has gone; one whose socket somebody has removed is ended by its process id, after a second.
_GONE = """\
n=0
while [ $n -lt 100 ] && {is_ours} 2>/dev/null; do
  n=$((n + 1))
  [ $n -ne 50 ] || kill -9 {server} 2>/dev/null
  sleep 0.02 2>/dev/null || sleep 1
done
"""
# Whoever has a socket among them as a word of its own on its command line: tmux has, a shell that runs this has not.
_SWEEP = """\
for file in $(grep -lF {base}/ /proc/[0-9]*/cmdline 2>/dev/null); do
  word=$(tr '\\000' '\\n' <"$file" 2>/dev/null | grep '^'{base}'/[^/]*/socket$' | head -n 1) || continue
  name=${{word%/socket}}
  case {names} in *" ${{name##*/}} "*) file=${{file#/proc/}}; kill -9 "${{file%/cmdline}}" 2>/dev/null ;; esac
done
for folder in {paths}; do
  [ -e /proc/self ] || tmux -S "$folder/socket" kill-server 2>/dev/null
  rm -rf "$folder"
done
"""
# Hangs up what runs in the terminal's sessions, as closing any terminal does; bash and the kernel leave it to a race.
# What ignores hang-ups (nohup) or has a session of its own (setsid) lives.
# Fields of stat after the name: state, parent, group, session. SIGHUP is the lowest bit of the ignored ones.
_HANG_UP = """\
hang_up() {{
  left=
  for file in /proc/[0-9]*/stat; do
    IFS= read -r line <"$file" || continue
    pid=${{file#/proc/}} pid=${{pid%/stat}}
    set -- "$1" ${{line##*) }}
    case " {sessions} " in *" $5 "*) ;; *) continue ;; esac
    [ "$2" != Z ] || continue
    ignored=$(grep SigIgn "/proc/$pid/status") || continue
    case $ignored in *[13579bdf]) ;; *) kill "-$1" "$pid" && left=1 ;; esac
  done
}}
{{
  hang_up HUP
  hang_up CONT
  n=0
  while [ -n "$left" ] && [ $n -lt 25 ]; do
    n=$((n + 1))
    sleep 0.02 || sleep 1
    hang_up 0
  done
  [ -z "$left" ] || hang_up KILL
}} 2>/dev/null
"""
DEFAULT_SHELL = "if command -v bash >/dev/null 2>&1; then exec bash --login; else exec sh -l; fi"


def session_name(session_id: str) -> str:
    """A name that tmux keeps as it is; sessions have a server each, so that equal names never meet."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", session_id)[:48].strip("_") or "session"


def find(tmux: str) -> str:
    """Find tmux and the folder for private folders; list what is in it, the oldest first."""
    wanted = shlex.quote(tmux) if tmux else f"tmux {_ELSEWHERE}"
    return _FIND.format(tmux=wanted, base=BASE)


@dataclass(slots=True, frozen=True)
class Place:
    """Where one tmux server lives.

    Attributes:
        tmux: path of tmux.
        folder: private folder, holds the socket.
        name: of the session.
        by_exec: nobody reads what programs write: the shell's marks are kept by tmux.
    """

    tmux: str
    folder: str
    name: str
    by_exec: bool = False

    @property
    def client(self) -> str:
        """How to call tmux with its socket, as a shell command line to go on from."""
        return f"{shlex.quote(self.tmux)} -u -S {shlex.quote(self.folder + '/socket')}"

    @property
    def attach_command(self) -> str:
        """What a person types to watch without disturbing."""
        return f"{self.client} attach-session -r -t ={self.name}"

    def attach(self) -> str:
        """Command line of a control-mode client on the living session."""
        socket = shlex.quote(f"{self.folder}/socket")
        return (
            f"[ -S {socket} ] || {{ echo '%exit its server is gone'; exit 1; }}; "
            f"unset TMUX; exec {self.client} -f /dev/null -C attach-session -t {PANE}"
        )

    def start(self, argv: Sequence[str], owner: str, *, width: int, height: int, history_limit: int) -> str:
        """Command line that makes folder, server and session, and becomes a control-mode client, unless by exec.

        history-limit counts only for windows made after it. tmux 3.3a crashes at each new window while the global
        window-size is manual; resize-window makes it so for ours alone.
        """
        # Where nobody reads what programs write, ``clear`` must not wipe the history unseen: this terminal cannot.
        terminal = ("set-option -g default-terminal screen-256color",) if self.by_exec else ()
        lists = (
            "start-server",
            *terminal,
            f"set-option -g history-limit {history_limit}",
            "set-option -g status off",
            "set-option -gw automatic-rename off",
            "set-option -s set-clipboard off",
            f"new-session {'-d ' if self.by_exec else ''}-x {width} -y {height} -s {self.name} {shlex.join(argv)}",
            f"resize-window -t {PANE} -x {width} -y {height}",  # and keeps that size, whoever attaches
        )
        folder = shlex.quote(self.folder)
        commands = " \\; ".join(lists)
        # Run again, after a connection that was lost before the server was ever reached.
        again = "" if self.by_exec else f"if [ -S {folder}/socket ]; then {self.attach()}; fi; "
        return (
            f"{again}(umask 077; mkdir -p {folder} && echo $(date +%s) {shlex.quote(owner)} >{folder}/owner) || exit; "
            f"unset TMUX TMUX_PANE TMOUT; exec {self.client} -f /dev/null {'' if self.by_exec else '-C '}{commands}"
        )

    def remove(self, server: str, sessions: Collection[str]) -> str:
        """End the server and what runs in its terminals, and take its folder away.

        Args:
            server: its process id, by which one that hangs is ended too; ``""`` if unknown.
            sessions: ids of the sessions of processes that its terminals had.
        """
        folder = shlex.quote(self.folder)
        kill, wait = f"{self.client} kill-server", ""
        if server:  # the number may be another process's by now, which Linux can tell
            is_ours = f"grep -qF {folder}/socket /proc/{server}/cmdline"
            kill = f"[ -e /proc/self ] && ! {is_ours} || kill -9 {server}"
            wait = _GONE.format(is_ours=is_ours, server=server)
        hang_up = _HANG_UP.format(sessions=" ".join(sessions)) if sessions else ""
        return f"[ -S {folder}/socket ] && {{ {kill}; }} 2>/dev/null; {wait}{hang_up}rm -rf {folder}"

    def leave(self) -> str:
        """Let the server live on without an owner, so that it is never swept; if it is gone, remove its folder."""
        folder = shlex.quote(self.folder)
        return f"{self.client} has-session -t {PANE} && rm -f {folder}/owner || rm -rf {folder}"


def pane_argv(place: Place, shell: str, token: str) -> list[str]:
    """The pane's program: the shell, its end mark, the keeper.

    Several arguments are run by tmux as they are; one would go through the user's own shell.
    """
    marks = path_marks if place.by_exec else prompt
    script = _KEEPER.format(
        prompt_command=shlex.quote(marks.PROMPT_COMMAND),
        ps0=shlex.quote(marks.PS0),
        shell=shlex.quote(shell or DEFAULT_SHELL),
        tmux=shlex.quote(place.tmux),
        token=token,
    )
    return ["env", "sh", "-c", script]


def sweep(base: str, folders: Sequence[str]) -> str:
    """End the servers and clients of the private folders in ``base``, by process id, and take the folders away.

    A server whose socket is gone, or that hangs, answers no client. Where there is no ``/proc``, it is asked to end.
    """
    paths = " ".join(shlex.quote(f"{base}/{folder}") for folder in folders)
    return _SWEEP.format(base=shlex.quote(base), names=shlex.quote(f" {' '.join(folders)} "), paths=paths)


def respawn(pane: str, argv: Sequence[str]) -> str:
    """A tmux command: a new program in the pane, whatever runs there."""
    return f"respawn-pane -k -t {pane} {' '.join(quote(word) for word in argv)}"
