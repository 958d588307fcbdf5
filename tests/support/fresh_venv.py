"""A fresh environment into which distributions are installed as people install them, without the network.

Their dependencies are those of the environment that the tests run in: a path file leads there.
"""

import os
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

from tests.support.uv import find_uv

SECONDS = 280


class FreshVenv:
    """An environment of its own in ``folder``."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self._uv = find_uv()
        self._run(self._uv, "venv", "--quiet", "--python", sys.executable, self.folder)
        (site,) = self.folder.glob("lib/python*/site-packages")
        (site / "dependencies.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        self.python = self.folder / "bin" / "python"

    def install(self, *sources):
        """Build and install distributions from their folders."""
        options = ("--quiet", "--no-deps", "--no-build-isolation", "--offline", "--no-config")
        self._run(self._uv, "pip", "install", *options, "--python", self.python, *sources)

    def run(self, *arguments, cwd, **env):
        """Run Python in it; gives what was printed."""
        return self._run(self.python, *arguments, cwd=cwd, **env)

    def pytest(self, folder, *arguments):
        """Run the tests of a distribution."""
        return self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, cwd=folder)

    def _run(self, *words, cwd=None, **env):
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "VIRTUAL_"))}
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**variables, "PYTHONDONTWRITEBYTECODE": "1", **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def undeclared(folder):
    """Third-party modules that the distribution in ``folder`` imports and does not name as a dependency."""
    project = (Path(folder) / "pyproject.toml").read_text()
    named = {re.split(r"[^A-Za-z0-9_.-]", text)[0].lower() for text in re.findall(r'"([A-Za-z][^"]*)"', project)}
    brought = set()
    for name in named - {"terminus-agent"}:
        try:
            top = distribution(name).read_text("top_level.txt") or name
        except ModuleNotFoundError:
            continue
        brought |= set(top.split())
    own = {path.stem for path in Path(folder).glob("*.py")} | {path.name for path in Path(folder).iterdir()}
    # What terminus-agent depends on and every plugin may use.
    brought |= {"terminus_core", "anyio", "click", "pydantic", "pytest"}
    used = set()
    for path in Path(folder).rglob("*.py"):
        used |= set(re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE))
    return used - brought - own - set(sys.stdlib_module_names)
