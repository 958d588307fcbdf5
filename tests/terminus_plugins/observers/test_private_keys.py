"""Private keys that come whole, in part, and row by row; what only looks like one goes on being shown."""

import pytest

from terminus_core import Agent
from terminus_core.testing import EventRecorder, FakeBackend, FakeEnvironment, FakeLLM, FakeSession
from terminus_plugins.observers.redact.observer import Redact
from terminus_plugins.observers.redact.patterns import Masker
from terminus_plugins.observers.redact.pem import LONGEST, key_spans
from terminus_plugins.observers.redact.stream import Stream
from tests.support.scripted_run import DONE, typing

BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
ROWS = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{number:02d}AAAA" for number in range(6)]
KEY = "\n".join([BEGIN, "Proc-Type: 4,ENCRYPTED", "", *ROWS, "short==", END])


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"$ cat k\n{KEY}\n$ ", "$ cat k\n***\n$ "),
        (f"{BEGIN}\nMIIEow\nabc and more\n{END} x", "*** x"),
        ("\n".join(["$ tail k", *ROWS, "short==", END, "$ "]), "$ tail k\n***\n$ "),
        ("\n".join(["$ head k", BEGIN, *ROWS[:3], "$ ls", "file"]), "$ head k\n***\n$ ls\nfile"),
        ("\n".join([BEGIN, *ROWS]), "***"),
        (f"{KEY}\n{KEY}\n", "***\n***\n"),
        ("\n".join([BEGIN, ROWS[0], BEGIN, ROWS[1], END]), "***\n***"),
        (KEY.replace("\n", "\\n"), "***"),
        (f"grep '{BEGIN}' file\nnothing\n", "grep '***' file\nnothing\n"),
        (f"{BEGIN}\nred\ngreen\nblue", "***\ngreen\nblue"),
        (f"red\ngreen\n{END}\nblue", "red\ngreen\n***\nblue"),
        ("\n".join(ROWS), "\n".join(ROWS)),
    ],
)
def test_keys_whole_and_in_part(text, masked):
    assert Masker([]).mask(text) == masked
    assert Masker([]).mask(text.replace("\n", "\r\n")) == masked.replace("\n", "\r\n")


@pytest.mark.parametrize("cut", range(1, len(KEY.splitlines())))
def test_a_key_in_two_texts(cut):
    rows, stream = KEY.splitlines(), Stream()
    first = Masker([]).mask("\n".join(["$ cat k", *rows[:cut], ""]), 80, stream)
    assert first in ("$ cat k\n***", "$ cat k\n***\n", "$ cat k\n***\n\n")
    second = Masker([]).mask("\n".join([*rows[cut:], "$ "]), 80, stream)
    assert second == "***\n$ "
    assert Masker([]).mask("\n".join(ROWS), 80, stream) == "\n".join(ROWS), "the key has ended"


def test_a_key_without_an_end_does_not_mask_the_rest_of_the_run():
    begun = key_spans(f"{BEGIN}\n{ROWS[0]}\n")[1]
    assert begun > 0
    assert key_spans("", begun) == ([], begun)
    assert key_spans("$ ls\n", begun) == ([], 0)
    n_rows = 0
    while begun:
        spans, begun = key_spans(f"{ROWS[1]}\n", begun)
        assert spans == [(0, len(ROWS[1]))]
        n_rows += 1
    assert n_rows <= LONGEST // len(ROWS[1]) + 1
    assert key_spans(f"{ROWS[1]}\n", begun) == ([], 0)


@pytest.mark.anyio
async def test_neither_prompts_nor_steps_hold_a_key_that_comes_row_by_row(tmp_path):
    rows = KEY.splitlines()
    session = FakeSession(["$ ", "\n".join(rows[:4]), "\n".join(rows[4:6]), "\n".join([*rows[6:], "$ "])])
    llm = FakeLLM([typing("cat k\n")["content"], typing("")["content"], typing("")["content"], *[DONE["content"]] * 2])
    recorder = EventRecorder()
    agent = Agent(
        llm=llm,
        environment=FakeEnvironment(),
        session=FakeBackend(session),
        observers=[Redact(Redact.Config(model=True)), recorder],
        logs_dir=tmp_path / "run",
    )
    await agent.run("task")
    assert [request[-1]["content"] for request in llm.requests[1:4]] == [
        "New Terminal Output:\n***",
        "New Terminal Output:\n***",
        "New Terminal Output:\n***\n$ ",
    ]
    assert "MIIE" not in str(recorder.events)
