"""Arrows point one way, and heavy things are loaded when they are used."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import terminus_core.cli
import terminus_plugins

CORE = Path(terminus_core.__file__).parent
LOWER = {
    "errors": set(),
    "chat": {"errors"},
    "values": {"errors", "chat"},
    "roles": {"errors", "chat", "trajectory", "values", "texts", "secrets"},
    "settings": {"errors", "secrets"},
    "run": {"agent", "manager", "parts", "cli", "testing"},
    "manager": {"agent", "cli", "testing"},
    "agent": {"cli", "testing"},
}
"""Of the lowest modules, all that they may import; of the others (`run` and above), what they may not."""
LOW = ["errors", "chat", "values", "roles", "settings"]


def imports(path):
    """Modules that a file imports when it runs; type-only imports are exempt."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(module):
    names = {name for name in imports(CORE / f"{module}.py") if name and name.startswith("terminus_core.")}
    return {name.split(".")[1] for name in names} & {path.stem for path in CORE.iterdir()}


MODULES = sorted({path.stem for path in CORE.glob("*.py")} - {"__init__", "__main__"})


def test_no_modules_of_the_core_import_each_other_in_a_circle():
    TopologicalSorter({module: own_imports(module) for module in MODULES}).prepare()


def test_arrows_point_downwards():
    for module, listed in LOWER.items():
        if (CORE / f"{module}.py").exists():
            found = own_imports(module)
            wrong = found - listed if module in LOW else found & listed
            assert not wrong, f"{module} imports {wrong}"
    for module in MODULES:
        assert not own_imports(module) & {"cli", "testing"}, module


def test_the_core_knows_no_plugin():
    for path in CORE.rglob("*.py"):
        assert not [name for name in imports(path) if name.startswith("terminus_plugins")], path


def test_only_the_hooks_call_pluggy():
    users = {path.name for path in CORE.glob("*.py") if "pluggy" in set(imports(path))}
    assert users == {"hookspecs.py", "hooks.py"}


def test_plugins_import_public_names_only():
    for path in Path(terminus_plugins.__path__[0]).rglob("*.py"):
        for name in imports(path):
            if name.startswith("terminus_core."):
                _, home, *rest = name.split(".")
                if home == "cli" and "commands" in path.parts:
                    assert not rest or (len(rest) == 1 and rest[0] in terminus_core.cli.__all__), f"{path}: {name}"
                else:
                    assert not rest, f"{path} imports {name}"
                    assert home in [*terminus_core.__all__, "trajectory"], f"{path} imports {name}"


def test_finding_plugins_loads_no_heavy_library():
    code = (
        "import sys; from terminus_core import PluginManager; PluginManager();"
        "print(*{'litellm', 'paramiko', 'rich', 'click', 'openai', 'tenacity'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_public_names_are_there():
    for name in terminus_core.__all__:
        assert getattr(terminus_core, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = terminus_core.Nothing
