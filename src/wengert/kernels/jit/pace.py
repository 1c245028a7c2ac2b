"""Work in Python beside steps that are not to wait for it.

Python hands its lock over only every five milliseconds, so a thread that computes in Python makes
a step wait as long for each call that gives the lock away: for each kernel, NumPy's among them.
The thread of the compiler gives it away by itself, after less than a millisecond, and then rests
for some times as long as it has worked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import get_ident
from time import perf_counter, sleep
from typing import TypeVar

from wengert.core.forks import compile_lock

T = TypeVar("T")

# Seconds of work in a row, the seconds of rest for each of them, and the longest rest: LLVM, which
# needs no lock, works in between.
_WORK, _REST, _LONGEST = 4e-4, 4, 5e-3
# Items that take less than `_WORK` together.
_ITEMS = 16


class EndedError(Exception):
    """The process comes to its end: what is left need not be done."""


class Pace:
    """The thread that goes slowly: one at most.

    Attributes:
        thread: its identity; 0 while there is none.
        ended: whether its work has to come to an end.
    """

    thread = 0
    ended = False
    _since = 0.0

    def begin(self) -> None:
        """Let the calling thread be the one."""
        self.thread, self.ended, self._since = get_ident(), False, perf_counter()

    def end(self) -> None:
        """Let there be none."""
        self.thread = 0

    def breathe(self) -> None:
        """Let others have Python's lock, if this is the thread and it has worked for long."""
        if get_ident() != self.thread:
            return
        if self.ended:
            raise EndedError
        worked = perf_counter() - self._since
        # Others may wait for what is compiled: then there is no time to rest.
        if worked > _WORK and not compile_lock._is_owned():
            sleep(min(worked * _REST, _LONGEST))
            self._since = perf_counter()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, with rests between them."""
        for k, item in enumerate(items):
            if not k % _ITEMS:
                self.breathe()
            yield item


pace = Pace()
