"""Functions whose calls take ways of their own: only some of the calls are recorded.

To record a call takes some times as long as the call itself, and pays where others go the same
way. Where they do not, for the most part, one call of two is a run, then one of four, and so on,
until runs go ways again that are on record.
"""

from __future__ import annotations

from math import inf

from wengert.replay.record import Record

# So many runs are judged together: first, and once some calls are spared.
_AT_FIRST, _LATER = 8, 4
# At least one call of so many is a run.
_MOST = 64


class Sparing:
    """Says which calls of a function run as they are, because recording them would not pay.

    Attributes:
        every: of so many calls one is a run.
    """

    def __init__(self) -> None:
        self.every = 1
        self._calls = 0
        self._runs, self._gain = 1, -inf  # the first run begins the record: it tells nothing

    def spares(self, record: Record) -> bool:
        """Whether the next call runs as it is."""
        self._calls += 1
        if self._calls % self.every:
            return True
        if not self._runs:
            gain = record.gain()
            self.every = min(2 * self.every, _MOST) if gain < self._gain else 1
            self._gain, self._runs = gain, _AT_FIRST if self.every == 1 else _LATER
        self._runs -= 1
        return False
