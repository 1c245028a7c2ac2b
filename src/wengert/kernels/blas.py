"""The threads of the OpenBLAS that NumPy carries.

Its workers wait in a loop for one another. For products of a few hundred microseconds that
costs more than it brings, and many times as much when another process wants a core.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

import numpy as np


@cache
def controls() -> tuple[Callable[[int], None], Callable[[], int]] | None:
    """The functions that set and get the thread count, unless NumPy has another BLAS."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in [n for n in names if "openblas" in n]:
        library = ctypes.CDLL(os.path.join(folder, name))  # already loaded: gives the same one
        for suffix in ("64_", ""):
            try:
                prefix = f"scipy_openblas_{{}}_num_threads{suffix}"
                return library[prefix.format("set")], library[prefix.format("get")]
            except AttributeError:
                continue
    return None


class _Users:
    """How many callers want one thread now, and the number to go back to."""

    lock = Lock()
    count = 0
    before = 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Products inside run on the calling thread alone."""
    both = controls()
    if both is None:
        yield
        return
    set_threads, get_threads = both
    with _Users.lock:
        if _Users.count == 0:
            _Users.before = get_threads()
            set_threads(1)
        _Users.count += 1
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            if _Users.count == 0:
                set_threads(_Users.before)


# OpenBLAS itself takes one thread up to the first number of multiplications (64**3); from the
# second on, a product is worth two: about half a millisecond of one core.
_ALONE = 1 << 18
_WORTH_THREADS = 1 << 24


def threads_for(multiplications: int) -> AbstractContextManager[None]:
    """One thread for products of that size, unless they are worth more."""
    alone = multiplications <= _ALONE or multiplications >= _WORTH_THREADS
    return nullcontext() if alone else one_thread()


def dot(a: np.ndarray, b: np.ndarray) -> Any:
    """The product of two matrices."""
    if _ALONE < a.size * b.shape[-1] < _WORTH_THREADS:
        with one_thread():
            return a.dot(b)
    return a.dot(b)
