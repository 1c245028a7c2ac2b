"""Forks wait for critical sections of other threads.

A child process has its parent's memory but only one of its threads. Work in another thread stays
half done: a module partly imported or compiled, a lock that is never released, a library
waiting for workers that are gone (some stop them in the parent, too). So a fork waits until no
thread is inside such a section, and keeps threads out until it is done.
"""

from __future__ import annotations

import _frozen_importlib
import os
import signal
import sys
import threading
import time
from _thread import RLock, start_new_thread
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")

# Held while functions are generated, compiled and loaded.
compile_lock: Any = RLock()

# Packages whose modules are imported lazily, by any thread; the first is `ast.unparse`'s since
# Python 3.14.
_LATE = frozenset(
    {"_ast_unparse", "llvmlite", "ml_dtypes", "numpy", "safetensors", "scipy", "wengert"}
)


class _Forks:
    """The locks a fork acquires."""

    lock: Any = RLock()  # guards this state; a fork holds it until it is done
    waiting = False
    of_threads: ClassVar[WeakSet[Any]] = WeakSet()
    shared: ClassVar[WeakSet[Any]] = WeakSet()
    held: tuple[Any, ...] = ()
    interrupt: BaseException | None = None


class _Own(threading.local):
    """A thread's own lock."""

    def __init__(self) -> None:
        self.lock = RLock()
        with _Forks.lock:
            _Forks.of_threads.add(self.lock)


_own = _Own()


def hold_forks() -> Any:
    """A context for calls into libraries with worker threads: a fork waits until they return.

    Signals cannot leave it locked: it is a lock implemented in C. While holding it, a thread must
    not wait for another one.
    """
    if _Forks.waiting:
        with _Forks.lock:
            pass
    return _own.lock


def register_fork_lock(lock: Any) -> Any:
    """Register a lock that forks acquire from now on."""
    with _Forks.lock:
        _Forks.shared.add(lock)
    return lock


def _before() -> None:
    while True:
        _take(_Forks.lock)
        _Forks.waiting = True
        # Library calls may compile or draw numbers, but not vice versa.
        locks = (*_Forks.of_threads, *_Forks.shared, compile_lock)
        _Forks.held = tuple([lock for lock in locks if not lock._is_owned()])
        for lock in _Forks.held:
            _take(lock)
        if not _importing():
            break
        _release()
        _rest()


def _rest() -> None:
    """Let imports go on that wait for the lock of `logging`, which it takes before a fork."""
    lock: Any = getattr(sys.modules.get("logging"), "_lock", None)
    owned = lock is not None and lock._is_owned()
    if owned:
        lock.release()
    time.sleep(0.001)
    if owned:
        lock.acquire()


def _take(lock: Any) -> None:
    """Acquire a lock despite signals; exceptions they raise are kept for later."""
    while not lock._is_owned():
        try:
            lock.acquire()
        except BaseException as error:  # from a signal handler: it could be anything
            _Forks.interrupt = error


def _importing() -> bool:
    """Whether another thread is in the middle of an import this library needs."""
    locks = getattr(_frozen_importlib, "_module_locks", {})
    waited_for = [ref() for name, ref in list(locks.items()) if name.split(".")[0] in _LATE]
    none = (None, threading.get_ident())
    return any(getattr(lock, "owner", None) not in none for lock in waited_for)


def _release() -> None:
    for lock in reversed(_Forks.held):
        lock.release()
    _Forks.held, _Forks.waiting = (), False
    _Forks.lock.release()


def _after_in_parent() -> None:
    error, _Forks.interrupt = _Forks.interrupt, None
    _release()
    if isinstance(error, KeyboardInterrupt):
        start_new_thread(_interrupt, ())
    elif error is not None:
        raise error


def _interrupt() -> None:
    """Resend Ctrl-C to the main thread afterwards: Python ignores exceptions raised here."""
    main = threading.main_thread().ident
    assert main is not None
    while sys._current_frames()[main].f_code is _after_in_parent.__code__:
        time.sleep(0.001)
    signal.pthread_kill(main, signal.SIGINT)


def _after_in_child() -> None:
    _Forks.interrupt = None
    _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )


def once(function: Callable[[], T]) -> Callable[[], T]:
    """Wrap a function so that it runs once, in one thread; later calls return the same result."""
    inner = cache(function)

    @cache
    def result() -> T:
        with compile_lock:
            return inner()

    return result


class cached_property(Generic[T]):  # noqa: N801 (as in functools)
    """`functools.cached_property` without the lock shared by all objects before Python 3.12.

    A child forked while another thread holds that lock would deadlock.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        value = instance.__dict__[self.name] = self.function(instance)
        return value
