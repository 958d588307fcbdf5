"""Code blocks of a Markdown page, with the comment in front that says what a block is or needs.

`<!-- file: NAME -->` names the file that a block is, `<!-- needs: WHAT -->` what no machine of ours has,
`<!-- runs: WHERE -->` where a block is run instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:<!-- (?P<word>file|needs|runs): (?P<what>.+?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One code block: its language, its text, and the word and value of the comment in front."""

    language: str
    text: str
    word: str = ""
    what: str = ""


def blocks(page: Path) -> list[Block]:
    """All code blocks of a page, in order."""
    return [
        Block(found["language"], found["text"], found["word"] or "", found["what"] or "")
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]
