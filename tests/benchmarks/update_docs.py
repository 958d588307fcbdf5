"""Run the benchmark scripts and put what they print into the pages, between their markers.

    python tests/benchmarks/update_docs.py [NAME …] [--smoke]

A page has ``<!-- begin: NAME ARGUMENTS -->`` and ``<!-- end -->`` where the output of ``tests/benchmarks/NAME.py``
goes; ARGUMENTS may be missing. With names, only those scripts run. Use a quiet machine: it takes minutes, and the
figures stand in the pages as they are printed. With ``--smoke`` nothing runs and nothing is written: it lists what
would.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
_PLACE = re.compile(r"(?P<begin><!-- begin: (?P<command>.+?) -->\n)(?P<text>.*?)(?P<end><!-- end -->)", re.DOTALL)


def script_of(command: str) -> Path:
    """The script that a marker names.

    Raises:
        SystemExit: there is none.
    """
    path = HERE / f"{command.split(maxsplit=1)[0]}.py"
    if not path.is_file():
        raise SystemExit(f"<!-- begin: {command} -->: there is no {path}")
    return path


def output_of(command: str) -> str:
    """What a script prints, with the date."""
    words = [sys.executable, str(script_of(command)), *shlex.split(command)[1:]]
    print(f"running {command} …", file=sys.stderr)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return f"\n{done.stdout.strip()}\n\n*Printed on {datetime.now(UTC):%Y-%m-%d}.*\n\n"


def filled(page: str, names: list[str]) -> str:
    """The page with new figures; of ``names`` only, if there are any."""

    def place(found: re.Match[str]) -> str:
        wanted = not names or found["command"].split(maxsplit=1)[0] in names
        return found["begin"] + (output_of(found["command"]) if wanted else found["text"]) + found["end"]

    return _PLACE.sub(place, page)


def main() -> None:
    """Fill all pages."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME", help="scripts to run; all by default")
    options.add_argument("--smoke", action="store_true", help="list only: does each marker name a script?")
    arguments = options.parse_args()
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
    pages = {path: text for path, text in pages.items() if _PLACE.search(text)}
    if arguments.smoke:
        print("| page | script |\n|---|---|")
        for path, text in pages.items():
            for found in _PLACE.finditer(text):
                print(f"| {path.relative_to(DOCS)} | {script_of(found['command']).name} |")
        return
    for path, text in pages.items():
        path.write_text(filled(text, arguments.names), encoding="utf-8")


if __name__ == "__main__":
    main()
