"""A whole run by the command line is the same everywhere: one word says where."""

import json

import pytest

from tests.support import exec_only
from tests.support.places import need
from tests.support.scripted_run import DONE, Program, typing

REPLIES = [
    typing("mkdir sub && cd sub\n", "printf 'one\\ntwo\\n' > file; wc -l file\n"),
    typing("cat <<'END' > script\n#!/bin/sh\necho \"a  b\"; exit 3\nEND\n", "sh script; echo status $?\n"),
    typing("cat\n", duration=0.5),
    typing("typed\n", "C-d", duration=0.5),
    typing("printf 'caf\\303\\251 ✓\\n'; seq 1 200 | tail -n 2; cat file script\n", done=True),
    DONE,
]
PLACES = ["ssh", "docker", "podman", "sandbox", "exec-only"]


def options(environment, **settings):
    """Of the command line."""
    words = [word for key, value in settings.items() for word in ("--set", f"environment.{environment}.{key}={value}")]
    return ["--environment", environment, *words]


@pytest.fixture
def place(request, tmp_path):
    """How a place is chosen on the command line."""
    if request.param == "ssh":
        return options("ssh", **request.getfixturevalue("server").settings())
    if request.param == "sandbox":
        need("bwrap", "bubblewrap")
        (tmp_path / "work").mkdir()
        return options("sandbox", folder=tmp_path / "work")
    if request.param == "exec-only":
        return ["-p", exec_only.__file__, *options("exec-only")]
    engine = request.getfixturevalue("use_engine")(request.getfixturevalue(request.param))
    settings = {"engine": engine.kind, "image": "localhost/base:1", "network": "none", "workdir": "/root"}
    return options("container", **settings)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """What the run leaves on this machine."""
    done = Program(tmp_path_factory.mktemp("local"))("--environment", "local", replies=REPLIES)
    assert done.code == 0, done.stderr
    return comparable(done.trajectory)


@pytest.mark.parametrize("place", PLACES, indirect=True)
def test_the_trajectory_is_the_same_everywhere(tmp_path, place, here):
    done = Program(tmp_path)(*place, replies=REPLIES)
    assert done.code == 0, done.stderr
    assert done.end == ("completed", "")
    assert comparable(done.trajectory) == here


def comparable(trajectory):
    """Without times, ids, what was set, and the prompt."""
    steps = [{key: value for key, value in step.items() if key != "timestamp"} for step in trajectory["steps"]]
    steps[0].pop("message")
    told = {key: value for key, value in trajectory.items() if key not in {"session_id", "trajectory_id"}}
    told["agent"] = {key: value for key, value in trajectory["agent"].items() if key != "extra"}
    return json.dumps(told | {"steps": steps}, indent=1).splitlines()


# -- what cannot be had: one line, exit code 4 -------------------------------------------------------------------------


def told(program, *words):
    done = program(*words, replies=REPLIES)
    assert done.code == 4, done.stderr
    return done.stderr.splitlines()[-1]


def test_ssh_refused(tmp_path):
    line = told(Program(tmp_path), *options("ssh", host="127.0.0.1", port=1, ssh_config="/dev/null"))
    assert "cannot connect to root@127.0.0.1:1: Connection refused" in line


def test_ssh_host_key_unknown(tmp_path, server):
    line = told(Program(tmp_path), *options("ssh", **server.settings(known_hosts=tmp_path / "none")))
    assert "If it is the right one: echo '[127.0.0.1]:" in line


@pytest.mark.parametrize("image", ["plain", "busybox"])
def test_an_image_without_tmux(tmp_path, docker, use_engine, image):
    use_engine(docker)
    line = told(Program(tmp_path), *options("container", engine="docker", image=f"localhost/{image}:1", network="none"))
    assert "tmux is not installed" in line


def test_no_such_image(tmp_path, docker, use_engine):
    use_engine(docker)
    line = told(Program(tmp_path), *options("container", engine="docker", image="localhost/none:1"))
    assert "cannot start a container from 'localhost/none:1'" in line


def test_a_sandbox_for_the_home_folder(tmp_path):
    need("bwrap", "bubblewrap")
    line = told(Program(tmp_path), *options("sandbox", folder="/"))
    assert "'/' is no folder to be written by a sandbox" in line


# -- images as they are ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"env": '{"LC_ALL": "C"}'}, id="C locale"),
        pytest.param({"user": "12345", "workdir": "/tmp"}, id="user without a home"),
        pytest.param({"read_only": "true", "workdir": "/tmp"}, id="read-only root"),
        pytest.param({"env": '{"HTTP_PROXY": "http://127.0.0.1:9"}'}, id="proxy"),
        pytest.param({"user": "nobody", "workdir": "/tmp"}, id="another user"),
    ],
)
def test_a_run_in_a_container_as_it_is(tmp_path, docker, use_engine, settings, here):
    use_engine(docker)
    settings = {"engine": "docker", "image": "localhost/base:1", "network": "none", "workdir": "/root", **settings}
    done = Program(tmp_path)(*options("container", **settings), replies=REPLIES)
    assert done.code == 0, done.stderr
    assert comparable(done.trajectory) == here
