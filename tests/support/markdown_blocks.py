"""Code blocks of a Markdown page, with the comment in front that says what a block is or needs.

`<!-- file: NAME -->` names the file that a block is, `<!-- needs: WHAT -->` what no machine of ours has,
`<!-- runs: WHERE -->` where a block is run instead, `<!-- shows: WHAT -->` what is there to be read and not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:<!-- (?P<word>file|needs|runs|shows): (?P<what>.+?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SECONDS = 100
"""How long one block may run."""


@dataclass(frozen=True)
class Block:
    """One code block: its language, its text, and the word and value of the comment in front."""

    language: str
    text: str
    word: str = ""
    what: str = ""

    @property
    def runs_as_it_stands(self) -> bool:
        """Whether it is a command or a program that needs nothing."""
        return self.word == "" and self.language in {"console", "python"}

    def __str__(self) -> str:
        return self.text.strip().partition("\n")[0][:60]


def blocks(page: Path) -> list[Block]:
    """All code blocks of a page, in order."""
    return [
        Block(found["language"], found["text"], found["word"] or "", found["what"] or "")
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def write_files(page: Iterable[Block], folder: Path) -> None:
    """Put the blocks that are files into ``folder``."""
    for block in page:
        if block.word == "file":
            path = folder / block.what
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")


def run_block(block: Block, folder: Path) -> str:
    """Run a block in ``folder``, as somebody without settings; gives its output, and fails if it does."""
    env = {**os.environ, "HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["bash", "-euc", block.text] if block.language == "console" else [sys.executable, "-c", block.text]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
