"""Backward calls inside of backward calls, as deep as they come.

A hook or a Function that goes backward nests a walk in a walk. Each takes a dozen frames of a
stack that Python ends after a thousand. Where half of it is used, the inner walk goes on in a
fresh thread while this one waits. To the program both are one thread: grad mode and other state
goes along and comes back, and so do exceptions and Ctrl-C.
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
    """What a thread takes over from the one that waits for it."""

    thread: int | None = None  # the first one: that of the program
    leg: Leg | None = None


relay = Relay()
thread_states.append(relay)


def this_thread() -> int:
    """The program's thread that runs here, wherever its backward goes on."""
    return relay.thread or get_ident()


def is_deep() -> bool:
    """Whether half of the stack that Python allows is in use."""
    frame, left = getframe(1), getrecursionlimit() // 2
    while frame.f_back is not None and left:
        frame, left = frame.f_back, left - 1
    return not left


class Leg:
    """Work that goes on in a thread of its own."""

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
        """Work with the state of the thread that waits, and leave for it what has changed."""
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
        """Raise an exception where the work is."""
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
    """Run `work` with a stack of its own, as if it ran here."""
    outer, thread = relay.leg, relay.thread
    if outer is not None and outer.number == _MOST:
        raise RecursionError("maximum depth of backward calls inside of backward calls exceeded")
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
    """Start a leg and wait for its end; signals that come meanwhile are for the work."""
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
