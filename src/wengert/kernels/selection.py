"""Picking elements along an axis by index, and ranking them. Nan counts as the largest."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.kernels import reduction, scatter
from wengert.kernels.axes import axis_of, length_of, moved
from wengert.kernels.precision import widened
from wengert.kernels.ranking import kth, last_of_most, order, ranked
from wengert.kernels.reduction import add_reduce


def take_along(array: np.ndarray, indices: np.ndarray, axis: int) -> Any:
    """The elements at `indices` along an axis; both have the same rank."""
    if array.ndim == 0:
        return np.broadcast_to(array, indices.shape).copy()
    return scatter.take_along(array, indices, axis)


def add_along(
    g: np.ndarray, indices: np.ndarray, shape: tuple[int, ...], axis: int, unique: bool
) -> np.ndarray:
    """Zeros of `shape` with `g` added at `indices`; `unique` says that none occurs twice."""
    out = np.zeros(shape, g.dtype)
    if not shape:
        out[...] = g.sum()
    elif unique:
        scatter.put_along(out, indices, axis, g)
    else:
        scatter.add_along(out, indices, axis, g)
    return out


def keep_axis(array: np.ndarray, axis: int, keepdim: bool) -> np.ndarray:
    """An array that was reduced along `axis`, with that axis put back."""
    return array if keepdim or array.ndim == 0 else array[(slice(None),) * axis + (None,)]


def drop_axis(array: np.ndarray, axis: int, keepdim: bool) -> np.ndarray:
    """An array of length 1 along `axis`, without that axis unless it is to be kept."""
    return array if keepdim or array.ndim == 0 else array.squeeze(axis)


def extreme_index(
    array: np.ndarray, dim: int | None, keepdim: bool, largest: bool, name: str
) -> Any:
    """Index of the first largest or smallest element; of the first nan if there is one."""
    dtype = dtypes.of_numpy[array.dtype]
    if dtype.category in (dtypes.BOOL, dtypes.COMPLEX) and name.startswith("arg"):
        raise RuntimeError(f"{name}(): does not support {dtype.name.rstrip('0123456789')} input")
    if dim is None and not array.size:
        raise IndexError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
        )
    axis = None
    if dim is not None:
        axis = axis_of(dim, array.ndim)
        check_not_empty(array, axis, name)
    if array.ndim == 0:
        return np.zeros((), np.int64)
    if not array.size:
        empty = add_reduce(array, axis=axis, keepdims=keepdim)
        return np.zeros(empty.shape, np.int64)
    return reduction.extreme_index(array, axis, keepdim, largest)


def check_reducible(array: np.ndarray, axes: tuple[int, ...] | None, name: str) -> None:
    """Raise where a reduction without an identity would have nothing to reduce; None: all axes."""
    if array.size:
        return
    if axes is None:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
            " Specify the reduction dim with the 'dim' argument."
        )
    for axis in axes:
        check_not_empty(array, axis, name)


def check_not_empty(array: np.ndarray, axis: int, name: str) -> None:
    """Raise where a reduction without an identity would have nothing to reduce."""
    if length_of(array.shape, axis) == 0:
        raise IndexError(
            f"{name}(): Expected reduction dim {axis} to have non-zero size; input has shape"
            f" {list(array.shape)}"
        )


def median_index(array: np.ndarray, axis: int, ignore_nan: bool) -> Any:
    """The index of the lower median, the axis kept; of the first nan unless they are ignored."""
    n = length_of(array.shape, axis)
    if array.ndim == 0 or array.dtype not in dtypes.inexact:
        return kth(array, (n - 1) // 2, axis)
    if not np.isnan(np.maximum.reduce(array, axis=None)):
        return kth(array, (n - 1) // 2, axis)
    missing = np.isnan(array)
    if ignore_nan:
        known = n - add_reduce(missing, axis=axis, dtype=np.int64, keepdims=True)
        rank = np.maximum(known - 1, 0) // 2
        wide = widened(array)
        return ranked(wide, take_along(np.sort(wide, axis), rank, axis), rank, axis)
    middle = kth(array, (n - 1) // 2, axis)
    first = np.argmax(missing, axis=axis, keepdims=True)
    return np.where(np.logical_or.reduce(missing, axis=axis, keepdims=True), first, middle)


def mode_index(array: np.ndarray, axis: int) -> np.ndarray:
    """The index of the last of the most frequent values (the smallest of several), axis kept."""
    if array.ndim == 0:
        return np.zeros((), np.int64)
    found = last_of_most(array, axis)
    if found is not None:
        return found
    ranked = moved(order(array, axis), axis, -1)
    values = take_along(moved(array, axis, -1), ranked, array.ndim - 1)
    position = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    starts = np.zeros(values.shape, np.int64)
    fresh = values[..., 1:] != values[..., :-1]
    starts[..., 1:] = np.where(fresh, position[..., 1:], 0)
    length = position - np.maximum.accumulate(starts, axis=-1)
    last = np.argmax(length, axis=-1, keepdims=True)
    return moved(take_along(ranked, last, array.ndim - 1), -1, axis)
