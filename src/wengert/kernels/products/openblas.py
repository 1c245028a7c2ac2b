"""The OpenBLAS bundled with NumPy's wheels: its products, and its thread count."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from wengert.core.forks import once, register_fork_lock
from wengert.kernels import jit

# NumPy's wheels have integers of 64 bits in its interface, and its names as here.
_PREFIX, _SUFFIX = "scipy_", "64_"


@cache
def _library() -> Any:
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in [n for n in names if "openblas" in n]:
        library = ctypes.CDLL(os.path.join(folder, name))  # already loaded: gives the same one
        if hasattr(library, f"{_PREFIX}openblas_set_num_threads{_SUFFIX}"):
            return library
    return None


@cache
def controls() -> tuple[Callable[[int], None], Callable[[], int]] | None:
    """The functions that set and get the thread count, unless NumPy has another BLAS."""
    library = _library()
    if library is None:
        return None
    return tuple(library[f"{_PREFIX}openblas_{w}_num_threads{_SUFFIX}"] for w in ("set", "get"))


def address(name: str) -> int:
    """The address of a CBLAS function; 0 if it is missing."""
    library = _library()
    if library is None or not hasattr(library, f"{_PREFIX}{name}{_SUFFIX}"):
        return 0
    return ctypes.cast(library[f"{_PREFIX}{name}{_SUFFIX}"], ctypes.c_void_p).value or 0


_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
_ROWS, _LEFT, _PLAIN, _UPPER, _LOWER, _DIVIDED, _UNIT = 101, 141, 111, 121, 122, 131, 132


def substitute(a: np.ndarray, x: np.ndarray, upper: bool, unit: bool) -> bool:
    """Replace right sides, rows of `x`, by the solutions of a triangular system; False if not here.

    Both are matrices of one dtype with their rows in one piece.
    """
    letter = _LETTERS.get(a.dtype.str[1:], "")
    trsm = _trsm(letter) if a.dtype == x.dtype else None
    if trsm is None:
        return False
    one = None if letter in ("s", "d") else np.ones((), a.dtype)
    alpha = 1 if one is None else one.ctypes.data
    steps = [max(m.strides[0] // m.itemsize, m.shape[1]) for m in (a, x)]  # odd for a single row
    triangle, diagonal = _UPPER if upper else _LOWER, _UNIT if unit else _DIVIDED
    trsm(
        _ROWS, _LEFT, triangle, _PLAIN, diagonal, *x.shape, alpha,
        a.ctypes.data, steps[0], x.ctypes.data, steps[1],
    )  # fmt: skip
    return True


@cache
def _trsm(letter: str) -> Any:
    """The substitution for matrices of one dtype; None if it is missing."""
    where = address(f"cblas_{letter}trsm")
    number: Any = {"s": ctypes.c_float, "d": ctypes.c_double}.get(letter, ctypes.c_void_p)
    size, matrix = ctypes.c_int64, [ctypes.c_void_p, ctypes.c_int64]
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int] * 5, size, size, number, *matrix * 2)
    return kind(where) if where else None


def solve(a: np.ndarray, x: np.ndarray) -> int | None:
    """Replace right sides, columns of `x`, by the solutions of a @ x = b, and `a` by its factors.

    LAPACK's code: the place (from 1) of a zero pivot, or 0; None if not here. Both are of one
    dtype and in Fortran's order.
    """
    gesv = _gesv(_LETTERS.get(a.dtype.str[1:], "")) if a.dtype == x.dtype else None
    if gesv is None:
        return None
    n, sides = x.shape
    sizes, pivots = np.array([max(1, n), sides, 0]), np.empty(n, np.int64)
    first = sizes.ctypes.data
    gesv(
        first, first + 8, a.ctypes.data, first, pivots.ctypes.data, x.ctypes.data, first,
        first + 16,
    )  # fmt: skip
    return int(sizes[2])


@cache
def _gesv(letter: str) -> Any:
    """LAPACK's solution for matrices of one dtype; None if it is missing."""
    where = address(f"{letter}gesv_") if letter else 0
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)(where) if where else None


class Holds(NamedTuple):
    """Functions to hold the BLAS to one thread while any caller needs it, and to set the count."""

    one_thread: AbstractContextManager[Any]
    threads: Callable[[int], None]


@once
def holds() -> Holds | None:
    """The functions for that, compiled if kernels are: those hold it, too."""
    both = controls()
    if both is None:
        return None
    return _compiled(*both) if jit.available() else _Counted(*both).holds()


def _compiled(set: Any, get: Any) -> Holds:
    from wengert.kernels.jit import compiler, gemm

    where = compiler.add("blas", lambda: gemm.HOLD_TEXT)

    def function(name: str, *arguments: Any) -> Any:
        return ctypes.PYFUNCTYPE(None, *arguments)(where(f"blas_{name}"))

    pointer = ctypes.c_void_p
    function("start", pointer, pointer)(ctypes.cast(get, pointer), ctypes.cast(set, pointer))
    os.register_at_fork(after_in_child=function("forked"))
    # Functions of C, as those of a class in Python are not, come to their end without a look for
    # signals: what is held is let go.
    thing = ctypes.py_object
    functions = {"__enter__": function("hold"), "__exit__": function("let_go", *[thing] * 3)}
    one_thread: Any = type("OneThread", (), functions)
    return Holds(one_thread(), function("threads", ctypes.c_int64))


class _Counted:
    """The same in Python."""

    def __init__(self, set: Callable[[int], None], get: Callable[[], int]) -> None:
        self.set, self.get, self.lock = set, get, register_fork_lock(RLock())
        self.users, self.before = 0, 1

    def holds(self) -> Holds:
        return Holds(self, self.threads)

    def __enter__(self) -> None:
        with self.lock:
            if self.users == 0:
                self.before = self.get()
                self.set(1)
            self.users += 1

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.set(self.before)

    def threads(self, count: int) -> None:
        with self.lock:
            if self.users:
                self.before = count
            else:
                self.set(count)
