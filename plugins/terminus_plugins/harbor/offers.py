"""What a trial offers the agent beside the task: MCP servers and skills, as text for the first prompt."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harbor.models.task.config import MCPServerConfig

    from terminus_core import Environment

FIND_SEC = 30.0
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)


def mcp_text(servers: Sequence[MCPServerConfig]) -> str:
    """The servers, one a line; ``""`` if there are none."""
    if not servers:
        return ""
    lines = ["MCP servers that you may use for this task:"]
    for server in servers:
        if server.transport == "stdio":
            lines.append(f"- {server.name} (stdio): {shlex.join([server.command or '', *server.args])}")
        else:
            lines.append(f"- {server.name} ({server.transport}): {server.url}")
    return "\n".join(lines)


async def skills_text(place: Environment, folder: str | None) -> str:
    """The skills in a folder of the environment, by their own descriptions; ``""`` if there are none.

    Raises:
        TimeoutError, EnvironmentFailedError: the environment does not answer.
    """
    if not folder:
        return ""
    # Each file is told as a line with its path, then its text, then a line that no text of a skill holds.
    mark = "==== end of a skill ===="
    tell = f'sh -c \'for f; do echo "$f"; cat "$f"; echo; echo "{mark}"; done\' sh {{}} +'
    found = await place.exec(
        f"find {shlex.quote(folder)} -mindepth 2 -maxdepth 2 -name SKILL.md -type f -exec {tell}", timeout_sec=FIND_SEC
    )
    skills = []
    for part in sorted(found.stdout.replace("\r\n", "\n").split(f"\n{mark}\n")):
        path, _, text = part.strip("\n").partition("\n")
        described = _described(text)
        if described is not None:
            skills.append(_element("skill", {**described, "location": path}))
    return "\n".join(["<available_skills>", *skills, "</available_skills>"]) if skills else ""


def _described(text: str) -> dict[str, str] | None:
    """Name and description in the front matter of a skill."""
    match = _FRONT_MATTER.match(text)
    try:
        front = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError:
        return None
    if not isinstance(front, dict) or not {"name", "description"} <= front.keys():
        return None
    return {name: str(front[name]) for name in ("name", "description")}


def _element(name: str, values: dict[str, str]) -> str:
    lines = [f"    <{key}>{escape(value)}</{key}>" for key, value in values.items()]
    return "\n".join([f"  <{name}>", *lines, f"  </{name}>"])
