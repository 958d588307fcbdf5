"""The distribution terminus-kira: installed from its folder, it does all that it promises, and touches no core."""

import ast
import base64
import importlib
import json
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

import terminus_core
from tests.support.provider_server import ProviderServer, answer
from tests.support.scripted_run import Program, call, running_here
from tests.support.uv import find_uv

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "terminus-kira"
SOURCES = sorted((FOLDER / "terminus_kira").glob("*.py"))
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Built and installed as ``pip install .`` does it, into a folder of the test's own."""
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(FOLDER, source)
    command = [
        find_uv(),
        "pip",
        "install",
        "--offline",
        "--no-deps",
        "--python",
        sys.executable,
        "--target",
        str(site),
        str(source),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    monkeypatch.syspath_prepend(str(site))
    yield site
    for name in [name for name in sys.modules if name.partition(".")[0] == "terminus_kira"]:
        del sys.modules[name]


@pytest.fixture
def here(monkeypatch, capsys):
    with running_here(monkeypatch, capsys) as run:
        yield run


def calling(*calls):
    return answer("", tool_calls=list(calls), finish_reason="tool_calls")


def commands(number, *keystrokes, duration):
    typed = [{"keystrokes": each, "duration": duration} for each in keystrokes]
    return call("execute_commands", number, analysis="seen", plan="go", commands=typed)


def marks(request):
    """How many pieces of a request are marked for caching."""
    return request.body.decode().count('"ephemeral"')


def test_every_feature_in_one_run(installed, tmp_path, here):
    program = Program(tmp_path / "work")
    program.folder.mkdir()
    picture = program.folder / "chart.png"
    picture.write_bytes(PIXEL)
    turns = [
        calling(commands(1, "sleep 0.3\n", "echo chart > kind.txt\n", duration=50)),
        calling(call("image_read", 2, file_path=str(picture), image_read_instruction="Which color?")),
        answer("It is one red pixel."),
        calling(commands(3, "echo red > color.txt\n", duration=50)),
        calling(call("task_complete", 4)),
        calling(commands(5, "cat color.txt\n", duration=50), call("task_complete", 6)),
    ]
    with ProviderServer(turns) as server:
        options = (
            "--config",
            str(FOLDER / "kira.toml"),
            "-m",
            "anthropic/claude-sonnet-4-5",
            "--api-base",
            server.root_url,
        )
        done = here(program, *options, task="Name the color of chart.png in color.txt.")
    assert (done.code, done.end) == (0, ("completed", "")), done.stderr
    assert (program.folder / "color.txt").read_text() == "red\n"

    # Native tools, recorded with the model's own ids and names.
    first = server.requests[0].json
    assert [tool["name"] for tool in first["tools"]] == ["execute_commands", "task_complete", "image_read"]
    recorded = [[each["tool_call_id"] for each in turn["tool_calls"]] for turn in done.turns]
    assert recorded == [
        ["id-execute_commands-1"],
        ["id-image_read-2"],
        ["id-execute_commands-3"],
        ["id-task_complete-4"],
        ["id-execute_commands-5", "id-task_complete-6"],
    ]
    assert done.turns[0]["message"] == "Analysis: seen\nPlan: go"
    # The image was sent once, beside the chat; what was seen came back as text.
    with_image = [
        index for index, each in enumerate(server.requests) if base64.b64encode(PIXEL).decode() in each.body.decode()
    ]
    assert with_image == [2]
    assert f"image_read: {picture}:\nIt is one red pixel." in done.observations[1]
    (aside,) = done.folder.glob("trajectory.image-*.json")
    part = json.loads(aside.read_text())["steps"][0]["message"][1]
    assert (done.folder / part["source"]["path"]).read_bytes() == PIXEL
    # The checklist, with the task.
    assert "A reviewer: is nothing hard-coded" in done.observations[3]
    assert "<task>\nName the color of chart.png in color.txt.\n</task>" in done.observations[3]
    # Caching: one message, then three.
    assert [marks(each) for each in server.requests] == [1, 2, 1, 3, 3, 3]
    # Waiting ended early: each command asked for 50 seconds.
    times = [datetime.fromisoformat(step["timestamp"]) for step in done.steps]
    for turn in (1, 3, 5):
        assert (times[turn] - times[turn - 1]).total_seconds() < 45


def test_a_model_without_vision_and_answers_that_cannot_be_read(installed):
    parser = importlib.import_module("terminus_kira").KiraParser()

    def parse(*calls, **more):
        return parser.parse_response(terminus_core.LLMResponse(tool_calls=list(calls) or None, **more))

    assert "no tool call" in parse().error
    assert "cut off" in parse(commands(1, "ls\n", duration=1), finish_reason="length").error
    for bad in (
        call("image_read", file_path="/x.png", image_read_instruction="?"),
        call("bash", command="ls"),
        call("execute_commands"),
        {"id": "x", "function": {"name": "execute_commands", "arguments": '{"commands": ['}},
    ):
        reply = parse(commands(1, "touch x\n", duration=1), bad)
        assert reply.error.startswith("A tool call cannot be read")
        assert reply.commands == []


def test_it_uses_public_names_only():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert not module.startswith("terminus_plugins"), path
                assert module.partition(".")[0] != "terminus_core" or module == "terminus_core", path
            if isinstance(node, ast.ImportFrom) and node.module == "terminus_core":
                assert {alias.name for alias in node.names} <= set(terminus_core.__all__), path


def test_nothing_of_the_core_is_copied_or_patched():
    core = Path(terminus_core.__file__).parent
    theirs = {ast.dump(node) for path in core.rglob("*.py") for node in functions(path)}
    for path in SOURCES:
        assert not [node.name for node in functions(path) if ast.dump(node) in theirs], path
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom | ast.Import)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                assert ast.unparse(node.value) not in imported, path
            assert not (isinstance(node, ast.Call) and ast.unparse(node.func) in {"setattr", "patch"}), path


def functions(path):
    return [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
