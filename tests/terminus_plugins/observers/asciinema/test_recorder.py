"""What is recorded of a run."""

import os
import stat
import time

import pytest

from terminus_core import LLMResponse, SessionEvent, hookimpl
from terminus_core.testing import FakeSession
from terminus_plugins.observers.asciinema import cast_file

from .conftest import DONE, answer, read, texts

pytestmark = pytest.mark.anyio


class SpeakingSession(FakeSession):
    """A session whose listeners can be told anything."""

    def tell(self, kind, data, when=None):
        for listener in list(self._listeners):
            listener(SessionEvent(time.monotonic() if when is None else when, kind, data))


@pytest.mark.parametrize("form", [2, 3])
async def test_a_run_becomes_a_recording_with_markers(record, form):
    broken = "no answer at all"
    replies = [answer("ls\n", "pwd\n", plan="Look   around\nfirst, then go on."), broken, DONE, DONE]
    begun = int(time.time())
    path = await record(replies, outputs=["$ ", "$ ls\r\nfile\r\n"], format=form)
    header, events = read(path)
    size = {"width": 80, "height": 24} if form == 2 else {"term": {"cols": 80, "rows": 24}}
    assert size.items() <= header.items()
    assert header["title"] == "Sweep the floor. Then rest."
    assert begun <= header["timestamp"] <= time.time()
    assert texts(events, "m") == [
        "Episode 1: 2 commands \u00b7 Look around first, then go on.",
        "Episode 2: the answer could not be used",
        "Episode 3: 0 commands",
        "Completion asked",
        "Episode 4: 0 commands",
        "Completion confirmed",
    ]
    assert "".join(texts(events, "o")) == "$ $ $ ls\r\nfile\r\n"
    assert path in record.result.files
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_wall_clock_time_is_a_position(record):
    class Clock:
        """Notes when each marker is made, before and after the recorder hears of it."""

        name = "clock"

        def __init__(self):
            self.before, self.after = {}, {}

        @hookimpl(tryfirst=True)
        def terminus_record_marker(self, marker):
            self.before[marker.label] = time.time()

        @hookimpl(trylast=True, specname="terminus_record_marker")
        def later(self, marker):
            self.after[marker.label] = time.time()

    clock = Clock()
    header, events = read(await record([answer(), DONE, DONE], observers=[clock]))
    marks = {data: header["timestamp"] + at for at, code, data in events if code == "m"}
    assert marks.keys() == clock.before.keys()
    for label, wall in marks.items():
        assert clock.before[label] - 0.002 <= wall <= clock.after[label] + 0.002


async def test_a_long_plan_is_cut_between_words(record):
    _, events = read(await record([answer(plan="word " * 1000), DONE, DONE]))
    label = texts(events, "m")[0]
    assert label.startswith("Episode 1: 0 commands \u00b7 word word")
    assert label.endswith("word\u2026")
    assert len(label) < 90


@pytest.mark.parametrize("typed", [False, True])
async def test_input_is_recorded_only_if_wanted(record, typed):
    path = await record([answer("a secret\n"), DONE, DONE], input=typed)
    _, events = read(path)
    assert texts(events, "i") == (["a secret\n"] if typed else [])


async def test_resizes_gaps_and_split_characters(record):
    session = SpeakingSession()
    snowman = "\u2603".encode()

    def on_keys(_):
        session.tell("output", b"a" + snowman[:1])
        session.tell("resize", (100, 30))
        session.tell("output", snowman[1:] + b"b\xff")
        session.tell("output", snowman[:2])
        session.tell("gap", "the line is down")
        session.tell("screen", snowman)
        session.tell("output", snowman[:2])

    session._on_keys = on_keys
    _, events = read(await record([answer("x\n"), DONE, DONE], session=session))
    kinds = [(code, data) for _, code, data in events]
    assert ("r", "100x30") in kinds
    gap = kinds.index(("m", "Connection gap: the line is down"))
    before = "".join(data for code, data in kinds[:gap] if code == "o")
    after = "".join(data for code, data in kinds[gap:] if code == "o")
    assert before.endswith("a\u2603b\ufffd\ufffd")
    assert after.startswith("\u2603")
    assert after.endswith("\ufffd")


@pytest.mark.parametrize("form", [2, 3])
async def test_times_never_go_back(record, form):
    session = SpeakingSession()

    def on_keys(_):
        for shift in (0, 5, -100, 2, -1):
            session.tell("output", f"{shift};".encode(), time.monotonic() + shift)
            session.tell("resize", (90, 30 + shift % 7))

    session._on_keys = on_keys
    _, events = read(await record([answer("x\n"), DONE, DONE], session=session, format=form))
    assert "0;5;-100;2;-1;" in "".join(texts(events, "o"))


async def test_many_rows_make_few_lines_and_writes(record, monkeypatch):
    """A thousand rows that come one by one are a few events and a few writes."""
    session = SpeakingSession()
    rows = [f"row {n}\r\n".encode() for n in range(1000)]

    def on_keys(_):
        for row in rows:
            session.tell("output", row)

    session._on_keys = on_keys
    written = []
    real = os.write

    def write(file, data):
        if data.startswith(b"["):
            written.append(len(data))
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    path = await record([answer("x\n")] * 10 + [DONE, DONE], session=session)
    _, events = read(path)
    assert "".join(texts(events, "o")).count("row ") == 10_000
    assert len(written) <= 100
    assert len(texts(events, "o")) < 2000


async def test_a_step_on_disk_has_its_output_on_disk(record, tmp_path):
    class Reader:
        name = "reader"

        def __init__(self):
            self.seen = []

        @hookimpl(trylast=True)
        def terminus_step_recorded(self, step):
            path = tmp_path / "run" / "recording.cast"
            self.seen.append(path.read_text() if path.exists() else "")

    reader = Reader()
    await record([answer("x\n"), DONE, DONE], outputs=["$ ", "out of step 2"], observers=[reader])
    assert "out of step 2" in reader.seen[1]


async def test_nobody_listens_after_the_run(record):
    session = FakeSession()
    await record([DONE, DONE], session=session)
    assert session._listeners == []


async def test_a_recording_that_cannot_be_made_changes_nothing(record, tmp_path, caplog):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recording.cast").write_text("something else\n")
    await record([LLMResponse(DONE), LLMResponse(DONE)])
    assert record.result.status == "completed"
    assert "not an asciicast recording" in caplog.text
    assert (tmp_path / "run" / "recording.cast").read_text() == "something else\n"


def shown(path):
    return "".join(texts(read(path)[1], "o"))


@pytest.fixture
def redacted(record, monkeypatch):
    """Record, with ``redact``, a terminal whose pieces of output are on disk before the next one comes."""

    async def run(pieces, *, size=(80, 24)):
        monkeypatch.setenv("SHOP_TOKEN", "zzq-hidden-value-4711")
        monkeypatch.setenv("VAULT_PASSPHRASE", "correct horse battery staple")
        monkeypatch.setattr(cast_file, "FLUSH_BYTES", 1)
        session = SpeakingSession()

        def on_keys(_):
            session.tell("resize", size)
            for kind, piece in pieces:
                session.tell(kind, piece.encode() if kind != "gap" else piece)

        session._on_keys = on_keys
        return await record([answer("x\n"), DONE, DONE], session=session, observers=["redact"])

    return run


async def test_a_passphrase_word_by_word(redacted):
    words = ["$ say\r\n", "correct ", "horse ", "battery ", "staple ", "\r\ncorrect ", "answer\r\n$ "]
    path = await redacted([("output", word) for word in words])
    assert "$ say\r\n*** \r\ncorrect answer\r\n$ " in shown(path)


async def test_a_passphrase_that_never_ends_gets_to_the_file(redacted):
    assert shown(await redacted([("output", "correct "), ("output", "horse ")])).endswith("correct horse ")


async def test_a_private_key_row_by_row(redacted):
    rows = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{number:02d}AAAA" for number in range(6)]
    key = ["-----BEGIN ", "PRIVATE KEY-----", *rows, "-----END PRIVATE KEY-----", "$ "]
    path = await redacted([("output", row + "\r\n" * row.endswith(("-", "A"))) for row in key])
    assert "MIIE" not in path.read_text()
    assert "PRIVATE" not in path.read_text()
    assert shown(path).endswith("$ ")


@pytest.mark.parametrize(
    "before", ["the shop's secret is: ", "\u9375 shop's secret is: x", "\x1b[31mthe shop's secret\x1b[0m is "]
)
async def test_a_wrapped_secret_on_a_screen_after_a_gap(redacted, before):
    plain = before.replace("\x1b[31m", "").replace("\x1b[0m", "")
    room = 40 - len(plain) - plain.count("\u9375")
    row = before + "zzq-hidden-value-4711"[:room]
    rest = "zzq-hidden-value-4711"[room:]
    screen = f"\x1b[0m\x1b[H\x1b[2J{row}\r\n{rest}\r\n$ \x1b[0m\x1b[3;3H"
    path = await redacted([("gap", "lost"), ("screen", screen), ("output", "ls")], size=(40, 10))
    assert f"\x1b[2J{before}***\r\n\r\n$ \x1b[0m\x1b[3;3Hls" in shown(path), "rows keep their places"


async def test_a_marker_that_another_sets_at_the_start_is_recorded(record):
    class Early:
        name = "early"

        @hookimpl(tryfirst=True)
        def terminus_run_started(self, run):
            run.mark("Here we go")

    path = await record([DONE, DONE], observers=[Early()])
    _, events = read(path)
    assert texts(events, "m")[0] == "Here we go"
    assert "".join(texts(events, "o")).count("$ ") == 1
    assert record.result.files.count(path) == 1
