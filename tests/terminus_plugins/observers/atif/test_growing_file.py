"""The file is whole at every instant, and a save costs what is new."""

import errno
import os
import stat

import pytest

from terminus_plugins.observers.atif.growing_file import GrowingFile, sweep
from tests.support.disks import file_size_limit, small_disk


@pytest.fixture
def file(tmp_path):
    return GrowingFile(tmp_path / "grown.txt")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_holds_all_chunks_and_the_newest_tail(file):
    expected = b""
    for number, tail in enumerate([b"", b"short", b"a much longer tail", b"x", b"", b"end"] * 2):
        chunk = b"%d," % number * (number % 4)
        file.append(chunk)
        expected += chunk
        file.save(tail)
        assert file.path.read_bytes() == expected + tail


def test_several_chunks_or_none_in_one_save(file):
    file.save(b"nothing yet")
    file.append(b"one,")
    file.append(b"two,")
    file.save(b".")
    file.save(b"!")
    file.save(b"?")
    assert file.path.read_bytes() == b"one,two,?"


def test_is_private_and_leaves_nothing_hidden(file, tmp_path):
    file.append(b"x")
    file.save()
    file.save()
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.close()
    assert names(tmp_path) == ["grown.txt"]
    assert file.path.stat().st_nlink == 1


def test_a_reader_sees_a_whole_file_although_the_next_save_has_begun(file, monkeypatch):
    file.append(b"one,")
    file.save(b"end")

    seen = []
    write = os.pwrite

    def look_and_write(*arguments):
        seen.append(file.path.read_bytes())
        return write(*arguments)

    monkeypatch.setattr(os, "pwrite", look_and_write)
    file.append(b"two,")
    file.save(b"END")
    assert set(seen) == {b"one,end"}
    assert file.path.read_bytes() == b"one,two,END"


def test_memory_holds_only_what_one_of_the_two_inodes_lacks(file):
    for _ in range(100):
        file.append(b"x" * 1000)
        file.save()
        assert len(file._chunks) <= 1


def test_short_writes_are_gone_on_with(file, monkeypatch):
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: write(fd, data[:3], offset))
    for _ in range(5):
        file.append(b"a longer chunk,")
        file.save(b"a longer tail")
    assert file.path.read_bytes() == b"a longer chunk," * 5 + b"a longer tail"


def test_a_limit_leaves_the_last_state_and_is_recovered_from(file):
    for number in range(4):
        file.append(b"%d" % number * 100)
        file.save(b"tail" * 10)
    whole = file.path.read_bytes()
    with file_size_limit(len(whole) + 50):
        for _ in range(3):
            file.append(b"-" * 100)
            with pytest.raises(OSError, match="too large") as caught:
                file.save(b"tail" * 10)
            assert caught.value.errno == errno.EFBIG
            assert file.path.read_bytes() == whole
    file.save(b"t")
    assert file.path.read_bytes() == b"".join(b"%d" % n * 100 for n in range(4)) + b"-" * 300 + b"t"


def test_a_full_disk_leaves_the_last_state_and_is_recovered_from(tmp_path):
    with small_disk(tmp_path / "disk") as (folder, make_room):
        file = GrowingFile(folder / "grown.txt")
        line = b"x" * 999 + b"\n"
        full = pytest.raises(OSError, match=r"No space left|too large")
        saved = 0
        with full:
            for _ in range(100):
                file.append(line)
                file.save(b"tail")
                saved += 1
        assert saved > 5
        for _ in range(3):  # it stays full
            assert file.path.read_bytes() == line * saved + b"tail"
            file.append(b"y\n")
            with full:
                file.save(b"tail")
        make_room()
        file.save(b"tail")
        assert file.path.read_bytes() == line * (saved + 1) + b"y\n" * 3 + b"tail"


def test_the_last_save_on_a_full_disk_takes_the_room_of_the_hidden_inode(tmp_path):
    with small_disk(tmp_path / "disk") as (folder, _):
        file = GrowingFile(folder / "grows.json")
        held = b""
        with pytest.raises(OSError):  # noqa: PT011, PT012 - the disk's or the limit's
            while True:
                file.append(chunk := bytes([65 + len(held) % 26]) * 3_000)
                held += chunk
                file.save(b"tail")
        assert file.path.read_bytes() == held[:-3_000] + b"tail"
        if (folder / "ballast").exists():  # a limit for each file leaves nothing to give away
            file.save_without_room(b"the end")
            assert file.path.read_bytes() == held + b"the end"
        file.append(bytes(1 << 20))
        with pytest.raises(OSError):  # noqa: PT011 - as above
            file.save_without_room(b"more")
        before = b"the end" if (folder / "ballast").exists() else b"tail"
        assert file.path.read_bytes().endswith(before)
        assert b"\0" not in file.path.read_bytes()
        file.close()
        assert not [path for path in folder.iterdir() if "growing" in path.name]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK], ids=errno.errorcode.get)
@pytest.mark.parametrize("n_before", [0, 1, 2, 4])
def test_without_hard_links_the_file_is_copied_and_just_as_whole(file, tmp_path, monkeypatch, code, n_before):
    def save(number):
        file.append(b"%d," % number)
        file.save(b"end %d" % number)
        assert file.path.read_bytes() == b"".join(b"%d," % n for n in range(number + 1)) + b"end %d" % number

    def refuse(*_):
        raise OSError(code, os.strerror(code))

    for number in range(n_before):
        save(number)
    monkeypatch.setattr(os, "link", refuse)
    for number in range(n_before, 5):
        save(number)
    with file.path.open("rb") as reader:  # a new file each time: none is written in place
        save(5)
        assert reader.read() == b"0,1,2,3,4,end 4"
    assert len(file._chunks) == 0
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.close()
    assert names(tmp_path) == ["grown.txt"]


def test_another_fault_of_the_link_is_a_failed_save(file, tmp_path, monkeypatch):
    file.append(b"one,")
    file.save(b"end")

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", fail)
        file.append(b"two,")
        with pytest.raises(OSError, match="No space left"):
            file.save(b"end")
    assert file.path.read_bytes() == b"one,end"
    file.append(b"three,")
    file.save(b"end")
    assert file.path.read_bytes() == b"one,two,three,end"
    assert file.path.stat().st_nlink == 2  # linked again, not copied


def test_a_name_that_is_taken_by_a_folder_is_a_failed_save(file, tmp_path):
    file.path.mkdir()
    file.append(b"one,")
    with pytest.raises(IsADirectoryError):
        file.save(b"end")
    file.path.rmdir()
    file.save(b"end")
    assert file.path.read_bytes() == b"one,end"
    file.close()
    assert names(tmp_path) == ["grown.txt"]


def test_a_folder_that_is_gone_is_a_failed_save(tmp_path):
    file = GrowingFile(tmp_path / "later" / "grown.txt")
    file.append(b"one,")
    with pytest.raises(FileNotFoundError):
        file.save(b"end")
    (tmp_path / "later").mkdir()
    file.save(b"end")
    assert file.path.read_bytes() == b"one,end"


def test_leftovers_of_a_killed_process_do_not_harm_the_file_that_they_are_linked_to(file):
    file.append(b"the run before,")
    file.save(b"end")  # and never closed: the visible file is one of the hidden ones
    with file.path.open("rb") as reader:
        after = GrowingFile(file.path)
        after.append(b"the run after,")
        after.save(b"end")
        after.save(b"end")
        assert reader.read() == b"the run before,end"
    assert file.path.read_bytes() == b"the run after,end"


def test_a_link_laid_in_the_way_is_not_followed(file, tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"untouched")
    for name in (".grown.txt.growing-a", ".grown.txt.growing-b"):
        (tmp_path / name).symlink_to(victim)
    for _ in range(2):
        file.append(b"x")
        file.save()
    assert victim.read_bytes() == b"untouched"
    assert file.path.read_bytes() == b"xx"


def test_sweeping_takes_only_own_hidden_files(file, tmp_path):
    file.append(b"x")
    file.save(b"end")
    (tmp_path / ".grown.txt.growing-new").write_bytes(b"half")
    (tmp_path / ".other.growing-a").mkdir()
    (tmp_path / ".third.growing-a").symlink_to("grown.txt")
    kept = [".notes", "growing-a", ".x.growing-abc", ".growing-b"]
    for name in kept:
        (tmp_path / name).write_bytes(b"")
    sweep(tmp_path)
    assert names(tmp_path) == sorted([*kept, "grown.txt", ".other.growing-a", ".third.growing-a"])
    assert file.path.read_bytes() == b"xend"
