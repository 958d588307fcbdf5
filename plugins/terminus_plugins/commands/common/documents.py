"""ATIF documents of any version and any agent, as what the page shows. What is odd becomes text, never an error."""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from terminus_plugins.commands.common.coercion import (
    dict_of,
    dicts_of,
    number_or_none,
    pretty,
    seconds_since_1970,
    text_of,
)

MAX_DOCUMENTS = 2000
"""Documents that one run may refer to."""
MAX_IMAGE_BYTES = 2_000_000
"""Larger images are named, not shown."""
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")

_COMMAND_KEYS = ("keystrokes", "command", "cmd", "code", "script", "input")
"""Arguments that people read as the command itself, in the order of preference."""

_SAYINGS = (
    ("Previous response had parsing errors:", "error", "The answer could not be used"),
    ("Previous response had warnings:", "warning", "Warnings about the answer"),
    ("The terminal did not come back within", "warning", "A command timed out"),
)
"""Beginnings of observations that say that something went wrong."""

Json = dict[str, Any]


class DocumentError(ValueError):
    """A file is not a trajectory; the text says why, in one line."""


def read_documents(path: Path) -> dict[str, Json]:
    """A trajectory and every document that it refers to, by name; the first is the trajectory itself.

    Only files below the trajectory's own folder are followed.

    Raises:
        DocumentError: the trajectory itself cannot be read as one.
        OSError: it cannot be opened.
    """
    reader = _Reader(path.parent.resolve())
    reader.read(path.name)
    return reader.documents


def read_steps(trajectory: Path) -> list[Json]:
    """The steps of a trajectory and its continuations, in order.

    Raises:
        DocumentError: it is not a trajectory.
        OSError: it cannot be opened.
    """
    return [step for document in chain_of(read_documents(trajectory)) for step in document["steps"]]


def chain_of(documents: Json) -> list[Json]:
    """The trajectory and its continuations, in order."""
    chain: dict[str, Json] = {}
    name = next(iter(documents), None)
    while name is not None and name not in chain:
        chain[name] = documents[name]
        name = documents[name].get("next")
    return list(chain.values())


class _Reader:
    def __init__(self, root: Path) -> None:
        self.documents: dict[str, Json] = {}
        self._root = root
        self._ids: dict[str, str] = {}  # trajectory and session ids of documents: their names
        self._waiting: deque[tuple[Json, Any, str]] = deque()  # document, its continuation, its folder

    def read(self, name: str) -> None:
        """Read a file of the root folder, and what it refers to."""
        self._add(name, _load(self._root / name), Path(name).parent.as_posix(), "main")
        # A queue and no recursion: a long run is a chain of a thousand documents.
        while self._waiting:
            self._link(*self._waiting.popleft())

    def _add(self, name: str, data: Json, folder: str, kind: str) -> None:
        """Take a document in, and those embedded in it; what they refer to waits."""
        found = [(name, data, kind)]
        while found:
            name, data, kind = found.pop()
            document = self.documents[name] = _document(name, data, kind)
            for key in ("trajectory_id", "session_id"):
                if isinstance(data.get(key), str):
                    self._ids.setdefault(data[key], name)
            self._waiting.append((document, data.get("continued_trajectory_ref"), folder))
            embedded = dicts_of(data.get("subagent_trajectories"))
            found += [(f"{name}#{text_of(each.get('trajectory_id'))}", each, "subagent") for each in embedded[::-1]]

    def _link(self, document: Json, following: Any, folder: str) -> None:
        """Find what a document refers to."""
        for step in document["steps"]:
            step["images"] = [each for image in step["images"] if (each := self._image(folder, image))]
            for result in step["results"]:
                result["refs"] = [self._follow(document["name"], folder, ref) for ref in result["refs"]]
        if isinstance(following, str):
            document["next"] = self._open(folder, following, "continuation")
            document["next_name"] = following

    def _follow(self, name: str, folder: str, ref: Json) -> Json:
        path, ident = ref.get("trajectory_path"), ref.get("trajectory_id")
        shown = next((value for value in (path, ident, ref.get("session_id")) if isinstance(value, str)), "?")
        found = None
        if isinstance(ident, str):
            found = f"{name}#{ident}" if f"{name}#{ident}" in self.documents else self._ids.get(ident)
        if found is None and isinstance(path, str):
            found = self._open(folder, path, "subagent")
        if found is None and path is None and isinstance(ref.get("session_id"), str):
            found = self._ids.get(ref["session_id"])
        return {"label": shown, "doc": found}

    def _image(self, folder: str, source: Json) -> str | None:
        """An image as a ``data:`` address; ``None`` if it is elsewhere, too large, or of another type."""
        kind, path = source.get("media_type"), source.get("path")
        if kind not in IMAGE_TYPES or not isinstance(path, str):
            return None
        if path.startswith(f"data:{kind};base64,"):
            return path
        try:
            target = (self._root / folder / path).resolve()
            if not target.is_relative_to(self._root) or target.stat().st_size > MAX_IMAGE_BYTES:
                return None
            return f"data:{kind};base64,{base64.b64encode(target.read_bytes()).decode()}"
        except (OSError, ValueError):
            return None

    def _open(self, folder: str, reference: str, kind: str) -> str | None:
        """The name of the document that a path refers to; ``None`` if there is none that may be read."""
        try:
            target = (self._root / folder / reference).resolve()
            name = target.relative_to(self._root).as_posix()
            if name in self.documents:
                return name
            if len(self.documents) >= MAX_DOCUMENTS:
                return None
            self._add(name, _load(target), Path(name).parent.as_posix(), kind)
        except (OSError, ValueError):
            return None
        return name


def _load(path: Path) -> Json:
    try:
        data = json.loads(path.read_bytes().decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise DocumentError(f"{path} is not a JSON document") from None
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        raise DocumentError(f"{path} is not an ATIF trajectory: it has no list of steps")
    return data


def _document(name: str, data: Json, kind: str) -> Json:
    agent = dict_of(data.get("agent"))
    steps: list[Json] = []
    previous: float | None = None
    for number, step in enumerate(dicts_of(data["steps"]), start=1):
        steps.append(_step(step, number, previous))
        previous = steps[-1]["time"] or previous
    final = dict_of(data.get("final_metrics"))
    return {
        "name": name,
        "kind": kind,
        "schema": text_of(data.get("schema_version")),
        "agent": " ".join(text_of(agent.get(key)) for key in ("name", "version") if agent.get(key)),
        "model": text_of(agent.get("model_name")),
        "notes": text_of(data.get("notes")),
        "final": final,
        "steps": steps,
    }


def _step(step: Json, number: int, previous: float | None) -> Json:
    when = seconds_since_1970(step.get("timestamp"))
    calls = [_call(call) for call in dicts_of(step.get("tool_calls"))]
    results = list(_results(step.get("observation")))
    metrics = dict_of(step.get("metrics"))
    extra = step.get("extra")
    return {
        "n": number,
        "source": text_of(step.get("source")) or "agent",
        "time": when,
        "seconds": max(0.0, when - previous) if when is not None and previous is not None else None,
        "message": text_of(step.get("message")),
        "reasoning": text_of(step.get("reasoning_content")),
        "model": text_of(step.get("model_name")),
        "calls": calls,
        "results": results,
        "images": list(_images(step)),
        "prompt": number_or_none(metrics.get("prompt_tokens")),
        "completion": number_or_none(metrics.get("completion_tokens")),
        "cached": number_or_none(metrics.get("cached_tokens")),
        "cost": number_or_none(metrics.get("cost_usd")),
        "copied": step.get("is_copied_context") is True,
        "flags": list(_flags(step, results)),
        "extra": pretty(extra) if extra else "",
    }


def _call(call: Json) -> Json:
    arguments = call.get("arguments")
    named = dict_of(arguments)
    command = next((named[key] for key in _COMMAND_KEYS if isinstance(named.get(key), str)), None)
    return {
        "id": text_of(call.get("tool_call_id")),
        "name": text_of(call.get("function_name")),
        "command": command,
        "seconds": number_or_none(named.get("duration")),
        "arguments": "" if command is not None or not arguments else pretty(arguments),
    }


def _results(observation: Any) -> Iterator[Json]:
    given = observation.get("results") if isinstance(observation, dict) else observation
    for result in given if isinstance(given, list) else [given] if given else []:
        if isinstance(result, dict):
            yield {
                "for": text_of(result.get("source_call_id")),
                "text": text_of(result.get("content")),
                "refs": dicts_of(result.get("subagent_trajectory_ref")),
                "extra": pretty(result["extra"]) if result.get("extra") else "",
                "error": _said_error(result.get("extra")),
            }
        else:
            yield {"for": "", "text": text_of(result), "refs": [], "extra": "", "error": ""}


def _images(step: Json) -> Iterator[Json]:
    """Where the images of a step's message and observation are."""
    observation = dict_of(step.get("observation"))
    contents = [step.get("message"), *(result.get("content") for result in dicts_of(observation.get("results")))]
    for content in contents:
        for part in dicts_of(content):
            if part.get("type") == "image":
                yield dict_of(part.get("source"))


def _flags(step: Json, results: list[Json]) -> Iterator[Json]:
    extra = dict_of(step.get("extra"))
    if extra.get("finish_reason") == "length":
        yield {"kind": "error", "text": "The answer was cut off at the output limit"}
    for said in [_said_error(extra), *(result["error"] for result in results)]:
        if said:
            yield {"kind": "error", "text": said}
    for result in results:
        for beginning, kind, text in _SAYINGS:
            if beginning in result["text"][:400]:
                yield {"kind": kind, "text": text}


def _said_error(extra: Any) -> str:
    """What an ``extra`` of any agent says about a failure, in the common ways to say it."""
    for key, value in dict_of(extra).items():
        name = key.lower()
        if name in {"exit_code", "exit_status", "return_code", "returncode"}:
            if isinstance(value, int) and value:
                return f"Exit status {value}"
        elif value and (name in {"error", "exception"} or name.endswith("is_error")):
            return f"Error: {value[:200]}" if isinstance(value, str) else "Error"
    return ""
