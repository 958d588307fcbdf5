"""The page as one HTML file: everything in it, nothing fetched.

What comes from a run is in blocks of data; the page's own script shows it as text. A content security policy allows
only the scripts that are in the file, known by their hashes, and no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from terminus_plugins.commands.view.runs import RunPlace, read_run, summary_of

PLAYER_PACKAGE = "mkdocs_asciinema_player"
MAX_BYTES = 50_000_000
"""Recordings and trajectories that one file may hold; what is more needs the server."""

_SCRIPTS = ("text.js", "data.js", "terminal.js", "overview.js", "step.js", "run.js", "runs.js", "main.js")


@dataclass(slots=True, frozen=True)
class Player:
    """asciinema-player's script and style."""

    script: str
    style: str


@cache
def find_player() -> Player | None:
    """The player from the package that ships it; ``None`` if that is not installed."""
    if find_spec(PLAYER_PACKAGE) is None:
        return None
    assets = files(PLAYER_PACKAGE) / "assets"
    script, style = (
        (assets / name).read_text(encoding="utf-8") for name in ("asciinema-player.min.js", "asciinema-player.css")
    )
    return Player(script, style)


def write_page(places: list[RunPlace], target: Path, title: str) -> list[str]:
    """Write the page with all of ``places``, as far as they fit; readable by its owner only.

    Args:
        places: the runs, in the order of the table.
        target: the file.
        title: what the page calls itself.

    Returns:
        What was left out, one line each.

    Raises:
        OSError: the file cannot be written.
    """
    left_out: list[str] = []
    blocks: list[tuple[str, str, str]] = []
    summaries = []
    room = MAX_BYTES
    for place in places:
        run = read_run(place)
        summary = summary_of(run)
        text = _json(run)
        if len(text) > room:
            left_out.append(f"{place.name}: its trajectory does not fit into one file; open it with --serve")
            summary["left_out"] = True
        else:
            room -= len(text)
            blocks.append((f"run-{place.key}", "application/json", text))
            recording = _recording(place, room)
            if recording is not None:
                room -= len(recording)
                blocks.append((f"cast-{place.key}", "text/plain", recording))
            elif run["recording"]:
                left_out.append(f"{place.name}: its recording does not fit into one file; open it with --serve")
        summaries.append(summary)
    page = page_of(title, {"mode": "file", "runs": summaries}, blocks)
    fresh = target.with_name(f".{target.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(page)
    fresh.replace(target)
    return left_out


def page_of(title: str, index: dict[str, Any], blocks: Iterable[tuple[str, str, str]] = ()) -> str:
    """The page's text.

    Args:
        title: what the page calls itself.
        index: ``mode`` (``file`` or ``serve``) and the runs' summaries.
        blocks: id, media type and text of further blocks of data; nothing in the text can end a block.
    """
    player = find_player()
    scripts = [player.script] if player else []
    scripts.append('"use strict";(() => {\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "\n})();")
    all_blocks = [("index", "application/json", _json({**index, "title": title})), *blocks]
    parts = {
        "policy": policy(scripts, connect=index["mode"] == "serve"),
        "styles": "\n".join(f"<style>{style}</style>" for style in _styles(player)),
        "data": "\n".join(f'<script type="{kind}" id="{name}">{text}</script>' for name, kind, text in all_blocks),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    # Split first: nothing that is put in is looked at for places again.
    return "".join(parts.get(piece, piece) for piece in re.split(r"<!--(\w+)-->", _asset("page.html")))


def policy(scripts: Iterable[str], *, connect: bool) -> str:
    """The content security policy: these scripts, no network but, with ``connect``, the page's own server."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    server = "'self'" if connect else "'none'"
    return (
        f"default-src 'none'; script-src {hashes} 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
        f"img-src data:; font-src data:; connect-src {server}; "
        "base-uri 'none'; form-action 'none'"
    )


def _styles(player: Player | None) -> Iterator[str]:
    if player:
        yield player.style
    yield _asset("page.css")


@cache
def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _json(data: Any) -> str:
    """JSON that can stand in a script block: no ``<``, so nothing in it opens or ends an element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _harmless(text)


def _recording(place: RunPlace, room: int) -> str | None:
    path = place.recording
    if path is None or path.stat().st_size > room:
        return None
    return _harmless(path.read_bytes().decode("utf-8", "replace"))


def _harmless(text: str) -> str:
    # In JSON these stand only inside strings, where the escape means the same.
    for char in "<\u2028\u2029\0":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
