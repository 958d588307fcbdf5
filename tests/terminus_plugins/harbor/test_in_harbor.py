"""The agent in Harbor: the tests in ``inside`` run in an interpreter that has Harbor."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support import harbor_python
from tests.support.places import need

INSIDE = Path(__file__).parent / "inside"
ROOT = INSIDE.parents[3]


@pytest.mark.skipif(find_spec("harbor") is not None, reason="this interpreter has Harbor and runs them itself")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(path.name for path in INSIDE.glob("test_*.py")))
def test_inside(name):
    need("bwrap", "bubblewrap")
    # The libraries that Harbor stands on warn of one another: none of that is ours to mend.
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", "-o", "timeout=300", "-n", "0", "-m", ""]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "VIRTUAL_", "PYTHON"))}
    done = subprocess.run(
        [harbor_python.find(), *words, INSIDE / name],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.skipif(find_spec("harbor") is not None, reason="this interpreter has Harbor")
def test_without_harbor_the_import_names_the_cure():
    with pytest.raises(ImportError, match=r"pip install 'terminus-agent\[harbor\]' \(Python 3\.12 or newer\)"):
        __import__("terminus_plugins.harbor")
