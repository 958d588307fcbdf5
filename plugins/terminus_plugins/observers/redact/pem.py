"""Private keys in texts, also where only a part of one is there: terminals show them row by row."""

from __future__ import annotations

import re

LONGEST = 16_384
"""Characters of a key; what goes on longer is none."""
FULL = 16
"""Characters that a row of a key has at least, all but its last one."""

CONTROL = r"\x1b\[[0-9;?]*[A-Za-z]"
_CONTROLS = re.compile(f"(?:{CONTROL})*")
_TAIL = re.compile(rf"(?:{CONTROL}|\s)+\Z")
_MARK = re.compile(r"-----(BEGIN|END) [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
_ROW = re.compile(r"[^\n]*\n|[^\n]+")
_BODY = re.compile(r"(?:[A-Za-z0-9+/=]|\\[nr])*")  # with the newlines of JSON
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): .*")


def key_spans(text: str, begun: int = 0) -> tuple[list[tuple[int, int]], int]:
    """Where keys are in a text, and how many characters of one that goes on after it have been seen.

    All between a key's first line and its last one is the key; where one of the two is missing, the rows that look like
    a key's are.

    Args:
        text: any text.
        begun: what was returned for the text before this one.
    """
    if not begun and "PRIVATE KEY" not in text:
        return [], 0
    spans: list[tuple[int, int]] = []
    floor = 0  # behind the last mark
    begin: int | None = _after_controls(text) if begun else None
    for mark in _MARK.finditer(text):
        start, end = mark.span()
        if mark[1] == "END":
            spans.append((_start_of_rows(text, floor, start) if begin is None else begin, end))
            begin = None
        else:
            if begin is not None:
                spans.append((begin, _end_of_rows(text, max(begin, floor), start)[0]))
            begin = start
        begun, floor = 0, end
    if begin is not None:
        end, goes_on = _end_of_rows(text, max(begin, floor), len(text))
        spans.append((begin, end))
        begun = begun + end - begin if goes_on else 0
    return [(start, end) for start, end in spans if start < end], begun if begun <= LONGEST else 0


def _after_controls(text: str) -> int:
    found = _CONTROLS.match(text)
    return found.end() if found else 0


def _letters(row: str) -> int | None:
    """How many characters of a key a row holds, ``None`` if it is no row of one."""
    bare = re.sub(CONTROL, "", row).strip()
    if _BODY.fullmatch(bare):
        return len(bare)
    return FULL if _HEADER.fullmatch(bare) else None


def _end_of_rows(text: str, start: int, stop: int) -> tuple[int, bool]:
    """Where rows of a key that begin at ``start`` end, and whether nothing else comes before ``stop``."""
    end, was_short = start, False
    for row in _ROW.finditer(text, start, stop):
        letters = _letters(row[0])
        if letters is None or (was_short and 0 < letters < FULL):
            return end, False
        if letters:
            was_short = letters < FULL
            tail = _TAIL.search(row[0])
            end = row.start() + (tail.start() if tail else len(row[0]))
    return end, True


def _start_of_rows(text: str, floor: int, stop: int) -> int:
    """Where rows of a key that end at ``stop`` begin."""
    start = end = stop
    is_key = False
    floor = max(floor, stop - LONGEST)
    while end > floor:
        begin = text.rfind("\n", floor, end) + 1 or floor
        letters = _letters(text[begin:end])
        if letters is None or (is_key and 0 < letters < FULL):
            break
        if letters:
            is_key = is_key or letters >= FULL
            start = begin + _after_controls(text[begin:end])
        end = begin - 1
    return start if is_key else stop
