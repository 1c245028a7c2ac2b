"""Work in Python beside steps that are not to wait for it.

Python hands its lock over only every five milliseconds, so a thread that computes in Python makes
a step wait as long for each call that gives the lock away: for each kernel, NumPy's among them.
The thread of the compiler gives it away by itself, after less than a millisecond, and then rests
for some times as long as it has worked.

Short steps would be twice as long if they met with such a turn. So while steps are seen, the thread
waits for them to give it turns: at the beginning of each, a small part of what a step takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Lock, get_ident
from time import perf_counter
from typing import Any, TypeVar

from wengert.core.forks import compile_lock

T = TypeVar("T")

# Seconds of work in a row, the seconds of rest for each of them, and the longest rest: LLVM, which
# needs no lock, works in between.
_WORK, _REST, _LONGEST = 4e-4, 4, 5e-3
# How much of steps is given, and the seconds of the shortest turn and the longest.
_PART, _LEAST, _MOST = 0.2, 8e-5, 1e-3
# How long the thread waits for a turn: in steps, of which short ones save for it, and seconds.
_STEPS, _WAIT = 4, 2e-2
# How long a step waits for a turn to end, in turns: the thread may be where it needs no lock.
_PATIENCE = 1.25
# Items that take less than the shortest turn together.
_ITEMS = 4


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
    _turn = _WORK  # how long it may work now
    _last, _step = 0.0, 0.0  # when the last step began, and how long the one before took
    _saved = 0.0  # the seconds that steps have still to give

    def __init__(self) -> None:
        self._waiting: list[Any] = []  # what the thread waits for, while it does
        self._given: Any = None  # what a step waits for, of which the thread has a turn

    def begin(self) -> None:
        """Let the calling thread be the one."""
        self.thread, self.ended, self._since = get_ident(), False, perf_counter()
        self._turn, self._last = _WORK, 0.0

    def end(self) -> None:
        """Let there be none."""
        self.thread = 0
        self._waiting.clear()
        self._give_back()

    def breathe(self) -> None:
        """Let others have Python's lock, if this is the thread and it has worked for long."""
        if get_ident() != self.thread:
            return
        if self.ended:
            raise EndedError
        worked = perf_counter() - self._since
        # Others may wait for what is compiled: then there is no time to rest.
        if worked > self._turn and not compile_lock._is_owned():
            self._rest(max(min(worked * _REST, _LONGEST), min(_STEPS * self._step, _WAIT)))
            self._since = perf_counter()

    def _rest(self, seconds: float) -> None:
        """Wait for a turn that a step gives; after some time, longer than a step, take one."""
        gate = Lock()
        gate.acquire()
        self._waiting.append(gate)
        self._give_back()
        if not gate.acquire(timeout=seconds):
            try:
                self._waiting.remove(gate)
                self._turn, self._step = _WORK, 0.0
            except ValueError:  # a step is giving it one
                gate.acquire()

    def _give_back(self) -> None:
        """Let the step go on that waits for the end of a turn."""
        done, self._given = self._given, None
        if done is not None:
            done.release()

    def step(self) -> None:
        """A step begins: give the thread a turn, if it waits for one, and wait for its end."""
        now = perf_counter()
        last, self._last = self._last, now
        if not last:
            return
        self._step = now - last
        part = min(self._step * _PART, _MOST)
        self._saved = min(self._saved + part, max(part, _LEAST))
        if self._saved < _LEAST:
            return
        try:
            gate = self._waiting.pop()
        except IndexError:
            return
        done = Lock()
        done.acquire()
        self._turn, self._given = self._saved, done
        gate.release()
        done.acquire(timeout=self._saved * _PATIENCE)
        self._last = perf_counter()  # the turn is no part of the step
        self._saved -= self._last - now

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, with rests between them."""
        for k, item in enumerate(items):
            if not k % _ITEMS:
                self.breathe()
            yield item


pace = Pace()
