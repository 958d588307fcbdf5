"""The examples are whole distributions: each is installed into a fresh environment, and its tests pass there."""

import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.support.fresh_venv import FreshVenv, undeclared
from tests.support.places import need

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
NAMES = ["terminus-echo", "terminus-asyncssh", "terminus-ghost"]


@pytest.fixture(scope="session")
def venv(tmp_path_factory):
    venv = FreshVenv(tmp_path_factory.mktemp("examples") / "venv")
    venv.install(*[EXAMPLES / name for name in NAMES])
    return venv


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.timeout(300)
def test_its_tests_pass(venv, name):
    if name == "terminus-asyncssh":
        need("sshd", "openssh-server")
    told = venv.pytest(EXAMPLES / name, "-k", "not trio or first_look or newline or listener")
    assert " passed" in told
    assert "failed" not in told


@pytest.mark.parametrize("name", NAMES)
def test_it_is_found_by_its_entry_point(venv, name):
    told = venv.run("-m", "terminus_core", "plugins", cwd=EXAMPLES)
    part = name.removeprefix("terminus-")
    (line,) = [line for line in told.splitlines() if line.startswith(f"{part} ")]
    assert f"{name}  " in line
    assert line.endswith("loaded")
    assert part not in {point.name for point in entry_points(group="terminus_core")}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_complete(name):
    folder = EXAMPLES / name
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    readme = (folder / "README.md").read_text()
    assert readme.startswith(f"# {name}\n")
    assert "Licence: Apache-2.0." in readme
    assert undeclared(folder) == set()
