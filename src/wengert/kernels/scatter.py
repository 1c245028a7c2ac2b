"""Adding and combining values at indices, where an index may come more than once.

A key is what NumPy takes between brackets: a tuple of full slices, integer arrays and
boolean arrays. Callers have checked that indices lie within the array.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.kernels import scatter_native as native
from wengert.kernels._jit import LARGE

Key = tuple[Any, ...]


def along(index: np.ndarray, axis: int) -> Key:
    """The key under which element (i, j, ...) is that at ``index[i, j, ...]`` along an axis."""
    rank = index.ndim
    return tuple(
        [
            index if d == axis else np.arange(n).reshape((n,) + (1,) * (rank - d - 1))
            for d, n in enumerate(index.shape)
        ]
    )


def take_along(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """For each element of `index`, the array's element at that place along an axis."""
    if index.size >= LARGE:
        found = native.take_elements(array, index, axis)
        if found is not None:
            return found
    found = array[along(index, axis)]
    return found


def sum_along(
    shape: tuple[int, ...], index: np.ndarray, axis: int, values: np.ndarray
) -> np.ndarray:
    """Zeros of this shape with each of `values` added where its index along an axis says."""
    if index.size >= LARGE:
        out = np.zeros(shape, values.dtype)
        if native.add_elements(out, index, values, axis):
            return out
    return sum_at(shape, along(index, axis), values)


def take_rows(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """The slices at indices of an axis; IndexError for one out of bounds."""
    if array.size >= LARGE and index.size > 1:
        found = native.take_slices(array, index, axis)
        if found is not None:
            return found
    return array.take(index, axis)


def sum_rows(rows: int, index: np.ndarray, values: np.ndarray, left_out: int | None) -> np.ndarray:
    """Zeros of as many rows, and each of `values` added to that of its index but for one row."""
    out = np.zeros((rows, values.shape[-1]), values.dtype)
    skipped = -1 if left_out is None else left_out
    if values.size >= LARGE and native.add_slices(out, index, values, 0, skipped):
        return out
    if left_out is not None:
        kept = index != left_out
        index, values = index[kept], values[kept]
    _add_rows(out, index.ravel(), values.reshape(index.size, out.shape[1]))
    return out


def sum_at(shape: tuple[int, ...], key: Key, values: np.ndarray) -> np.ndarray:
    """Zeros of this shape with `values`, as shaped by the key, added at its indices."""
    if values.size >= LARGE and _of_one_axis(key):
        out = np.zeros(shape, values.dtype)
        if native.add_slices(out, key[-1], values, len(key) - 1):
            return out
    if len(key) == 1 and key[0].dtype == bool:
        out = np.zeros(shape, values.dtype)
        out[key] = values
        return out
    arrays, axes = integer_parts(key)
    rest = [d for d in range(len(shape)) if d not in axes]
    lengths = [shape[d] for d in axes]
    index = _flat_index(arrays, lengths)
    adjacent = axes[-1] - axes[0] == len(axes) - 1
    at = axes[0] if adjacent else 0
    lead = np.moveaxis(values, range(at, at + index.ndim), range(index.ndim))
    out = np.zeros((prod(lengths), prod(shape[d] for d in rest)), values.dtype)
    _add_rows(out, index.ravel(), lead.reshape(index.size, out.shape[1]))
    whole = out.reshape(lengths + [shape[d] for d in rest])
    return np.moveaxis(whole, range(len(axes)), axes)


def _of_one_axis(key: Key) -> bool:
    """Whether a key has one array of integers, behind slices."""
    last = key[-1]
    if isinstance(last, slice) or last.dtype == bool:
        return False
    return all([isinstance(item, slice) for item in key[:-1]])


def integer_parts(key: Key) -> tuple[list[Any], list[int]]:
    """The key's integer arrays (of masks, where they are true) and the axes they stand for.

    Other indices, such as tensors, count as integers if their dtype is not NumPy's bool.
    """
    arrays: list[Any] = []
    axes: list[int] = []
    axis = 0
    for item in key:
        if isinstance(item, slice):
            axis += 1
            continue
        parts = item.nonzero() if item.dtype == bool else (item,)
        arrays += parts
        axes += range(axis, axis + len(parts))
        axis += len(parts)
    return arrays, axes


def _flat_index(arrays: list[np.ndarray], lengths: list[int]) -> np.ndarray:
    """Row-major positions from an index for each axis, negative ones counted from the end."""
    flat: Any = 0
    for index, n in zip(arrays, lengths, strict=True):
        flat = flat * n + np.where(index < 0, index + n, index)
    return np.asarray(flat, np.intp)


def _add_rows(out: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Add ``values[k]`` to ``out[rows[k]]``. NumPy is fast only at adding numbers to a vector."""
    if values.size >= LARGE and native.add_slices(out, rows, values, 0):
        return
    width = out.shape[1]
    places = rows if width == 1 else (rows[:, None] * width + np.arange(width)).ravel()
    np.add.at(out.reshape(-1), places, values.ravel())
