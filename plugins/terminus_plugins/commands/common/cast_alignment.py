"""Where the steps of a trajectory are in a recording of the same run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_EPISODE = re.compile(r"Episode (\d+)\b")
PLAN_CHARACTERS = 60
SLACK_SEC = 5.0
"""How far the clocks of a marker and of its step may be apart."""


def episodes(steps: Iterable[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The turns among ``steps`` with their numbers, counted from 1; copied steps are none."""
    turns = (step for step in steps if step["source"] == "agent" and not step["copied"])
    return enumerate(turns, start=1)


def place_steps(
    steps: Sequence[dict[str, Any]], started: float | None, markers: Sequence[tuple[float, str]], length: float
) -> None:
    """Set ``at`` of each step: the second of the recording at which it begins, ``None`` if that cannot be told.

    A turn begins at its episode's marker; without one at the time of the step before, when the model was asked.
    Positions never go back.

    Args:
        steps: all steps of a run, continuations included, in order.
        started: when the recording began, in seconds since 1970.
        markers: time and label of the recording's markers.
        length: seconds that the recording lasts.
    """
    marked: dict[int, float] = {}
    for time, label in markers:
        if match := _EPISODE.match(label):
            marked.setdefault(int(match[1]), time)
    numbers = {id(step): number for number, step in episodes(steps)}
    latest = 0.0
    previous: float | None = None
    for step in steps:
        at = _by_clock(step, started, previous)
        mark = marked.get(numbers.get(id(step), 0))
        if mark is not None and (at is None or at - SLACK_SEC <= mark):
            at = mark
        if at is not None:
            latest = at = min(max(at, latest), length)
        step["at"] = at
        previous = step["time"] or previous


def _by_clock(step: dict[str, Any], started: float | None, previous: float | None) -> float | None:
    began = previous if step["source"] == "agent" and previous is not None else step["time"]
    return None if began is None or started is None else began - started


def episode_markers(
    steps: Sequence[dict[str, Any]], started: float, there: Iterable[tuple[float, str]] = ()
) -> list[tuple[float, str]]:
    """A marker for each turn, as the recorder would have written it; turns that have one already get none.

    Args:
        steps: all steps of a run, continuations included, in order.
        started: when the recording began, in seconds since 1970.
        there: the recording's own markers.
    """
    known = {match[1] for _, label in there if (match := _EPISODE.match(label))}
    found: list[tuple[float, str]] = []
    numbers = {id(step): number for number, step in episodes(steps)}
    previous: float | None = None
    for step in steps:
        number = numbers.get(id(step))
        at = _by_clock(step, started, previous)
        previous = step["time"] or previous
        if number is not None and at is not None and str(number) not in known:
            found.append((at, _label(number, step)))
    return found


def _label(number: int, step: dict[str, Any]) -> str:
    failed = next((flag["text"] for flag in step["flags"] if flag["kind"] == "error"), "")
    commands = sum(1 for call in step["calls"] if call["command"] is not None)
    words = " ".join(step["message"].rpartition("Plan: ")[2][: 4 * PLAN_CHARACTERS].split())
    if len(words) > PLAN_CHARACTERS:
        words = (words[:PLAN_CHARACTERS].rpartition(" ")[0] or words[:PLAN_CHARACTERS]) + "\N{HORIZONTAL ELLIPSIS}"
    what = failed[:1].lower() + failed[1:] if failed else f"{commands} commands"
    about = f" \N{MIDDLE DOT} {words}" if words and not failed else ""
    return f"Episode {number}: {what}{about}"
