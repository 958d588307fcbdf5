"""``terminus new-plugin``: a distribution with one part, its tests, and nothing to fill in before they pass."""

from __future__ import annotations

import keyword
import re
import shlex
import sys
from collections.abc import Collection
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from terminus_core.cli.printing import Lines, literal
from terminus_core.errors import ConfigError
from terminus_core.manager import PluginManager
from terminus_core.roles import ROLES
from terminus_core.settings import nearest

COMMAND = "command"
"""What ``--role`` takes beside the roles of the core."""
_OURS = frozenset({"terminus-agent", "terminus-core", "terminus-plugins"})
"""Names that would hide this distribution or its packages."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def new_plugin(name: str, role: str, folder: Path, commands: Collection[str]) -> None:
    """Write the distribution ``name`` into ``folder / name``, and print how to go on.

    Args:
        name: of the distribution: words in small letters, with hyphens between them.
        role: what the part is: a role of the core, or ``command``.
        folder: where the new folder is made.
        commands: the names of the commands that exist.

    Raises:
        ConfigError: the name or the role cannot be used, or the folder cannot be made.
    """
    module = name.replace("-", "_")
    part = module.removeprefix("terminus_")
    _check(name, role, part, commands)
    target = folder / name
    made = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"{module}.py": f"{role}.py",
        "tests/conftest.py": "conftest.py",
        f"tests/test_{part}.py": f"{role}_tests.py",
    }
    is_command = role == COMMAND
    words = {
        "MyPart": "".join(word.capitalize() for word in part.split("_")),
        "my_group": "terminus_core.commands" if is_command else "terminus_core",
        "my_target": f"{module}:{part}" if is_command else module,
        "my_usage": f"terminus {part} --help" if is_command else f'terminus run --{role} {part} "…"',
        "my_part": part,
        "my_module": module,
        "my_role": role,
        "my-distribution": name,
    }
    try:
        target.mkdir(parents=True)
        (target / "tests").mkdir()
        for file, skeleton in made.items():
            (target / file).write_text(_filled(skeleton, words), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot make {target}: {error.strerror or error}") from None
    lines = Lines(sys.stdout)
    for file in made:
        lines.write(literal(f"{target / file}"))
    python = shlex.quote(sys.executable)
    # This interpreter has terminus-agent, so nothing has to find it on a package index.
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    lines.write(literal(f"Next: cd {shlex.quote(str(target))} && {pip} -e '.[test]' && {python} -m pytest"))


def _check(name: str, role: str, part: str, commands: Collection[str]) -> None:
    module = name.replace("-", "_")
    taken = keyword.iskeyword(module) or module in sys.stdlib_module_names or name in _OURS
    if taken or not _NAME.fullmatch(name) or not part.isidentifier():
        raise ConfigError(f"{name!r} is not a name for a distribution; expected one such as terminus-shout")
    if role not in (*ROLES, COMMAND):
        raise ConfigError(f"unknown role {role!r}; {nearest(role, [*ROLES, COMMAND])}")
    if part in (commands if role == COMMAND else PluginManager().parts(role)):
        raise ConfigError(f"there is a {role} {part!r} already: choose another name than {name!r}")


def _filled(skeleton: str, words: dict[str, str]) -> str:
    text = (files("terminus_core.cli") / "skeletons" / f"{skeleton}.txt").read_text(encoding="utf-8")
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text
