"""How many rows have been dropped from the top of the history. No input or output here.

tmux tells the size of the history, not how often it has cut it: a full history loses a tenth of its limit at a time.
Between two looks at the size, the output itself says how many rows can have been scrolled at most. As long as that is
less than a tenth, the number of cuts is certain.
"""

from __future__ import annotations


class ScrollCounter:
    """Counts trimmed rows.

    Attributes:
        trimmed: rows dropped so far.
        doubts: how often the number of cuts was a guess.
    """

    def __init__(self, limit: int, width: int) -> None:
        self.trimmed = 0
        self.doubts = 0
        self.width = width
        self._step = max(1, limit // 10)
        self._limit = limit
        self._history = 0
        self._at_most = 0

    def output(self, escaped: bytes) -> bool:
        """Take output, in tmux's escaped form; ``True`` if it is time to look at the size again."""
        self._at_most += escaped.count(b"\\012") + len(escaped) // self.width + 1
        return self._at_most > self._step // 4

    def observe(self, history: int) -> None:
        """Take the size of the history as it is after the output taken so far."""
        grown = history - self._history
        if history >= self._limit - self._step:
            fewest = max(0, -(grown // self._step))
            most = (self._at_most - grown) // self._step
            if most != fewest:
                self.doubts += 1
            self.trimmed += max(fewest, most) * self._step
        self._history = history
        self._at_most = 0
