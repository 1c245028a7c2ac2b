"""Running sums, products, extrema and recurrences along an axis of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import _dtypes
from wengert.kernels.axes import axis_of, length_of
from wengert.kernels.reduction import ACCUMULATOR

# Float32 loses a digit for every factor of ten in length: long sums are taken in float64.
_LONG_SUMS = ACCUMULATOR | {np.dtype(np.float32): np.dtype(np.float64)}
_LONG = 256


def running(ufunc: np.ufunc, array: np.ndarray, dim: int, reverse: bool = False) -> np.ndarray:
    """Running sum or product along `dim`, from its end if `reverse`; integers to int64."""
    axis = axis_of(dim, array.ndim)
    long = ufunc is np.add and length_of(array.shape, axis) > _LONG
    wide = (_LONG_SUMS if long else ACCUMULATOR).get(array.dtype, array.dtype)
    to = array.dtype if array.dtype in _dtypes.inexact else wide
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
    wide = _LONG_SUMS.get(array.dtype, array.dtype)
    if array.dtype.kind != "c":
        return np.logaddexp.accumulate(array.astype(wide), axis=axis).astype(array.dtype)
    out = np.moveaxis(array.astype(np.complex128), axis, 0)
    for k in range(1, len(out)):
        out[k] = logaddexp(out[k - 1], out[k])
    return np.moveaxis(out, 0, axis).astype(array.dtype)


def running_extreme_index(array: np.ndarray, dim: int, largest: bool) -> np.ndarray:
    """The index of the latest extreme element so far; it stays at the last nan."""
    axis = axis_of(dim, array.ndim)
    if array.ndim == 0:
        return np.zeros((), np.int64)
    extreme = (np.maximum if largest else np.minimum).accumulate(array, axis=axis)
    hit = array == extreme
    if array.dtype in _dtypes.inexact:
        hit |= array != array
    shape = [1] * array.ndim
    shape[axis] = -1
    position = np.arange(array.shape[axis]).reshape(shape)
    return np.maximum.accumulate(np.where(hit, position, 0), axis=axis)


def shifted(array: np.ndarray, dim: int, by: int, fill: float) -> np.ndarray:
    """Elements moved by one place along `dim` (+1 to the end, -1 to the front)."""
    out = np.full_like(array, fill)
    if array.ndim == 0:
        return out
    target = np.moveaxis(out, dim, 0)
    source = np.moveaxis(array, dim, 0)
    if by > 0:
        target[1:] = source[:-1]
    else:
        target[:-1] = source[1:]
    return out


def recurrence(add: np.ndarray, factor: np.ndarray, dim: int, reverse: bool) -> np.ndarray:
    """r[k] = add[k] + factor[k] * r[k-1], or r[k+1] if `reverse`, along `dim`."""
    out = np.array(add)
    if out.ndim == 0:
        return out
    r, f = np.moveaxis(out, dim, 0), np.moveaxis(factor, dim, 0)
    steps = range(len(r) - 2, -1, -1) if reverse else range(1, len(r))
    before = 1 if reverse else -1
    for k in steps:
        r[k] += f[k] * r[k + before]
    return out


def differences(array: np.ndarray, dim: int) -> Any:
    """Each element less the one before it; for booleans, whether they differ."""
    moved = np.moveaxis(array, dim, 0)
    combine = np.not_equal if array.dtype == bool else np.subtract
    return np.moveaxis(combine(moved[1:], moved[:-1]), 0, dim)
