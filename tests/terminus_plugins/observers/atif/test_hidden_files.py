"""Somebody deletes the hidden files of a file that grows, while it grows."""

import errno
import os
import shutil
import stat

import pytest

from terminus_plugins.observers.atif.growing_file import GrowingFile

A, B = ".grown.txt.growing-a", ".grown.txt.growing-b"


class Recorded:
    """A file with numbers in it, and what it ought to hold."""

    def __init__(self, file):
        self.file = file
        self.n = 0

    def save(self):
        self.file.append(b"%d," % self.n)
        self.n += 1
        self.file.save(b"end %d" % self.n)
        assert self.file.path.read_bytes() == self.whole

    def delete(self, *names):
        for name in names:
            self.file.path.with_name(name).unlink(missing_ok=True)

    @property
    def whole(self):
        return b"".join(b"%d," % n for n in range(self.n)) + b"end %d" % self.n


def refuse_links(*_):
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.fixture(params=["linked", "copied"])
def recorded(tmp_path, request, monkeypatch):
    if request.param == "copied":
        monkeypatch.setattr(os, "link", refuse_links)
    return Recorded(GrowingFile(tmp_path / "grown.txt"))


@pytest.mark.parametrize("names", [(A,), (B,), (A, B)], ids=["a", "b", "both"])
@pytest.mark.parametrize("n_before", [1, 2, 3, 4])
def test_hidden_files_that_somebody_deletes_are_made_anew(recorded, tmp_path, names, n_before):
    for _ in range(n_before):
        recorded.save()
    for _ in range(2):
        recorded.delete(*names)
        for _ in range(4):
            recorded.save()
    recorded.file.close()
    assert [path.name for path in tmp_path.iterdir()] == ["grown.txt"]
    assert stat.S_IMODE(recorded.file.path.stat().st_mode) == 0o600


def test_one_hidden_file_is_enough(tmp_path):
    for deleted in (A, B):
        recorded = Recorded(GrowingFile(tmp_path / "grown.txt"))
        for _ in range(4):
            recorded.save()
        recorded.delete("grown.txt", deleted)
        recorded.save()


def test_hidden_files_deleted_after_a_failed_save(recorded, monkeypatch):
    for _ in range(4):
        recorded.save()
    before = recorded.whole

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail)
        with pytest.raises(OSError, match="No space left"):
            recorded.save()
        assert recorded.file.path.read_bytes() == before
        recorded.delete(A, B)
        with pytest.raises(OSError, match="No space left"):
            recorded.save()
    assert recorded.file.path.read_bytes() == before
    for _ in range(3):
        recorded.save()


def test_a_disk_that_is_full_while_a_hidden_file_is_made_anew(recorded, monkeypatch, tmp_path):
    for _ in range(4):
        recorded.save()
    before = recorded.whole
    recorded.delete(A, B)

    def write_half(source, copy):
        assert recorded.file.path.read_bytes() == before
        copy.write(source.read(3))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", write_half)
        for _ in range(2):
            with pytest.raises(OSError, match="No space left"):
                recorded.save()
            assert [path.name for path in tmp_path.iterdir()] == ["grown.txt"]
            assert recorded.file.path.read_bytes() == before
    recorded.save()


@pytest.mark.parametrize("left", [None, b"somebody else's"])
def test_what_cannot_be_made_anew_is_said(recorded, tmp_path, left):
    for _ in range(4):
        recorded.save()
    whole = recorded.whole
    recorded.delete(A, B, "grown.txt")
    if left:
        recorded.file.path.write_bytes(left)
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match=r"hidden files beside it were deleted.*grown\.txt"):
            recorded.save()
        assert [path.read_bytes() for path in tmp_path.iterdir()] == ([left] if left else [])
    recorded.file.path.write_bytes(whole)  # put back from elsewhere
    recorded.save()
