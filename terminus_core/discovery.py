"""Where plugins are found: installed distributions, modules by name, files."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from terminus_core.errors import ConfigError, PluginError
from terminus_core.hookspecs import PROJECT


def installed() -> list[tuple[EntryPoint, str, str]]:
    """The plugins that are installed, by name, each with the name and the version of its distribution."""
    return _found(tuple((folder, _changed(folder)) for folder in sys.path))


@lru_cache(maxsize=1)  # reading what a hundred distributions say takes as long as all the rest of a start
def _found(_: tuple[tuple[str, int], ...]) -> list[tuple[EntryPoint, str, str]]:
    """As :func:`installed`, once for the folders of Python's path and the times of their last changes."""
    told: dict[Any, tuple[str, str]] = {None: ("", "")}
    points = sorted(importlib.metadata.entry_points(group=PROJECT), key=lambda point: point.name)
    for point in points:
        if point.dist is not None and point.dist not in told:
            told[point.dist] = point.dist.metadata["Name"], point.dist.metadata["Version"]
    return [(point, *told[point.dist]) for point in points]


def _changed(folder: str) -> int:
    """When a folder was last changed, in nanoseconds; 0 if it is not there."""
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 - "" is the working folder
    except OSError:
        return 0


def module_called(name: str) -> Any:
    """A module by name, or by file if the name ends in ``.py`` or has a slash.

    Raises:
        PluginError: there is no such file, or it is not Python.
        Exception: whatever the module raises when it is imported.
    """
    if not name.endswith(".py") and "/" not in name:
        return importlib.import_module(name)
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise PluginError(f"no file {name}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses and pickling look a class's module up
    spec.loader.exec_module(module)
    return module


def refuse_foreign_distribution() -> None:
    """Notice somebody else's distribution that installs over this package.

    Raises:
        ConfigError: a distribution named ``terminus-core`` is installed.
    """
    try:
        foreign = importlib.metadata.distribution("terminus-core")
    except importlib.metadata.PackageNotFoundError:
        return
    raise ConfigError(
        f"the distribution terminus-core {foreign.version} is somebody else's program and installs over this one: "
        "pip uninstall terminus-core, then pip install --force-reinstall terminus-agent"
    )
