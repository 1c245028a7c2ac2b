"""Integers between limits, in one pass: NumPy takes two, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import SOME, is_plain
from wengert.kernels.jit import CHUNK, available, kernel
from wengert.kernels.jit.builtins import i32, i32s, i64, i64s


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


_RUN: dict[np.dtype[Any], Any] = {
    np.dtype(np.int32): _between_words,
    np.dtype(np.int64): _between_pairs,
}


def between(x: np.ndarray, low: int | None, high: int | None) -> np.ndarray | None:
    """int32 or int64 between limits of their dtype, the upper one last; None without a kernel."""
    run = _RUN.get(x.dtype)
    if run is None or x.size < SOME or not is_plain(x) or not available():
        return None
    info: Any = np.iinfo(x.dtype)
    out = np.empty(x.shape, x.dtype)
    least, most = (info.min if low is None else low), (info.max if high is None else high)
    run.f32(x, out, int(least), int(most), x.size, CHUNK)
    return out
