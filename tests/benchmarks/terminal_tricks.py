r"""What programs print at a terminal, and whether the next command still works: typed whole, its output seen.

python tests/benchmarks/terminal_tricks.py [--smoke]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[2]))

from terminus_core import Session, SessionOptions
from terminus_plugins.environments.local import LocalEnvironment
from terminus_plugins.sessions.tmux import TmuxBackend

SHELL = "env HISTFILE= PS1='$ ' bash --norc --noprofile"


def printing(*texts: str) -> list[str]:
    """Commands that print texts, in printf's notation."""
    return [f"printf '{text}'" for text in texts]


TRICKS: dict[str, list[str]] = {
    "questions that the terminal answers": printing(
        *(rf"\033[{each}" for each in ("6n", "5n", "c", "0c", ">c", ">0c", "=c", ">q", "?6n", "?1$p", "?2004$p")),
        *(rf"\033]{each};?\007" for each in (4, 10, 11, 12, 52)),
        r"\033]10;?\033\\",
        r"\033P$qm\033\\",
        r"\033P+q544e\033\\",
        r"\005",
        r"\033Z",
        r"\033[6n\033[c\033[>c",
        r"\033[14t\033[18t\033[21t",
    ),
    "modes": printing(
        *(
            rf"\033[?{each}h"
            for each in (1, 3, 5, 6, 7, 12, 25, 45, 47, 1000, 1003, 1004, 1006, 1047, 1048, 1049, 2004)
        ),
        *(rf"\033[?{each}l" for each in (7, 25, 2004)),
        *(rf"\033[{each}h" for each in (2, 4, 12, 20)),
        *(rf"\033[{each}r" for each in ("5;10", "1;2", "39;40", "40;40")),
        r"\033=",
        r"\033c",
        r"\033[!p",
        r"\033[8m\033[7m",
        r"\033[3J\033[2J",
    ),
    "character sets": printing(
        *(rf"\033({each}" for each in "0AKB1"), *(rf"\033){each}\016" for each in "0AB"), r"\016", r"\016\017", r"\033n"
    ),
    "strings without an end": printing(
        r"\033P",
        r"\033Pq#0",
        r"\033Ptmux;x",
        r"\033]0;title",
        r"\033]8;;http://x",
        r"\033^x",
        r"\033_x",
        r"\033Xx",
        r"\033kname",
        r"\033[",
        r"\033[?",
        r"\033",
        r"\033\340\020Px",
    ),
    "lines of tmux's control mode": printing(
        r"%%begin 1 1 1\n%%end 1 1 1\n",
        r"%%exit\n",
        r"%%exit because\n",
        r"%%output %%0 x\n",
        r"%%session-changed $1 other\n",
        r"%%error 1 1 1\n",
        r"%%window-close @0\n",
    )
    + [f"for i in $(seq {first} {first + 40}); do echo %end $(date +%s) $i 1; done" for first in (1, 40, 80)],
    "history expansion": ['echo "a!b"', "echo done!!", "echo !$ !* !^", "echo ^a^b", "echo '!!'", "true !echo"],
    "settings of the shell": [
        "trap 'true' DEBUG",
        "trap 'true' ERR; false",
        "set -T",
        "set -o functrace",
        "set -u",
        "set -f",
        "set -b",
        "set +m",
        "shopt -s extdebug",
        "PS0=",
        "unset PROMPT_COMMAND; true",
        "PS2='? '",
        "IFS=,",
        "LC_ALL=C",
    ],
    "binaries": [
        "cat /bin/true",
        "cat $(command -v tmux)",
        "head -c 100000 /dev/urandom",
        "cat /bin/sh | head -c 50000",
    ],
}


async def holds(session: Session, trick: str) -> bool:
    """Whether a command after the trick is typed whole and its output is seen."""
    await session.send_keys(f"{trick}\n", min_timeout_sec=4)
    await session.get_incremental_output()
    await session.send_keys("echo ok$((40+2))\n", min_timeout_sec=4)
    return "echo ok$((40+2))\nok42\n" in await session.get_incremental_output()


async def measure(kinds: dict[str, list[str]]) -> None:
    """Print the table."""
    print("| kind | tricks | the next command works |\n|---|--:|--:|")
    failed = []
    backend = TmuxBackend(TmuxBackend.Config(shell=SHELL))
    for kind, tricks in kinds.items():
        held = 0
        for trick in tricks:
            with tempfile.TemporaryDirectory() as folder:
                options = SessionOptions(session_id="tricks", logs_dir=Path(folder), cwd=folder)
                async with LocalEnvironment() as place, backend.open(place, options) as session:
                    await session.get_incremental_output()
                    if await holds(session, trick):
                        held += 1
                    else:
                        failed.append(trick)
        print(f"| {kind} | {len(tricks)} | {held} |", flush=True)
    print(f"| all | {sum(map(len, kinds.values()))} | {sum(map(len, kinds.values())) - len(failed)} |")
    if failed:
        print(f"\nNot after: {', '.join(f'`{trick}`' for trick in failed)}")


def main() -> None:
    """Run all tricks, each in a terminal of its own."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--smoke", action="store_true", help="one trick of each kind")
    smoke = options.parse_args().smoke
    os.environ["HOME"] = tempfile.gettempdir()
    anyio.run(measure, {kind: tricks[:1] if smoke else tricks for kind, tricks in TRICKS.items()})


if __name__ == "__main__":
    main()
