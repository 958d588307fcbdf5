"""How many rows have been dropped from the top of the history. No input or output here.

tmux tells the size of the history, not how often it has cut it: a full history loses a tenth of its limit at a time.
The output itself says how many rows can have been scrolled between two looks at the size. As long as only one number of
cuts fits, it is certain.
"""

from __future__ import annotations

_FEEDS = (b"\\013", b"\\014", b"\\033D", b"\\033E")
"""What scrolls like a line feed: VT, FF, IND, NEL, as tmux escapes them."""


class ScrollCounter:
    """Counts trimmed rows.

    Attributes:
        trimmed: rows dropped so far.
        doubts: how often the number of cuts could not be told.
        width: columns of the terminal.
        height: rows of the terminal.
    """

    def __init__(self, limit: int, width: int, height: int) -> None:
        self.trimmed = 0
        self.doubts = 0
        self.width = width
        self.height = height
        self._limit = limit
        self._step = max(1, limit // 10)
        self._history = 0
        self._feeds = 0  # line feeds since the last look: at the bottom of the screen each scrolls a row
        self._wraps = 0  # rows that long lines may have scrolled, at most
        self._is_blind = False

    def output(self, escaped: bytes) -> bool:
        """Take output, in tmux's escaped form; ``True`` if it is time to look at the size again."""
        for feed in _FEEDS:
            escaped = escaped.replace(feed, b"\\012")
        lines = escaped.split(b"\\012")
        self._feeds += len(lines) - 1
        self._wraps += 1 + sum(len(line) // self.width for line in lines if len(line) >= self.width)
        return self._feeds + self._wraps > self._step // 4

    def gap(self) -> None:
        """Output may be missing since the last look at the size."""
        self._is_blind = True

    def observe(self, history: int) -> None:
        """Take the size of the history as it is after the output taken so far."""
        grown = history - self._history
        if self._is_blind:
            self._is_blind = False
            if grown < 0 or history >= self._limit - self._step:
                self.doubts += 1
        elif history >= self._limit - self._step:
            fewest = max(0, -(grown // self._step))
            most = (self._feeds + self._wraps - grown) // self._step
            # On the way to the bottom of the screen line feeds scroll nothing; below it each scrolls a row.
            likely = max(fewest, -((grown + self.height - self._feeds) // self._step))
            if most not in {fewest, likely}:
                self.doubts += 1
            self.trimmed += max(fewest, most) * self._step
        self._history = history
        self._feeds = self._wraps = 0


class UnseenScroll(ScrollCounter):
    """The same where nobody reads the output: what little the size tells by itself.

    The history may have twice its limit, and is cleared between, so that tmux has nothing to cut.
    """

    def __init__(self, limit: int, width: int, height: int) -> None:
        super().__init__(2 * limit, width, height)
        self._rows = 0

    @property
    def history(self) -> int:
        """The size that was taken last."""
        return self._history

    @property
    def is_long(self) -> bool:
        """Whether the history should be cleared."""
        return self._history > self._limit // 2

    @property
    def is_unsure(self) -> bool:
        """Whether tmux may have cut the history, as it does at its limit."""
        return self._history >= self._limit - self._step

    def observe(self, history: int) -> None:
        """Take the size of the history. If it is smaller than it was, it has been wiped."""
        if history + self.height < self._rows:
            self.doubts += 1
        self._history = history
        self._rows = history + self.height

    def cleared(self, history: int) -> None:
        """The history, of this size, has been cleared."""
        self.trimmed += history
        self._history = 0
        self._rows = self.height
