"""Running sums, products, extrema and recurrences along an axis of an array."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.kernels.axes import axis_of, moved
from wengert.kernels.chunks import SOME, plain, real_for, real_of, rows_of
from wengert.kernels.jit import Kernel, available
from wengert.kernels.precision import widened
from wengert.kernels.reduction import ACCUMULATOR

# As in PyTorch: intermediate overflow and rounding may cancel out.
_WIDE = ACCUMULATOR | {np.dtype(np.float32): np.dtype(np.float64)}


@cache
def _loops() -> Any:
    """The module of kernels, which is loaded on first use."""
    from wengert.kernels.scan import native

    return native


def _run(array: np.ndarray) -> str | None:
    """The variant of kernels for an array, if there is one that pays off."""
    return real_for(array.dtype) if array.size >= SOME else None


def _call(
    run: str, rows: Kernel, columns: Kernel, axis: int, arrays: tuple[np.ndarray, ...], *more: Any
) -> None:
    """Run the kernel for rows, or for columns, along an axis of arrays of one shape."""
    shape = arrays[0].shape
    outer, n, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    if inner == 1:
        getattr(rows, run)(*arrays, n, *more, outer, rows_of(n))
        return
    lanes = _loops().LANES
    blocks = -(-inner // lanes)
    chunk = rows_of(n * min(inner, lanes))
    getattr(columns, run)(*arrays, n, inner, blocks, *more, outer * blocks, chunk)


def _scanned(run: str, array: np.ndarray, axis: int, product: bool, reverse: bool) -> np.ndarray:
    wide = plain(widened(array))
    out = np.empty_like(wide)
    loops = _loops()
    _call(run, loops.row_scan, loops.column_scan, axis, (wide, out), int(reverse), int(product))
    return out.astype(array.dtype, copy=False)


def running(ufunc: np.ufunc, array: np.ndarray, dim: int, reverse: bool = False) -> np.ndarray:
    """Running sum or product along `dim`, from its end if `reverse`; integers to int64."""
    axis = axis_of(dim, array.ndim)
    if (run := _run(array)) is not None:
        return _scanned(run, array, axis, ufunc is np.multiply, reverse)
    wide = _WIDE.get(array.dtype, array.dtype)
    to = array.dtype if array.dtype in dtypes.inexact else wide
    if array.ndim == 0:
        return array.astype(to)
    source = np.flip(array, axis) if reverse else array
    out = ufunc.accumulate(source, axis=axis, dtype=wide)
    out = np.flip(out, axis) if reverse else out
    return out if wide == to else out.astype(to)


def logaddexp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(exp(a) + exp(b)), of complex numbers too."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    first = a.real >= b.real
    larger, smaller = np.where(first, a, b), np.where(first, b, a)
    empty = larger.real == -np.inf  # both are: their difference is no number
    return np.where(empty, larger, larger + np.log1p(np.exp(smaller - larger)))


def running_logsumexp(array: np.ndarray, dim: int) -> np.ndarray:
    """Logarithm of the running sum of exponentials."""
    axis = axis_of(dim, array.ndim)
    if array.ndim == 0:
        return array.copy()
    if (run := _run(array)) is not None:
        x = plain(widened(array))
        out = np.empty_like(x)
        loops = _loops()
        _call(run, loops.row_logsumexp, loops.column_logsumexp, axis, (x, out))
        return out.astype(array.dtype, copy=False)
    wide = _WIDE.get(array.dtype, array.dtype)
    if array.dtype.kind != "c":
        return np.logaddexp.accumulate(array.astype(wide), axis=axis).astype(array.dtype)
    out = moved(array.astype(np.complex128), axis, 0)
    for k in range(1, len(out)):
        out[k] = logaddexp(out[k - 1], out[k])
    return moved(out, 0, axis).astype(array.dtype)


def running_extreme_index(array: np.ndarray, dim: int, largest: bool) -> np.ndarray:
    """The index of the latest extreme element so far; it stays at the last nan."""
    axis = axis_of(dim, array.ndim)
    if array.ndim == 0:
        return np.zeros((), np.int64)
    run = real_for(array.dtype) if array.size >= SOME else None
    if run is not None:
        wide = plain(widened(array))
        out = np.empty(wide.shape, np.int64)
        loops, sign = _loops(), 1.0 if largest else -1.0
        _call(run, loops.row_places, loops.column_places, axis, (wide, out), sign)
        return out
    if (keys := _integers(array)) is not None:
        out = np.empty(keys.shape, np.int64)
        places = _loops().row_integer_places, _loops().column_integer_places
        _call("f32", *places, axis, (keys, out), 0 if largest else -1)
        return out
    extreme = (np.maximum if largest else np.minimum).accumulate(array, axis=axis)
    hit = array == extreme
    if array.dtype in dtypes.inexact:
        hit |= array != array
    shape = [1] * array.ndim
    shape[axis] = -1
    position = np.arange(array.shape[axis]).reshape(shape)
    return np.maximum.accumulate(np.where(hit, position, 0), axis=axis)


def _integers(array: np.ndarray) -> np.ndarray | None:
    """Integers or booleans as int64, where a kernel pays off and int64 has all of them."""
    if array.dtype.kind not in "iub" or array.dtype == np.uint64 or array.size < SOME:
        return None
    return plain(array.astype(np.int64, copy=False)) if available() else None


def shifted(array: np.ndarray, dim: int, by: int, fill: float) -> np.ndarray:
    """Elements shifted by one along `dim` (+1 to the end, -1 to the front)."""
    out = np.full_like(array, fill)
    if array.ndim == 0:
        return out
    target = moved(out, dim, 0)
    source = moved(array, dim, 0)
    if by > 0:
        target[1:] = source[:-1]
    else:
        target[:-1] = source[1:]
    return out


def recurrence(add: np.ndarray, factor: np.ndarray, dim: int, reverse: bool) -> np.ndarray:
    """r[k] = add[k] + factor[k] * r[k-1], or r[k+1] if `reverse`, along `dim`."""
    out = np.array(add, order="C")
    if out.ndim == 0:
        return out
    run = _run(out)
    if run is not None and factor.dtype == out.dtype and out.dtype.itemsize >= 4:
        loops, arrays = _loops(), (plain(factor), out)
        _call(run, loops.row_recurrence, loops.column_recurrence, dim, arrays, int(reverse))
        return out
    r, f = moved(out, dim, 0), moved(factor, dim, 0)
    steps = range(len(r) - 2, -1, -1) if reverse else range(1, len(r))
    before = 1 if reverse else -1
    for k in steps:
        r[k] += f[k] * r[k + before]
    return out


def differences(array: np.ndarray, dim: int) -> Any:
    """Each element less the one before it; for booleans, whether they differ."""
    if dim == array.ndim - 1 and array.size >= SOME and array.shape[-1] > 1:
        real = real_of(array)
        if real is not None:
            out = np.empty((*array.shape[:-1], array.shape[-1] - 1), array.dtype)
            n = array.shape[-1]
            getattr(_loops().row_differences, real)(array, out, n, array.size // n, rows_of(n))
            return out
    along = moved(array, dim, 0)
    combine = np.not_equal if array.dtype == bool else np.subtract
    return moved(combine(along[1:], along[:-1]), 0, dim)
