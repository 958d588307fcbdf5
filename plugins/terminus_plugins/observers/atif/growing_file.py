"""A file that grows at its end and is whole at every instant."""

from __future__ import annotations

import errno
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_HIDDEN = re.compile(r"\..+\.growing-(?:a|b|new)")

_LINKS_REFUSED = frozenset(
    {
        errno.EPERM,
        errno.EACCES,
        errno.EINVAL,
        errno.EMLINK,
        errno.ENOSYS,
        errno.ENOTSUP,
        errno.EOPNOTSUPP,
        errno.EXDEV,
    }
)


def sweep(folder: Path) -> None:
    """Remove the hidden files that a killed process left in ``folder``; nothing else is touched.

    Raises:
        OSError: the folder cannot be read, or a leftover not be removed.
    """
    for each in os.scandir(folder):
        if _HIDDEN.fullmatch(each.name) and each.is_file(follow_symlinks=False):
            Path(each).unlink()


class GrowingFile:
    """Chunks that are only ever added to, then a tail that is written anew at each save.

    Two hidden inodes take turns. A save brings the one that readers do not see up to date and gives it the visible
    name in one step (``link``, then ``rename`` over the old name); so a kill or a full disk at any instant leaves the
    last complete state, and a save costs what is new. An inode lags by one save at most: memory holds what it lacks.
    A reader that keeps the file open over two saves can see the tail change: read it at once, or open it again.

    A hidden file that somebody deletes is made anew from the visible one by the next save that needs it.
    Where the file system refuses hard links, a copy of the one hidden inode takes the name: whole as well, O(size).

    Args:
        path: the file; its folder exists. Made with mode 0600 by the first save.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._new = _hidden(path, "new")
        self._twins = [_Twin(_hidden(path, "a")), _Twin(_hidden(path, "b"))]  # the first is written next
        self._chunks: list[bytes] = []  # what a twin lacks
        self._n_dropped = 0  # chunks before those
        self._visible = self._twins[0].reached  # the state of the visible file

    def append(self, chunk: bytes) -> None:
        """Add ``chunk`` after all chunks so far; the next save writes it."""
        self._chunks.append(chunk)

    def save(self, tail: bytes = b"") -> None:
        """Make the visible file all chunks so far, then ``tail``.

        Raises:
            OSError: the visible file is as it was; the next save tries again.
            FileNotFoundError: likewise, and if hidden and visible files were deleted, none will succeed.
        """
        twin = self._twins[0]
        try:
            try:
                twin.write(self._chunks[twin.n_chunks - self._n_dropped :], tail)
            except FileNotFoundError:
                self._restore(twin)
                twin.write(self._chunks[twin.n_chunks - self._n_dropped :], tail)
            linked = self._offer(twin)
        except BaseException:
            with suppress(OSError):
                os.unlink(self._new)  # noqa: PTH108 - plain strings: a Path costs as much as the call
            raise
        self._visible = twin.reached
        if linked:
            self._twins.reverse()
        n_both = min(each.n_chunks for each in self._twins)
        del self._chunks[: n_both - self._n_dropped]
        self._n_dropped = n_both

    def save_without_room(self, tail: bytes = b"") -> None:
        """Make the same of a file on a full disk: the room of the hidden inode goes to the visible one.

        For the last save only: a kill in the middle can leave a file that is not whole.

        Raises:
            OSError: it is not enough, or there is one inode only; the visible file is as it was.
        """
        if len(self._twins) == 1 or self._twins[1].reached == _NOTHING:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self.path))
        hidden, visible = self._twins
        with suppress(FileNotFoundError):
            os.unlink(hidden.path)  # noqa: PTH108 - as below
        visible.write_or_undo(self._chunks[visible.n_chunks - self._n_dropped :], tail)
        self._visible = visible.reached
        self._offer(visible)
        with suppress(FileNotFoundError):
            os.unlink(self._new)  # noqa: PTH108 - a rename between two names of one inode leaves both

    def close(self) -> None:
        """Remove the hidden names; the visible file stays. Saving ends here."""
        for twin in self._twins:
            with suppress(OSError):
                os.unlink(twin.path)  # noqa: PTH108 - as above

    def _offer(self, twin: _Twin) -> bool:
        """Give the visible name to ``twin``, or to a copy of it; whether it was the twin itself."""
        linked = len(self._twins) > 1
        if linked:
            try:
                os.link(twin.path, self._new)
            except OSError as error:
                if error.errno not in _LINKS_REFUSED:
                    raise
                linked = False
                with suppress(OSError):
                    os.unlink(self._twins.pop().path)  # noqa: PTH108 - as above
        if not linked:
            with open(twin.path, "rb") as source, open(self._new, "xb", opener=_private) as copy:  # noqa: PTH123
                shutil.copyfileobj(source, copy)
        os.rename(self._new, self.path)  # noqa: PTH104 - as above
        return linked

    def _restore(self, twin: _Twin) -> None:
        """Make a hidden file that somebody has deleted anew: from memory, or as a copy of the visible one."""
        if self._n_dropped == 0:
            twin.restart(_NOTHING)
            return
        for path in (*(each.path for each in self._twins[1:]), os.fspath(self.path)):  # one file, by rights
            with suppress(FileNotFoundError), open(path, "rb", opener=_private) as source:
                if os.fstat(source.fileno()).st_size == self._visible.size:
                    with open(self._new, "xb", opener=_private) as copy:
                        shutil.copyfileobj(source, copy)
                    os.rename(self._new, twin.path)  # noqa: PTH104 - as above
                    twin.restart(self._visible)
                    return
        told = "the hidden files beside it were deleted, and it is not as it was saved: what it held is lost"
        raise FileNotFoundError(errno.ENOENT, told, os.fspath(self.path))


class _Reached(NamedTuple):
    """How far a file has come."""

    n_chunks: int
    end: int
    """Bytes of whole chunks."""
    size: int | None
    """Bytes that it may have, ``None`` before it is made."""


_NOTHING = _Reached(0, 0, None)


class _Twin:
    """One hidden inode and how far it has come."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.restart(_NOTHING)

    @property
    def reached(self) -> _Reached:
        """How far it has come."""
        return _Reached(self.n_chunks, self._end, self._size)

    def restart(self, reached: _Reached) -> None:
        """Go on from there: the file is another now."""
        self.n_chunks, self._end, self._size = reached

    def write_or_undo(self, chunks: list[bytes], tail: bytes) -> None:
        """Write, and after an error put back what stood there: its blocks are still the file's."""
        before = self.reached
        with open(self.path, "rb", opener=_private) as file:
            file.seek(before.end)
            old = file.read()
        try:
            self.write(chunks, tail)
        except OSError:
            self.restart(before)
            self.write([], old)
            os.truncate(self.path, before.end + len(old))
            raise

    def write(self, chunks: list[bytes], tail: bytes) -> None:
        """Write what this inode lacks. After an error it goes on from where it was."""
        # Opened at each save: two descriptors a file, held for the whole run, are too many with hundreds of runs.
        if self._size is None:
            with suppress(FileNotFoundError):
                os.unlink(self.path)  # noqa: PTH108 - as above
            file = _private(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            self._size = 0
        else:
            file = os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if os.fstat(file).st_size < self._size:  # somebody has emptied it: writing on would leave a hole
                os.close(file)
                raise FileNotFoundError(errno.ENOENT, "it was truncated", self.path)
        whole = b"".join(chunks)
        data = whole + tail
        try:
            self._size = max(self._size, self._end + len(data))
            done = 0
            while done < len(data):  # a write may be short: signals, quotas, a disk that is nearly full
                done += os.pwrite(file, data[done:] if done else data, self._end + done)
            self._end += len(whole)
            self.n_chunks += len(chunks)
            if self._size > self._end + len(tail):
                self._size = self._end + len(tail)
                os.ftruncate(file, self._size)
        finally:
            os.close(file)


def _hidden(path: Path, kind: str) -> str:
    return os.fspath(path.with_name(f".{path.name}.growing-{kind}"))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
