"""The file of answers is added to, line by line."""

import json
import stat

import pytest

from terminus_core import LLMResponse
from terminus_plugins.observers.atif.replies import Replies
from tests.support.disks import small_disk


def answer(number):
    return LLMResponse(content=f"{number} " + "x" * 1000)


def numbers(path):
    """Every line is whole."""
    text = path.read_text()
    assert text.endswith("\n")
    return [int(json.loads(line)["content"].split()[0]) for line in text.splitlines()]


def test_each_answer_is_a_line_of_a_private_file(tmp_path):
    replies = Replies(tmp_path / "replies.jsonl")
    for number in range(3):
        replies.add(answer(number))
        assert not replies.complete
        replies.save()
        assert replies.complete
        assert numbers(replies.path) == list(range(number + 1))
    assert stat.S_IMODE(replies.path.stat().st_mode) == 0o600


def test_what_another_run_has_left_is_replaced_and_nothing_is_written_through_a_link(tmp_path):
    other = tmp_path / "other"
    other.write_text("untouched")
    (tmp_path / "replies.jsonl").symlink_to(other)
    replies = Replies(tmp_path / "replies.jsonl")
    replies.add(answer(1))
    replies.save()
    assert numbers(replies.path) == [1]
    assert other.read_text() == "untouched"


def test_a_full_disk_tears_no_line_and_is_recovered_from(tmp_path):
    with small_disk(tmp_path / "disk") as (folder, make_room):
        replies = Replies(folder / "replies.jsonl")
        full = pytest.raises(OSError, match=r"No space left|too large")
        added = saved = 0
        with full:
            while True:
                added += 1
                replies.add(answer(added))
                replies.save()
                saved += 1
        assert saved > 5
        for _ in range(3):  # it stays full
            assert numbers(replies.path) == list(range(1, saved + 1))
            added += 1
            replies.add(answer(added))
            with full:
                replies.save()
        make_room()
        replies.save()
        assert numbers(replies.path) == list(range(1, added + 1))
