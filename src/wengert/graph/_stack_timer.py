"""Calls a function every few milliseconds with the main thread's current frame.

On Linux, a system timer interrupts the main thread by a signal; the frame is the interrupted one.
Elsewhere a thread polls. It must wait for the GIL, which NumPy releases while it computes, so
lines that call NumPy are sampled too often; a short switch interval keeps that bias small.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

Visit = Callable[[FrameType], None]

_SWITCH = 1e-4  # seconds after which a computing thread yields to the polling one
_MONOTONIC = 1  # Linux's CLOCK_MONOTONIC
_TO_THREAD = 4  # Linux's SIGEV_THREAD_ID


class StackTimer(Protocol):
    """Calls a function from construction until `stop`; both happen on the main thread."""

    def stop(self) -> None:
        """Call no more."""


def start_timer(interval: float, look: Visit) -> StackTimer:
    """Begin to call `look`, by the best means available."""
    if _timer_is_possible():
        with contextlib.suppress(OSError):  # no timer left
            return SignalTimer(interval, look)
    return PollingTimer(interval, look)


def _timer_is_possible() -> bool:
    return (
        sys.platform == "linux"
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGPROF) is signal.SIG_DFL  # nobody else has it
        and hasattr(_libc(), "timer_create")
    )


class _Event(ctypes.Structure):
    """Linux's ``struct sigevent``."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    )


class SignalTimer:
    """A system timer that sends SIGPROF.

    Not ``signal.setitimer``: its timers survive exec, where nobody handles their signal and it
    kills, and the one that runs while a program waits is that of ``signal.alarm``.
    """

    def __init__(self, interval: float, look: Visit) -> None:
        self._look, self._looking = look, False
        self._timer = ctypes.c_void_p()
        event = _Event(None, signal.SIGPROF, _TO_THREAD, threading.get_native_id(), b"")
        _call("timer_create", _MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer))
        signal.signal(signal.SIGPROF, self._handle)
        signal.siginterrupt(signal.SIGPROF, False)  # system calls of libraries go on
        nanoseconds = round(interval * 1e9)
        times = (ctypes.c_long * 4)(0, nanoseconds, 0, nanoseconds)  # the first, and all others
        _call("timer_settime", self._timer, 0, ctypes.byref(times), None)

    def stop(self) -> None:
        """Call no more."""
        _call("timer_delete", self._timer)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # The next signal may come while one is handled.
        if frame is None or self._looking or frame.f_code is SignalTimer._handle.__code__:
            return
        self._looking = True
        self._look(frame)
        self._looking = False


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> None:
    if getattr(_libc(), name)(*arguments):
        raise OSError(ctypes.get_errno(), f"{name} failed")


class PollingTimer:
    """A thread that polls the main thread's frame."""

    def __init__(self, interval: float, look: Visit) -> None:
        self._interval, self._look = interval, look
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch, _SWITCH))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wengert ticks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Call no more."""
        self._over.set()
        self._thread.join()
        sys.setswitchinterval(self._switch)

    def _run(self) -> None:
        main = threading.main_thread().ident
        while not self._over.wait(self._interval):
            # No name for the frame: it would live, with all its variables, until the next one.
            self._look(sys._current_frames()[main])  # type: ignore[index]
