"""Nested backward calls, to any depth.

A hook or a Function that calls backward nests a walk in a walk. Each takes a dozen stack frames,
and Python allows a thousand. Once half of them are used, the inner walk continues in a fresh
thread while this one waits. To the program both are one thread: grad mode and other state is
carried over and back, and so are exceptions and Ctrl-C.
"""

from __future__ import annotations

import ctypes
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from contextvars import copy_context
from itertools import starmap
from sys import getrecursionlimit
from threading import local
from typing import Any

from wengert.core.tensor import getframe, thread_states

_MOST = 500  # threads, each waiting for the next


class Relay(local):
    """The state that a thread takes over from the one waiting for it."""

    thread: int | None = None  # the first one: that of the program
    leg: Leg | None = None


relay = Relay()
thread_states.append(relay)


def this_thread() -> int:
    """The program's thread that runs here, on whichever thread its backward continues."""
    return relay.thread or get_ident()


def is_deep() -> bool:
    """Whether half of Python's stack limit is in use."""
    frame, left = getframe(1), getrecursionlimit() // 2
    while frame.f_back is not None and left:
        frame, left = frame.f_back, left - 1
    return not left


class Leg:
    """Work that continues in a separate thread."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.thread = this_thread()
        self.number: int = 1 if relay.leg is None else relay.leg.number + 1
        self.inner: Leg | None = None  # the leg that this one waits for
        self.states = _states()
        self.context = copy_context()
        self.failures: list[BaseException] = []
        self.lock, self.done = allocate_lock(), allocate_lock()
        self.ident: int | None = None  # while it may be interrupted
        self.done.acquire()

    def run(self) -> None:
        """Work with the state of the waiting thread, and hand back what has changed."""
        try:
            self.ident = get_ident()
            _set_states(self.states)
            relay.thread, relay.leg = self.thread, self
            self.context.run(self.work)
        except BaseException as error:
            self.failures.append(error)
        while self.done.locked():
            try:
                self._finish()
            except BaseException as error:  # an interrupt that came late
                self.failures.append(error)

    def _finish(self) -> None:
        with self.lock:
            self.ident = None
        self.states = _states()
        self.done.release()

    def interrupt(self, kind: type[BaseException]) -> None:
        """Raise an exception in the thread doing the work."""
        leg = self
        while leg.inner is not None:
            leg = leg.inner
        with leg.lock:
            if leg.ident is not None:
                thread, raised = ctypes.c_ulong(leg.ident), ctypes.py_object(kind)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)


def _states() -> list[tuple[local, dict[str, Any]]]:
    return [(state, dict(vars(state))) for state in thread_states]


def _set_states(states: list[tuple[local, dict[str, Any]]]) -> None:
    for state, values in states:
        vars(state).clear()
        vars(state).update(values)


def run_in_fresh_thread(work: Callable[[], None]) -> None:
    """Run `work` on a fresh stack, as if it ran here."""
    outer, thread = relay.leg, relay.thread
    if outer is not None and outer.number == _MOST:
        raise RecursionError("maximum depth of nested backward calls exceeded")
    leg = Leg(work)
    if outer is not None:
        outer.inner = leg
    try:
        _run(leg)
    finally:
        if outer is not None:
            outer.inner = None
    _set_states(leg.states)
    relay.leg, relay.thread = outer, thread
    if leg.failures:
        raise leg.failures.pop()


def _run(leg: Leg) -> None:
    """Start a leg and wait for it to end; signals that arrive meanwhile go to the work."""
    # Signals are handled between bytecodes: `extend` calls and notes down that it has in one.
    started: list[int] = []
    ended: list[bool] = []
    signals: list[BaseException] = []
    while not ended:
        try:
            if not started:
                started.extend(starmap(start_new_thread, [(leg.run, ())]))
            if signals:
                leg.interrupt(type(signals[-1]))
            ended.extend(starmap(leg.done.acquire, [()]))
        except BaseException as error:
            if not started:
                raise
            signals.append(error)
    leg.failures += signals
