"""What the site makes anew at each build: settings, options and parts, from the code itself.

mkdocs loads this file (``hooks`` in ``.mkdocs.yml``). A page asks for a piece with ``<!-- generated: WORDS -->``.
"""
# ruff: noqa: INP001 - no package: mkdocs loads it by its path

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from terminus_core.cli.commands import terminus
from terminus_core.hook_rules import OBSERVABLE, read_hookimpls
from terminus_core.manager import PluginManager
from terminus_core.roles import ROLES
from terminus_core.settings import AgentSettings, TrajectorySettings

if TYPE_CHECKING:
    from pydantic import BaseModel

_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):(?=<code>)")
_WANTED = re.compile(r"^<!-- generated: (.+?) -->$", re.MULTILINE)


# -- what mkdocs calls -------------------------------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    """Put the pages of a folder in the place of its name in the navigation."""
    config.nav = _expanded(config.nav, Path(config.docs_dir))
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put each generated piece in its place."""
    return fill(markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name things as ``:class:`X```; a page shows the name."""
    return _ROLE.sub("", html)


def fill(markdown: str) -> str:
    """``markdown`` with its generated pieces.

    Raises:
        LookupError: a piece is not known.
    """
    return _WANTED.sub(lambda found: _piece(*found[1].split()), markdown)


def _piece(name: str, *words: str) -> str:
    return PIECES[name](*words)


def _expanded(entry: Any, docs: Path) -> Any:
    if isinstance(entry, str):
        return _pages(docs, entry) if entry.endswith("/") else entry
    if isinstance(entry, dict):
        return {title: found for title, each in entry.items() if (found := _expanded(each, docs))}
    pages: list[Any] = []
    for each in entry:
        inner = _expanded(each, docs)
        pages += inner if isinstance(inner, list) else [inner] if inner else []
    return pages


def _pages(docs: Path, folder: str) -> list[str]:
    """The folder's index first, then by name."""
    found = sorted((docs / folder).rglob("*.md"), key=lambda page: (page.parent, page.stem != "index", page.stem))
    return [str(page.relative_to(docs)) for page in found]


# -- settings ----------------------------------------------------------------------------------------------------------


@cache
def _manager() -> PluginManager:
    return PluginManager()


def settings_tables() -> str:
    """Every setting there is, table by table."""
    tables = [_settings("agent", AgentSettings), _settings("trajectory", TrajectorySettings)]
    bare = []
    for role in ROLES:
        for name, part in sorted(_manager().parts(role).items()):
            config: type[BaseModel] | None = getattr(part, "Config", None)
            if config is None:
                bare.append(f"`{role}.{name}`")
            else:
                tables.append(_settings(f"{role}.{name}", config))
    return "\n\n".join([*tables, f"Parts without settings: {', '.join(bare)}."])


def _settings(table: str, model: type[BaseModel]) -> str:
    schemas = model.model_json_schema()["properties"]
    rows = []
    for name, field in model.model_fields.items():
        default = "required" if field.is_required() else _value(field.get_default(call_default_factory=True))
        rows.append((_code(name), type_in_words(schemas[name]), default, field.description or ""))
    return f"### `[{table}]`\n\n{_table(('key', 'type', 'default', 'meaning'), rows)}"


def _value(value: Any) -> str:
    return "unset" if value is None else _code(json.dumps(value, default=str, ensure_ascii=False))


def type_in_words(schema: dict[str, Any]) -> str:
    """What a value may be, from its JSON schema."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_in_words(each) for each in schema["anyOf"] if each.get("type") != "null"))
    if "enum" in schema or "const" in schema:
        return " or ".join(_code(json.dumps(each)) for each in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "array":
        each = type_in_words(schema.get("items", {}))
        return f"list of {each}s" if each.isalpha() else f"list of: {each}"
    words = {"integer": "integer", "number": "number", "boolean": "boolean", "object": "table", "string": "text"}
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {schema[name]:,g}" for name, sign in signs.items() if name in schema]
    word = "path" if schema.get("format") == "path" else words.get(str(kind), "value")
    return " ".join([word, ", ".join(limits)]).strip()


# -- parts and hooks ---------------------------------------------------------------------------------------------------


def parts_table() -> str:
    """Every part in the box, role by role, with the first line of its docstring."""
    rows = []
    defaults = AgentSettings()
    for role in ROLES:
        chosen = getattr(defaults, role, None)  # of roles of which there is one
        for name, part in sorted(_manager().parts(role).items()):
            is_default = name == chosen or (role == "observer" and name in defaults.observers)
            first = (inspect.getdoc(part) or "").partition("\n")[0]
            rows.append((role, f"`{name}`" + (" (default)" if is_default else ""), first))
    return _table(("role", "name", "what it does"), rows)


def implementers(hook: str) -> list[str]:
    """The plugins in the box, and their parts, that implement a hook."""
    manager = _manager()
    found = [info.name for info in manager.infos if hook in info.hooks]
    for role in ROLES:
        for name, part in manager.parts(role).items():
            if any(impl.hook == hook for impl in read_hookimpls(part, name, OBSERVABLE)):
                found.append(name)
    return sorted(set(found))


def _used_by(hook: str) -> str:
    return f"In the box it is used by {', '.join(map(_code, implementers(hook)))}."


# -- the command line --------------------------------------------------------------------------------------------------


def options_table(*path: str) -> str:
    """The options of a command; ``only`` before its name leaves out those that ``run`` has too."""
    words = list(path)
    shared: set[str] = set()
    if words[0] == "only":
        words.pop(0)
        shared = {parameter.opts[-1] for parameter in _command(["run"]).params}
    options = [each for each in _command(words).params if isinstance(each, click.Option)]
    rows = [
        (", ".join(map(_code, option.opts)), _code(option.metavar) if option.metavar else "", option.help or "")
        for option in options
        if option.opts[-1] not in shared
    ]
    return _table(("option", "", "what it does"), rows)


def _command(path: Iterable[str]) -> click.Command:
    command: click.Command = terminus
    for name in path:
        command = command.get_command(click.Context(command), name)  # type: ignore[attr-defined,assignment]
    return command


def _code(text: str) -> str:
    return f"`{text}`"


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(headings), *[[_cell(text) for text in row] for row in rows]]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    """A docstring's or a description's text as Markdown."""
    text = _REFERENCE.sub(r"`\1`", text).replace("``", "`").replace("|", "\\|")
    return "`".join(part if i % 2 else part.replace("<", "&lt;") for i, part in enumerate(text.split("`")))


_REFERENCE = re.compile(r":\w+:`~?([\w.]+)`")

PIECES: dict[str, Callable[..., str]] = {
    "settings": settings_tables,
    "parts": parts_table,
    "used-by": _used_by,
    "options": options_table,
}
"""What a page can ask for."""
