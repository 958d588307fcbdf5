"""Where uv is: ``uv run`` says so in ``$UV``, else it is on the path."""

from __future__ import annotations

import os
import shutil

import pytest


def find_uv() -> str:
    """The path of uv; skips the test where there is none."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("needs uv, which installs into fresh environments")
    return uv
