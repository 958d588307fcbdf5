"""The control-mode reader and the shell's marks, whatever way the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terminus_plugins.sessions.tmux.prompt import PromptState
from terminus_plugins.sessions.tmux.protocol import ControlReader, Exit, Output, Reply, unescape
from terminus_plugins.sessions.tmux.scroll import ScrollCounter

LINES = st.lists(
    st.one_of(
        st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"")),
        st.sampled_from([b"%end 1 2 1", b"%error 9 9 1", b"%begin 5 5 1", b"%output %0 x", b"%exit", b""]),
    ),
    max_size=6,
)
EVENTS = st.lists(
    st.one_of(
        st.builds(Reply, st.booleans(), LINES),
        st.builds(
            Output, st.sampled_from([b"%0", b"%12"]), st.binary(max_size=60).map(lambda d: d.replace(b"\n", b""))
        ),
        st.just("noise"),
        st.just("not ours"),
    ),
    max_size=12,
)


def written(events) -> bytes:
    """What tmux writes for these events; each reply has a number of its own."""
    parts = []
    for number, event in enumerate(events, 100):
        if isinstance(event, Reply):
            end = b"end" if event.ok else b"error"
            stamp = b"1700000000 %d 1" % number
            parts.append(
                b"".join((b"%begin ", stamp, b"\n", *(line + b"\n" for line in event.lines), b"%", end, b" ", stamp))
            )
        elif isinstance(event, Output):
            parts.append(b"%output " + event.pane + b" " + event.escaped)
        elif event == "noise":
            parts.append(b"%window-renamed @0 sleep\nno percent sign\n")
        else:
            parts.append(b"%begin 1700000000 1 0\nhello\n%end 1700000000 1 0")
    return b"".join(part + b"\n" for part in parts)


def cut(data, places):
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


def joined(events):
    """Outputs of one pane that follow each other as one: how many they come in says nothing."""
    found = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, Output) and isinstance(last, Output) and event.pane == last.pane:
            found[-1] = Output(event.pane, last.escaped + event.escaped)
        else:
            found.append(event)
    return found


@given(EVENTS, st.lists(st.integers(min_value=0, max_value=5000), max_size=30))
def test_events_come_out_however_the_bytes_are_cut(events, places):
    reader = ControlReader()
    got = [event for piece in cut(written(events), places) for event in reader.feed(piece)]
    assert joined(got) == joined(event for event in events if not isinstance(event, str))


def test_output_that_comes_together_is_one_event():
    lines = [b"%output %0 a\\012", b"%output %0 ", b"%output %0 %output %0 b", b"%output %1 c", b"%output %0 d"]
    assert ControlReader().feed(b"\n".join(lines) + b"\n%output %0 e") == [
        Output(b"%0", b"a\\012%output %0 b"),
        Output(b"%1", b"c"),
        Output(b"%0", b"d"),
    ]


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_any_bytes_do_no_harm(pieces):
    reader = ControlReader()
    for piece in pieces:
        reader.feed(piece)
        reader.feed(b"%begin\n%end\n%output\n%output %0\n%exit\n")


def test_exit_carries_the_reason():
    assert ControlReader().feed(b"%exit server exited\n") == [Exit("server exited")]


@given(st.binary(max_size=300))
def test_unescaping_gives_the_bytes_back(data):
    escaped = b"".join(b"\\%03o" % byte if byte < 0x20 or byte == 0x5C else bytes([byte]) for byte in data)
    assert unescape(escaped) == data


MARKS = [
    b"\x1b]133;C;7\x07",
    b"\x1b]133;D;0;7\x07",
    b"\x1b]133;B;2;7\x07",
    b"\x1b]133;D;0;8\x07",
    b"\x1b]133;B;0;8\x07",
]


@given(
    st.lists(
        st.one_of(st.sampled_from([*MARKS, b"\x1b[3J", b"\x1b[?2004h", b"\x1b", b"\x1b]133;"]), st.binary(max_size=9))
    ),
    st.lists(st.integers(min_value=0, max_value=5000), max_size=20),
)
def test_marks_are_found_however_the_output_is_cut(parts, places):
    data = MARKS[1] + b"".join(parts)
    whole, pieces = PromptState("t"), PromptState("t")
    whole.feed(data)
    for piece in cut(data, places):
        pieces.feed(piece)
    for name in ("idle", "prompts", "jobs", "shell", "cleared", "reading"):
        assert getattr(whole, name) == getattr(pieces, name)


@pytest.mark.parametrize(
    ("marks", "idle", "jobs"),
    [
        ([], False, 0),
        ([1], False, 0),
        ([1, 2], True, 2),
        ([2], False, 0),
        ([1, 2, 0], False, 2),
        ([1, 2, 0, 1, 2], True, 2),
        ([1, 2, 3, 4], False, 2),
        ([1, 2, 2], True, 2),
        ([1, 4], False, 0),
    ],
)
def test_idle_is_the_prompt_of_the_same_shell_after_a_command(marks, idle, jobs):
    state = PromptState("t")
    state.feed(b"text".join(MARKS[number] for number in marks))
    assert (state.idle, state.jobs) == (idle, jobs)


def test_end_mark_needs_its_token():
    state = PromptState("secret")
    state.feed(b"\x1b]133;X;other;1\x07")
    assert state.end_status is None
    state.feed(b"\x1b]133;X;secret;3\x07")
    assert state.end_status == 3


def test_marks_of_absurd_size_do_no_harm():
    state = PromptState("t")
    state.feed(b"\x1b]133;D;" + b"9" * 100_000)
    state.feed(b"\x1b]133;D;0;7\x07\x1b]133;B;" + b"9" * 5000 + b";7\x07\x1b]133;B;x;7\x07")
    state.feed(b"\x1b]133;D;0;7\x07\x1b]133;B;1;7\x07")
    assert state.idle


@given(
    st.integers(min_value=10, max_value=400),
    st.lists(st.tuples(st.integers(min_value=0, max_value=150), st.booleans()), max_size=30),
)
def test_counted_trims_are_right_or_in_doubt(limit, bursts):
    """Against a history that behaves as tmux's does."""
    counter = ScrollCounter(limit, 80, 5)
    step = max(1, limit // 10)
    history, trimmed, cursor, before, doubts = 0, 0, 0, 0, 0
    for rows, looked in bursts:
        for _ in range(rows):
            if cursor < 4:
                cursor += 1
                continue
            if history >= limit:
                history -= step
                trimmed += step
            history += 1
        counter.output(b"x\\015\\012" * rows)
        if looked:
            counter.observe(history)
            if counter.doubts == doubts:
                assert counter.trimmed - before == trimmed - before
            before, doubts = trimmed, counter.doubts
            counter.trimmed = trimmed
