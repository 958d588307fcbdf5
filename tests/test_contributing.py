"""The answers in CONTRIBUTING.md name files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_files_that_are_named_are_there():
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where is")[2].partition("\n## ")[0]
    answers = re.findall(r"\| `([\w./-]+)` \|$", table, re.MULTILINE)
    assert len(answers) >= 10
    assert [name for name in answers if not (ROOT / name).is_file()] == []
