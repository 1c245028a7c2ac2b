"""Adding and combining values at indices, where an index may come more than once.

A key is what NumPy takes between brackets: a tuple of full slices, integer arrays and
boolean arrays. Callers have checked that indices lie within the array.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from wengert.kernels import masks, strides
from wengert.kernels.chunks import FEW, is_plain, pays_off, plain
from wengert.kernels.jit import LARGE
from wengert.kernels.precision import widened
from wengert.kernels.scatter import native

Key = tuple[Any, ...]
_I64 = np.dtype(np.int64)


def along(index: np.ndarray, axis: int) -> Key:
    """The key under which element (i, j, ...) is that at ``index[i, j, ...]`` along an axis."""
    rank = index.ndim
    return tuple(
        [
            index if d == axis else np.arange(n).reshape((n,) + (1,) * (rank - d - 1))
            for d, n in enumerate(index.shape)
        ]
    )


def vector_of(index: np.ndarray, axis: int) -> np.ndarray | None:
    """The vector that an index repeats along all other axes, as `expand` does; else None."""
    if index.ndim < 2:
        return None
    for d, (n, step) in enumerate(zip(index.shape, index.strides, strict=True)):
        if d != axis and step and n != 1:
            return None
    key: Any = (*(0,) * axis, slice(None), *(0,) * (index.ndim - axis - 1))
    vector: np.ndarray = index[key]
    return vector


def _slices_of(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray | None:
    """The vector of an index that is one of whole slices of an array."""
    if index.size < LARGE or is_plain(index) or not native.as_long(array, index, axis):
        return None
    return vector_of(index, axis)


def take_along(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """For each element of `index`, the array's element at that place along an axis."""
    vector = _slices_of(array, index, axis)
    if vector is not None:
        return take_rows(array, plain(vector), axis)
    if index.size >= FEW:
        found = native.take_elements(array, index, axis)
        if found is not None:
            return found
    return array.reshape(-1).take(_places(array.shape, index, axis))


def sum_along(
    shape: tuple[int, ...], index: np.ndarray, axis: int, values: np.ndarray
) -> np.ndarray:
    """Zeros of this shape with each of `values` added where its index along an axis says."""
    out = np.zeros(shape, values.dtype)
    add_along(out, index, axis, values)
    return out


def add_along(out: np.ndarray, index: np.ndarray, axis: int, values: np.ndarray) -> None:
    """Add each of `values` to a C-contiguous array where its index along an axis says."""
    vector = _slices_of(out, index, axis)
    if vector is not None and native.add_slices(out, plain(vector), values, axis):
        return
    index = plain(index)
    if not (pays_off(index.size, FEW) and native.add_elements(out, index, values, axis)):
        _apply_along(np.add, out, index, axis, values)


def put_along(out: np.ndarray, index: np.ndarray, axis: int, values: np.ndarray) -> None:
    """Write each of `values` to a C-contiguous array where its index along an axis says."""
    index = plain(index)
    if not (pays_off(index.size, FEW) and native.put_elements(out, index, values, axis)):
        out.reshape(-1)[_places(out.shape, index, axis)] = values


def combine_along(
    ufunc: np.ufunc, out: np.ndarray, index: np.ndarray, axis: int, values: np.ndarray
) -> None:
    """As `add_along`, with another function; there are kernels for products and extremes."""
    index = plain(index)
    how = _HOW.get(ufunc) if pays_off(index.size, FEW) else None
    if how is None or not native.combine_elements(out, index, values, axis, how):
        _apply_along(ufunc, out, index, axis, values)


_HOW: dict[np.ufunc, int] = {np.multiply: 0, np.maximum: 1, np.minimum: -1}


def _apply_along(
    ufunc: np.ufunc, out: np.ndarray, index: np.ndarray, axis: int, values: np.ndarray
) -> None:
    """NumPy is fast only at combining into a vector."""
    ufunc.at(out.reshape(-1), _places(out.shape, index, axis).ravel(), values.ravel())


def _places(shape: tuple[int, ...], index: np.ndarray, axis: int) -> np.ndarray:
    """The places of such elements in the order of memory."""
    if index.ndim < 2:
        return index
    inner = prod(shape[axis + 1 :])
    places: np.ndarray = index if index.dtype is _I64 else index.astype(np.int64)
    if inner != 1:
        places = places * inner
    return places + _other_places(shape, index.shape, axis)


@lru_cache(maxsize=32)
def _other_places(shape: tuple[int, ...], index: tuple[int, ...], axis: int) -> np.ndarray:
    """What the other axes add to a place."""
    steps = [prod(shape[d + 1 :]) for d in range(len(shape))]
    parts = [
        np.arange(n).reshape((n,) + (1,) * (len(index) - d - 1)) * steps[d]
        for d, n in enumerate(index)
        if d != axis
    ]
    found: np.ndarray = sum(parts[1:], parts[0])
    return found


def take_rows(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """The slices at indices of an axis; IndexError for one out of bounds."""
    if array.size >= LARGE and index.size > 1:
        found = native.take_slices(array, index, axis)
        if found is not None:
            return found
        known = not axis and index.dtype is _I64 and is_plain(index)
        if known and native.within(index, len(array)):
            found = strides.take(array, index)
            if found is not None:
                return found
    return array.take(index, axis)


def sum_bags(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The sums of the rows at the indices in the last dimension of `index`, which are in bounds."""
    if index.size * table.shape[1] >= LARGE:
        found = native.sum_bags(table, index)
        if found is not None:
            return found
    return widened(table.take(index, 0)).sum(-2)


def take_at(array: np.ndarray, key: Key) -> np.ndarray:
    """``array[key]``, as a copy."""
    if len(key) > 1 and array.flags.c_contiguous:
        places = native.flat_places(key, array.shape)
        if places is not None:
            return take_rows(array.reshape(-1, *array.shape[len(key) :]), places, 0)
    if len(key) == 1 and key[0].dtype == bool:
        return masks.taken(array, key[0])
    return array[key]


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
    if len(key) == 1 and key[0].dtype == bool:  # names each element once
        return masks.spread(values, key[0], shape)
    out = np.zeros(shape, values.dtype)
    add_at(out, key, values)
    return out


def add_at(out: np.ndarray, key: Key, values: np.ndarray) -> None:
    """Add `values`, as shaped by the key, at its indices of an array."""
    if len(key) == 1 and key[0].dtype == bool:
        out[key] += values
        return
    if not out.flags.c_contiguous:
        out += sum_at(out.shape, key, values)
        return
    large = pays_off(values.size, FEW)
    if large:
        values = np.ascontiguousarray(values)  # as kernels read them; a sum's gradient repeats one
    if large and _of_one_axis(key) and _added(out, key[-1], values, len(key) - 1):
        return
    arrays, axes = integer_parts(key)
    others = [d for d in range(out.ndim) if d not in axes]
    steps = [prod(out.shape[d + 1 :]) for d in range(out.ndim)]
    places: Any = 0
    for index, d in zip(arrays, axes, strict=True):
        n = out.shape[d]
        if index.dtype != np.int64 or not native.within(index, n):
            index = np.where(index < 0, index + n, index)
        places = places + (index if steps[d] == 1 else index * steps[d])
    rank = np.ndim(places)
    at = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0
    lead = np.moveaxis(values, range(at, at + rank), range(rank)) if at and rank else values
    for d in others:
        places = np.asarray(places)[..., None] + np.arange(out.shape[d]) * steps[d]
    flat, given = out.reshape(-1), lead.ravel()
    positions = np.asarray(places, np.int64).ravel()
    if not large or not _added(flat, positions, given, 0):
        np.add.at(flat, positions, given)


def _added(out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int) -> bool:
    """Add slices along an axis; False if no kernel can."""
    if native.add_slices(out, index, values, axis):
        return True
    return out.ndim == 1 and native.add_integers(out, index, values)


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


def _add_rows(out: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Add ``values[k]`` to ``out[rows[k]]``. NumPy is fast only at adding numbers to a vector."""
    if values.size >= LARGE and native.add_slices(out, rows, values, 0):
        return
    width = out.shape[1]
    places = rows if width == 1 else (rows[:, None] * width + np.arange(width)).ravel()
    np.add.at(out.reshape(-1), places, values.ravel())


def largest_rows(x: np.ndarray, bag: np.ndarray, bags: int) -> np.ndarray:
    """For each bag and column the row of the first of the largest elements; 0 for an empty bag.

    `bag` has the bag of each row, `bags` or more for none. Nothing is larger than nan.
    """
    found = native.largest_rows(x, bag, bags)
    if found is not None:
        return np.maximum(found, 0, out=found)
    found = np.zeros((bags, x.shape[1]), np.int64)
    order = np.argsort(bag, kind="stable")
    order = order[: np.searchsorted(bag[order], bags)]
    if order.size:
        used, starts, counts = np.unique(bag[order], return_index=True, return_counts=True)
        values = x[order]
        largest = np.repeat(np.fmax.reduceat(values, starts), counts, axis=0)
        ties = values == largest
        ties[starts] |= values[starts] != values[starts]
        ranks = np.where(ties, order[:, None], len(bag))
        found[used] = np.minimum.reduceat(ranks, starts)
    return found
