"""The page from a server: for those who know the address, on this machine, also while the run goes on."""

import http.client
import json
import logging
import os
import socket
import struct
import threading
import urllib.error
import urllib.request

import pytest

from terminus_core.errors import ConfigError
from terminus_plugins.commands.view import page as page_module
from terminus_plugins.commands.view import server as server_module
from terminus_plugins.commands.view.page import write_page
from terminus_plugins.commands.view.runs import find_runs
from terminus_plugins.commands.view.server import ReportServer

from .conftest import agent_step, prompt_step, trajectory


@pytest.fixture
def serve():
    servers = []

    def start(path):
        server = ReportServer(path)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def get(address, **headers):
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
        return answer.status, answer.headers, answer.read()


def refused(address, **headers):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address, **headers)
    with caught.value as answer:
        return answer.code, answer.read()


@pytest.fixture
def folder(save):
    return save("runs/one", trajectory([prompt_step(), agent_step(2, 3)], status="completed"), [[0.5, "o", "a"]])


def test_only_its_own_address_is_answered(serve, folder):
    server = serve(folder)
    assert server.server_address[0] == "127.0.0.1"
    status, headers, body = get(server.url)
    assert (status, b"<!DOCTYPE html>" in body) == (200, True)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    root = f"http://127.0.0.1:{server.server_port}"
    secret = server.secret
    for path in (
        "/",
        "/run.json",
        f"/{secret[:-1]}x/",
        f"/{secret}/../../../../etc/passwd",
        f"/{secret}/trajectory.json",
        f"/{secret}/%2e%2e/%2e%2e/etc/passwd",
        f"/{secret}/run?key=../../etc",
        f"/{secret}/cast?key={find_runs(folder)[0].key}&from=-1",
        f"/{secret}/run",
    ):
        code, told = refused(root + path)
        assert code == 404, path
        assert b"root:" not in told
        assert secret.encode() not in told


def test_another_name_for_the_machine_is_refused(serve, folder):
    """A page elsewhere whose name has been pointed at 127.0.0.1."""
    server = serve(folder)
    code, _ = refused(server.url, Host=f"evil.example:{server.server_port}")
    assert code == 421
    assert get(server.url.replace("127.0.0.1", "localhost"), Host=f"localhost:{server.server_port}")[0] == 200


def test_it_only_reads(serve, folder):
    server = serve(folder)
    for method in ("POST", "PUT", "DELETE"):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        connection.request(method, f"/{server.secret}/")
        assert connection.getresponse().status == 501
        connection.close()


def test_what_has_not_changed_is_not_sent_again(serve, folder):
    server = serve(folder)
    address = f"{server.url}run?key={find_runs(folder)[0].key}"
    _, headers, body = get(address)
    assert json.loads(body)["totals"]["episodes"] == 1
    code, _ = refused(address, **{"If-None-Match": headers["ETag"]})
    assert code == 304
    (folder / "trajectory.json").write_text(json.dumps(trajectory([prompt_step(), agent_step(2, 3), agent_step(3, 5)])))
    assert json.loads(get(address, **{"If-None-Match": headers["ETag"]})[2])["totals"]["episodes"] == 2


def test_a_recording_that_grows_is_sent_by_whole_lines(serve, folder):
    server = serve(folder)
    path = folder / "recording.cast"
    address = f"{server.url}cast?key={find_runs(folder)[0].key}"
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'[0.9, "o", "ha')
    assert get(address)[2] == whole
    with path.open("ab") as file:
        file.write(b'lf"]\n')
    assert get(f"{address}&from={len(whole)}")[2] == b'[0.9, "o", "half"]\n'
    assert get(f"{address}&from={len(whole) + 100000}")[2] == b""


def test_runs_that_begin_later_appear(serve, folder, save):
    server = serve(folder.parent)
    assert [run["name"] for run in json.loads(get(f"{server.url}runs")[2])] == ["one"]
    save("runs/two", trajectory([prompt_step()]))
    assert sorted(run["name"] for run in json.loads(get(f"{server.url}runs")[2])) == ["one", "two"]


def served_to_the_end(server):
    """Until each request so far has been dealt with."""
    get(server.url)  # accepted after those before
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(30)


def test_a_client_that_resets_its_connection_is_no_news(serve, folder, capsys, caplog):
    server = serve(folder)
    with socket.create_connection(server.server_address) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(b"GET /half")
    served_to_the_end(server)
    assert capsys.readouterr() == ("", "")
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


def test_a_fault_of_an_answer_is_one_line(serve, folder, capsys, caplog, monkeypatch):
    server = serve(folder)

    def fail(_):
        raise RuntimeError("all is lost")

    monkeypatch.setattr(server_module, "read_run", fail)
    with pytest.raises(http.client.RemoteDisconnected):
        get(f"{server.url}run?key={find_runs(folder)[0].key}")
    monkeypatch.undo()
    served_to_the_end(server)
    assert [record.message for record in caplog.records if record.levelno > logging.DEBUG] == [
        "A request failed: RuntimeError: all is lost"
    ]
    assert server.secret not in caplog.text + "".join(capsys.readouterr())


def test_nothing_to_serve_is_said_before(tmp_path):
    with pytest.raises(ConfigError, match="no run in"):
        ReportServer(tmp_path)


# -- in the browser ----------------------------------------------------------------------------------------------------


def begin_run(folder, **fields):
    record = {"session_id": "s", "pid": os.getpid(), "started_at": "2026-05-04T12:00:00+00:00", "status": "running"}
    (folder / "run.json").write_text(json.dumps(record | fields))


def test_a_run_that_goes_on_is_followed(page, serve, save):
    steps = [prompt_step(), agent_step(2, 3, text="text of two")]
    events = [[0.5, "m", "Episode 1: 1 commands"], [1.0, "o", "first screen\r\n"]]
    folder = save("run", trajectory(steps), events)
    begin_run(folder)
    page.open(serve(folder).url)
    assert page.texts(".badge") == ["running"]
    assert page.chosen == [2], "it opens at what happens now"
    page.until(lambda: "first screen" in page.text(".ap-term"))

    steps.append(agent_step(3, 6, text="text of three"))
    with (folder / "recording.cast").open("a") as file:
        file.write('[3.5, "m", "Episode 2: 1 commands"]\n[4.0, "o", "second screen\\r\\n"]\n')
    (folder / "trajectory.json").write_text(json.dumps(trajectory(steps)))
    page.until(lambda: len(page.all(".step")) == 3)
    page.until(lambda: page.chosen == [3])
    page.until(lambda: "second screen" in page.text(".ap-term"))

    page.choose(1)
    page.script("window.read = document.querySelector('.chosen .detail')")
    steps.append(agent_step(4, 9))
    (folder / "trajectory.json").write_text(json.dumps(trajectory(steps, status="error", reason="all is lost")))
    begin_run(folder, status="error", reason="all is lost", n_episodes=3)
    page.until(lambda: page.texts(".badge") == ["failed"])
    page.until(lambda: len(page.all(".step")) == 4)
    assert page.chosen == [1], "what is being read stays open"
    assert page.script("return document.querySelector('.chosen .detail') === window.read")
    assert "all is lost" in page.text(".failure")


def test_a_recording_too_large_for_a_file_is_shown_by_the_server(page, serve, save, tmp_path, monkeypatch):
    steps = [prompt_step(), agent_step(2, 3)]
    events = [[n / 10, "o", "x" * 1000 + "\r\n"] for n in range(100)]
    folder = save("run", trajectory(steps, status="completed"), events)
    monkeypatch.setattr(page_module, "MAX_BYTES", 50_000)
    said = write_page(find_runs(folder), tmp_path / "report.html", "run")
    assert said == ["run: its recording does not fit into one file; open it with --serve"]
    page.open((tmp_path / "report.html").as_uri())
    assert "terminus view --serve" in page.text(".note")
    page.open(serve(folder).url)
    page.until(lambda: "xxxx" in page.text(".ap-term"))


def test_a_run_too_large_for_a_file_is_named_in_the_table(page, save, tmp_path, monkeypatch):
    save("runs/small", trajectory([prompt_step()]))
    save("runs/large", trajectory([prompt_step(text="y" * 60_000)]))
    monkeypatch.setattr(page_module, "MAX_BYTES", 50_000)
    said = write_page(find_runs(tmp_path / "runs"), tmp_path / "report.html", "runs")
    assert said == ["large: its trajectory does not fit into one file; open it with --serve"]
    page.open((tmp_path / "report.html").as_uri())
    assert [each.is_enabled() for each in page.all("tbody input")].count(True) == 1
    assert "large (only with --serve)" in page.one("tbody").text
