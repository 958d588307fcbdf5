"""Every part in the box passes the suite of its role."""

import re
from pathlib import Path

import pytest

from terminus_core import PluginManager
from terminus_core.roles import ROLES

MANAGER = PluginManager()
OURS = [
    (role, name, part)
    for role in ROLES
    for name, part in MANAGER.parts(role).items()
    if part.__module__.startswith("terminus_plugins.")
]
SUITES = "\n".join(
    path.read_text() for path in Path(__file__).parent.rglob("test_*.py") if "Tests)" in path.read_text()
)


@pytest.mark.parametrize("part", [part for _, _, part in OURS], ids=[f"{role} {name}" for role, name, _ in OURS])
def test_it_has_a_suite(part):
    assert re.search(rf"{part.__name__}\b", SUITES)
