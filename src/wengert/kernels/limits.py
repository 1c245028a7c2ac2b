"""Limits of arrays, in one pass: NumPy takes two or more."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import SOME, is_plain, pays_off, real_of
from wengert.kernels.jit import CHUNK, Kernel, available, exact_kernel, kernel
from wengert.kernels.jit.builtins import f64, i32, i32s, i64, i64s, reals


@kernel
def _between_words(x: i32s, out: i32s, low: i64, high: i64, start: i64, stop: i64) -> None:
    least = i32(low)
    most = i32(high)
    for i in range(start, stop):
        out[i] = min(max(x[i], least), most)


@kernel
def _between_pairs(x: i64s, out: i64s, low: i64, high: i64, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = min(max(x[i], low), high)


# The kernel for a dtype, and its own limits.
_RUN: dict[np.dtype[Any], tuple[Kernel, int, int]] = {
    np.dtype(np.int32): (_between_words, -(2**31), 2**31 - 1),
    np.dtype(np.int64): (_between_pairs, -(2**63), 2**63 - 1),
}


def between(x: np.ndarray, low: int | None, high: int | None) -> np.ndarray | None:
    """int32 or int64 between limits of their dtype, the upper one last; None without a kernel."""
    known = _RUN.get(x.dtype)
    if known is None or x.size < SOME or not is_plain(x) or not available():
        return None
    run, least, most = known
    if low is not None:
        least = int(low)
    if high is not None:
        most = int(high)
    out = np.empty(x.shape, x.dtype)
    run.f32(x, out, least, most, x.size, CHUNK)
    return out


@exact_kernel
def _find_outside(x: reals, low: f64, high: f64, found: i64s, start: i64, stop: i64) -> None:
    """Note whether a number is not from `low` to `high`."""
    outside = 0
    for i in range(start, stop):
        outside = outside | (0 if (f64(x[i]) >= low and f64(x[i]) <= high) else 1)
    if outside != 0:
        found[0] = 1


def all_between(x: np.ndarray, low: float, high: float) -> bool:
    """Whether all of some numbers are from `low` to `high`, and none is NaN."""
    run = real_of(x) if pays_off(x.size, SOME) else None
    if run is None:
        return bool(((x >= low) & (x <= high)).all())
    found = np.zeros(1, np.int64)
    getattr(_find_outside, run)(x, low, high, found, x.size, CHUNK)
    return not found[0]
