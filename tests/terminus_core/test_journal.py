"""The journal holds what must not be lost, before anything else is done with it."""

import json

import pytest

from terminus_core import LLMResponse, Usage
from terminus_core.testing import FakeLLM, FakeSession

from .conftest import LineParser

pytestmark = pytest.mark.anyio


def lines_of(folder):
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


async def test_a_whole_run(trial):
    t = trial(["$ ls\n$ pwd", "DONE", "DONE"])
    result = await t.run("look around")
    lines = lines_of(result.logs_dir)
    assert [line["kind"] for line in lines] == ["begin", "response", "typing", "typing", "response", "response", "end"]
    assert lines[0] | {"format": 1, "instruction": "look around", "session_id": result.session_id} == lines[0]
    assert [(line["episode"], line["index"], line["keystrokes"]) for line in lines[2:4]] == [
        (1, 0, "ls\n"),
        (1, 1, "pwd\n"),
    ]
    assert (lines[-1]["status"], lines[-1]["error_kind"]) == ("completed", "")
    assert (result.logs_dir / "journal.jsonl").stat().st_mode & 0o777 == 0o600


async def test_a_response_is_on_disk_before_it_is_parsed(trial):
    class Broken(LineParser):
        def parse_response(self, response):
            raise ZeroDivisionError

    paid = LLMResponse("what was paid for \ud83d", usage=Usage(10, 5, cost_usd=float("nan")), extra={"odd": object()})
    t = trial([], llm=FakeLLM([paid]), parser=Broken())
    with pytest.raises(ZeroDivisionError):
        await t.run()
    (response,) = [line for line in lines_of(t.agent.last_result.logs_dir) if line["kind"] == "response"]
    assert response["content"] == "what was paid for \ufffd"
    assert response["usage"]["prompt_tokens"] == 10


async def test_keystrokes_are_on_disk_before_they_are_typed(trial, tmp_path):
    seen = []

    def on_keys(keystrokes):
        seen.append([line["keystrokes"] for line in lines_of(t.agent.current_run.logs_dir) if line["kind"] == "typing"])

    t = trial(["$ one\n$ two", "DONE", "DONE"], session=FakeSession(["$ "], on_keys))
    await t.run()
    assert seen == [["one\n"], ["one\n", "two\n"]]


async def test_a_link_of_its_name_is_not_followed(trial, tmp_path, caplog):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "prepared"
    folder.mkdir()
    (folder / "journal.jsonl").symlink_to(victim)
    result = await trial(["DONE", "DONE"], logs_dir=folder).run()
    assert victim.read_text() == "precious"
    assert str(folder / "journal.jsonl") in result.incomplete
    assert len([record for record in caplog.records if "no longer complete" in record.message]) == 1
