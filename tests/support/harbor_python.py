"""The interpreter that Harbor's tests run in: Harbor wants a newer Python than the project."""

import os
import shutil
import subprocess

import pytest

from tests.support.places import REQUIRED

VARIABLE = "TERMINUS_HARBOR_PYTHON"
NEWER = ("python3.12", "python3.13", "python3.14")


def find() -> str:
    """An interpreter with Harbor, this project and its test tools; skips the test, saying why, where there is none.

    Where places are required, a machine that has a Python new enough has to have set it up.
    """
    python = os.environ.get(VARIABLE)
    if python:
        return python
    installed = [name for name in NEWER if shutil.which(name) and _works(name)]
    if not installed:
        pytest.skip("Harbor needs Python 3.12 or newer, and there is none here")
    why = f"{VARIABLE} is not set: {installed[0]} -m venv DIR; DIR/bin/pip install -e '.[harbor,litellm,dev]'"
    if REQUIRED:
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


def _works(name: str) -> bool:
    """A name on the path may be a shim with nothing behind it."""
    return subprocess.run([name, "--version"], capture_output=True, check=False).returncode == 0
