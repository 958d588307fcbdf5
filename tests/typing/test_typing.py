"""The package is typed for authors, by the judgement of mypy and of pyright."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import terminus_core
from terminus_core import testing

EXAMPLES = Path(__file__).parent / "examples"
SECONDS = 110


def run(*words, cwd):
    # pyright takes the packages of the first python on PATH.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        words, cwd=cwd, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def mypy(cwd):
    """Names of files, and numbers of the lines in them, that mypy reports."""
    options = ("--strict", "--no-incremental", "--config-file=", "--output=json")
    done = run(sys.executable, "-m", "mypy", *options, "right.py", "wrong.py", cwd=cwd)
    found = [json.loads(line) for line in done.stdout.splitlines() if line]
    return {(each["file"], each["line"]) for each in found if each["severity"] == "error"}


def pyright(cwd):
    """The same of pyright in its own strict mode."""
    (cwd / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    done = run(sys.executable, "-m", "basedpyright", "--outputjson", cwd=cwd)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found if each["severity"] == "error"
    }


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_each_mistake_is_reported_and_nothing_else(checker, tmp_path):
    for name in ("right.py", "wrong.py"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text())
    lines = enumerate((EXAMPLES / "wrong.py").read_text().splitlines(), start=1)
    wrong = {("wrong.py", number) for number, line in lines if "# wrong" in line}
    assert len(wrong) == 10
    assert checker(tmp_path) == wrong


def test_every_public_name_is_completely_typed(tmp_path):
    assert (Path(terminus_core.__file__).parent / "py.typed").is_file()
    words = ("-m", "basedpyright", "--verifytypes", "terminus_core", "--ignoreexternal", "--outputjson")
    found = json.loads(run(sys.executable, *words, cwd=tmp_path).stdout)["typeCompleteness"]["symbols"]
    known = {each["name"]: each["isTypeKnown"] for each in found}
    public = [f"terminus_core.{name}" for name in terminus_core.__all__]
    public += [f"terminus_core.testing.{name}" for name in testing.__all__]
    public += [name for name in known if name.startswith("terminus_core.hookspecs.terminus_")]
    assert len(public) > 80
    assert [name for name in public if not known[name]] == []
