"""Arrays of one number, and of evenly spaced ones.

NumPy's loop for one number takes twice as long as the memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import pays_off
from wengert.kernels.jit import CHUNK, LARGE, available, exact_kernel, kernel
from wengert.kernels.jit.builtins import f32, f32s, f64, f64s, i32s, i64, i64s, u16s
from wengert.kernels.jit.mathlib64 import multiply_add

# Below so many doubles NumPy's wider ones do.
_FEW = 1 << 5


@kernel
def _fill_words(number: i32s, out: i32s, start: i64, stop: i64) -> None:
    word = number[0]
    for i in range(start, stop):
        out[i] = word


@kernel
def _fill_pairs(number: i64s, out: i64s, start: i64, stop: i64) -> None:
    word = number[0]
    for i in range(start, stop):
        out[i] = word


@kernel
def _fill_halves(number: u16s, out: u16s, start: i64, stop: i64) -> None:
    word = number[0]
    for i in range(start, stop):
        out[i] = word


_BY_WIDTH = {2: _fill_halves, 4: _fill_words, 8: _fill_pairs}


def fill(array: np.ndarray, number: np.ndarray) -> bool:
    """Set all elements to that of a 0-d array of their dtype; False if it cannot be done."""
    by_width = _BY_WIDTH.get(array.itemsize)
    flags = array.flags
    if by_width is None or not (flags.c_contiguous and flags.aligned and available()):
        return False
    by_width.f32(number, array, array.size, CHUNK)
    return True


@exact_kernel
def _spaced(
    first: f64, last: f64, step: f64, out: f32s, n: i64, half: i64, start: i64, stop: i64
) -> None:
    for i in range(start, min(stop, half)):
        out[i] = f32(first + step * f64(i))
    for i in range(max(start, half), stop):
        out[i] = f32(last - step * f64(n - 1 - i))


@kernel
def _spaced_doubles(
    first: f64, last: f64, step: f64, out: f64s, n: i64, half: i64, start: i64, stop: i64
) -> None:
    for i in range(start, min(stop, half)):
        out[i] = multiply_add(step, f64(i), first)
    for i in range(max(start, half), stop):
        out[i] = multiply_add(-step, f64(n - 1 - i), last)


@kernel
def _counted(first: i64, step: i64, out: i64s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = first + step * i


def counted(first: int, last: int, step: int) -> np.ndarray:
    """Every `step`-th integer from `first` up to `last`, which is not below it, as int64."""
    n = (last - first + step - 1) // step
    if not available():
        return np.arange(first, last, step, dtype=np.int64)
    out = np.empty(n, np.int64)
    _counted.f32(first, step, out, n, CHUNK)
    return out


def spaced(first: float, last: float, step: float, n: int, kind: Any) -> np.ndarray | None:
    """`n` float32 or float64 counted from both ends, each rounded once; None if it cannot be done.

    Few float32 are left to NumPy unless kernels are in use already: both compute the same.
    """
    single = kind is np.float32
    if not (pays_off(n, LARGE if single else _FEW) and available()):
        return None
    run = _spaced if single else _spaced_doubles
    out = np.empty(n, kind)
    run.f32(first, last, step, out, n, n // 2, n, CHUNK)
    return out
