"""The commands of the pages, as a person types them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.markdown_blocks import blocks
from tests.support.places import need
from tests.support.scripted_run import DONE, Program, typing

DOCS = Path(__file__).parents[3] / "docs" / "places"


@pytest.fixture
def person(tmp_path):
    """Types a command of a page in a folder of their own; the model is scripted."""
    program = Program(tmp_path)
    (tmp_path / "replies.jsonl").touch()
    program.arguments(replies=[typing("echo here\n"), typing(done=True), DONE])
    (tmp_path / "project").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "terminus").symlink_to(Path(sys.executable).with_name("terminus"))

    def types(command):
        env = program.variables | {
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
            "TERMINUS_AGENT__LLM": "scripted",
            "TERMINUS_AGENT__LOGS_DIR": str(program.logs),
            "TERMINUS_LLM__SCRIPTED__REPLIES": str(tmp_path / "replies.jsonl"),
        }
        done = subprocess.run(
            command, shell=True, cwd=tmp_path / "project", env=env, capture_output=True, text=True, check=False
        )
        shutil.rmtree(program.logs, ignore_errors=True)
        return done

    return types


def commands(page):
    return [block.text for block in blocks(DOCS / page) if block.what == "tests of places"]


def test_ssh(person, server, tmp_path):
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "config").write_text(
        f"Host box\n  HostName 127.0.0.1\n  Port {server.port}\n  User {server.user}\n"
        f"  IdentityFile {server.key}\n  UserKnownHostsFile {server.known_hosts}\n"
    )
    (command,) = commands("ssh.md")
    done = person(command)
    assert done.returncode == 0, done.stderr


def test_container(person, docker, use_engine, roots):
    use_engine(docker)
    docker.add_image("debian:bookworm", roots / "base")
    docker.run("run", "-d", "--name", "web", "--network", "none", "debian:bookworm", "sleep", "1000")
    try:
        start, join = commands("container.md")
        assert person(join).returncode == 0
        # The tests' docker has no network to give to a new container.
        done = person(f"{start.strip()} --set environment.container.network=none")
        assert done.returncode == 0, done.stderr
    finally:
        docker.run("rm", "-f", "web")
    assert docker.containers() == []


def test_sandbox(person):
    need("bwrap", "bubblewrap")
    (command,) = commands("sandbox.md")
    done = person(command)
    assert done.returncode == 0, done.stderr
