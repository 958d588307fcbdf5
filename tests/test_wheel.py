"""The built wheel holds all that the program needs: installed without a checkout, every command works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fresh_venv import FreshVenv

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_a_wheel_is_enough(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, timeout=120, check=True)
    (wheel,) = tmp_path.glob("terminus_agent-*.whl")
    venv = FreshVenv(tmp_path / "venv")
    venv.install(wheel)
    home = tmp_path / "home"
    home.mkdir()

    def terminus(*words):
        start = "import sys; from terminus_core.__main__ import main; sys.exit(main())"
        return venv.run("-c", start, *words, cwd=home, HOME=str(home))

    where = venv.run("-c", "import terminus_core, terminus_plugins; print(terminus_core.__file__)", cwd=home)
    assert str(tmp_path) in where
    listed = terminus("--help")
    for command in ("cast", "completion", "config", "demo", "help", "hooks", "keys", "new-plugin", "plugins", "runs"):
        assert f"\n  {command} " in listed
    assert json.loads(terminus("demo", "--json").splitlines()[-1])["status"] == "completed"
    assert Path(terminus("view").strip()).is_file()
    assert terminus("new-plugin", "terminus-shout", "--role", "observer")
    assert json.loads(terminus("plugins", "--json"))
