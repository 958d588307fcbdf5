"""How a command reaches a place that can run one fixed program as a byte stream.

The program is :data:`STARTER`: a shell that reads one line and obeys it. Folder, variables and command travel over its
input, so none of them shows in a list of processes, no login shell and no client has to quote them, and they may be
as long as they like. Once all is set the shell says a mark and its own number, which is what ends the command later.
Whatever a login profile wrote before that mark is not the command's, and is dropped.
"""

from __future__ import annotations

import re
import secrets
import shlex
from typing import TYPE_CHECKING, NamedTuple

from terminus_core import EnvironmentFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping

READ_LINE = 'IFS= read -r s && eval "$s"'
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
STARTER = ("/bin/sh", "-c", READ_LINE)
"""Its words need no quoting beyond single quotes: any login shell understands them."""

# A child of a daemon that made no session for it gets one where that is possible: what it starts can then be ended.
# Fields of stat after the name: state, parent, group, session.
OWN_SESSION = f"""\
IFS= read -r s </proc/self/stat && set -- ${{s##*) }} && [ "$3" != $$ ] && [ "$4" != $$ ] &&
command -v setsid >/dev/null && exec setsid /bin/sh -c '{READ_LINE}'
set --
{READ_LINE}
"""

# Everything in the session of the shell that was started, then its group, then itself.
END = """\
every() {{
    for f in /proc/[0-9]*/stat; do
        IFS= read -r s <"$f" || continue
        n=${{f#/proc/}} && n=${{n%/stat}}
        set -- ${{s##*) }}
        [ "$4" = {number} ] && [ "$1" != Z ] && kill "-$signal" "$n" && left=1
    done
    kill "-$signal" -{number} && left=1
    kill "-$signal" {number} && left=1
}}
{{
for signal in {signals}; do
    left= && every
    for n in 1 2 3 4 5 6 7 8 9 10; do
        [ -n "$left" ] && [ $signal != KILL ] || break
        sleep 0.1 || sleep 1
        left= && signal=0 every
    done
done
}} 2>/dev/null
"""


class Start(NamedTuple):
    """What to write to a :data:`STARTER`, and the mark that it says once it has obeyed."""

    lines: bytes
    mark: str


def start(command: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None) -> Start:
    """How a :data:`STARTER` is told to run ``command``.

    Raises:
        EnvironmentFailedError: a variable has a name that is none, or something holds a NUL character.
    """
    for name in env or {}:
        if not VARIABLE.fullmatch(name):
            raise EnvironmentFailedError(f"{name!r} is no name of a variable")
    mark = f"terminus-{secrets.token_hex(8)}"
    script = ["unset s nl"]
    if cwd is not None:
        why = shlex.quote(f"cannot enter the folder {cwd}")
        script.append(f"CDPATH= cd -- {shlex.quote(cwd)} >/dev/null 2>&1 || {{ echo {why} >&2; exit 1; }}")
    script += [f"export {name}={shlex.quote(value)}" for name, value in (env or {}).items()]
    script += [f"printf '\\n%s %s\\n' {mark} $$", command]
    return Start(line(OWN_SESSION) + line("\n".join(script)), mark)


def line(script: str) -> bytes:
    """``script`` as one line for a :data:`STARTER`."""
    if "\0" in script:
        raise EnvironmentFailedError("a command, folder or variable holds a NUL character")
    quoted = shlex.quote(script).replace("\n", "'\"$nl\"'")
    return f"nl=$(printf '\\n.'); nl=${{nl%.}}; eval {quoted}\n".encode(errors="surrogateescape")


def end_script(number: int, *, politely: bool) -> str:
    """A script that ends what a :data:`STARTER` with this number has started.

    Args:
        number: what the mark said.
        politely: SIGTERM, and SIGKILL a second later.
    """
    return END.format(number=number, signals="TERM KILL" if politely else "KILL")


def find_mark(output: bytes, mark: str) -> tuple[int, bytes] | None:
    """The number behind the mark, and what the command itself wrote after it; ``None``: not there yet."""
    _, found, rest = output.partition(f"\n{mark} ".encode())
    number, end, rest = rest.partition(b"\n")
    return (int(number), rest) if found and end else None
