"""Sorting along an axis, and choosing the best. Nan counts as the largest."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.axes import length_of, moved
from wengert.kernels.chunks import FEW, SOME, is_plain, pays_off, plain, real_of, rows_of
from wengert.kernels.jit import CHUNK, LARGE, available
from wengert.kernels.precision import widened
from wengert.kernels.ranking import native

# Below this many elements a stable sort costs no more than looking for ties. In a row of a large
# array NumPy is faster up to the second number, and at integers of two bytes up to the third.
_FEW, _FEW_OF_MANY, _FEW_NARROW = 256, 64, 1 << 10
# Best elements up to which a row is gone through once; from which on they are a heap.
_BEST, MANY = 512, 16
# Elements of a row whose indices fit 32 bits; of a row that is gone through however many are best.
_MOST, _SHORT = (1 << 31) - 1, 64
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def order(array: np.ndarray, axis: int, descending: bool = False) -> Any:
    """The indices that sort an array along an axis, ties in their order."""
    if array.ndim == 0:
        return np.zeros((), np.int64)
    if array.shape[axis] > _most_for_numpy(array):
        keys = _keys(array, axis, descending)
        if keys is not None:
            places = _ordered(keys)
            return places if axis == array.ndim - 1 else moved(places, -1, axis)
    if not descending:
        return _stable_order(widened(array), axis)
    # Reversed twice, so that ties keep their order and nan comes first.
    backwards = _stable_order(np.flip(widened(array), axis), axis)
    return (array.shape[axis] - 1) - np.flip(backwards, axis)


def _most_for_numpy(array: np.ndarray) -> int:
    """The length of rows up to which NumPy sorts faster than a kernel."""
    whole = array.dtype.kind in "iub"
    if whole and array.itemsize <= 2:
        return _FEW_NARROW  # by their digits, as kernels do
    return _FEW_OF_MANY if array.size >= LARGE else 2 * _FEW if whole else _FEW


def _keys(array: np.ndarray, axis: int, descending: bool) -> np.ndarray | None:
    """An int32 for each element, in their order or the opposite one, and the axis last.

    None where there are no kernels, or no such integers.
    """
    if array.dtype.kind == "c" or not 0 < array.shape[axis] <= _MOST or not available():
        return None
    flip = -1 if descending else 0
    x = widened(_last(array, axis))
    if x.dtype == _SINGLE:
        x = plain(x)
        keys = np.empty(x.shape, np.int32)
        native.float_keys.f32(x, keys, flip, x.size, CHUNK)
        return keys
    if x.dtype.kind not in "iub" or x.dtype == np.uint64:
        return None
    x = plain(x.astype(np.int64, copy=False))
    low, high = integer_ends(x)
    if high - low >= 1 << 32:
        return None
    keys = np.empty(x.shape, np.int32)
    native.integer_keys.f32(x, keys, low, flip, x.size, CHUNK)
    return keys


def integer_ends(x: np.ndarray) -> tuple[int, int]:
    """The smallest and the largest of some int64, of which there is one at least."""
    if not (is_plain(x) and available()):
        return int(x.min()), int(x.max())
    ends = np.empty((-(-x.size // CHUNK), 2), np.int64)
    native.integer_ends.f32(x, ends, CHUNK, x.size, CHUNK)
    if len(ends) == 1:
        return int(ends[0, 0]), int(ends[0, 1])
    return int(ends[:, 0].min()), int(ends[:, 1].max())


def _ordered(keys: np.ndarray) -> np.ndarray:
    n = keys.shape[-1]
    rows, out = keys.size // n, np.empty(keys.shape, np.int64)
    scratch = np.empty((3, keys.size), np.int32)
    native.orders.f32(keys, out, *scratch, n, rows, rows_of(8 * n))
    return out


def _last(array: np.ndarray, axis: int) -> np.ndarray:
    """The array with an axis moved to the end."""
    return array if axis == array.ndim - 1 else moved(array, axis, -1)


def _stable_order(array: np.ndarray, axis: int) -> np.ndarray:
    """A stable argsort. NumPy's vectorised sort is several times faster and serves if no ties."""
    few = array.shape[axis] <= _FEW
    if few or array.dtype.itemsize < 4 or array.dtype.kind != "f":  # integers have ties
        return np.argsort(array, axis=axis, kind="stable")
    indices = np.argsort(array, axis=axis)
    values = np.take_along_axis(array, indices, axis)
    values = moved(values, axis, -1)
    tied = values[..., 1:] == values[..., :-1]
    if tied.any() or np.isnan(values[..., -1]).any():
        return np.argsort(array, axis=axis, kind="stable")
    return indices


def top(array: np.ndarray, k: int, axis: int, largest: bool) -> Any:
    """The indices of the k largest or smallest elements, best first, of equal ones the first."""
    n = length_of(array.shape, axis)
    if array.ndim and pays_off(array.size, FEW) and takes_best(k, n):
        best = _best_doubles(array, k, axis, largest) if array.dtype == _DOUBLE else None
        if best is None and (keys := _keys(array, axis, not largest)) is not None:
            best = _best(keys, k)
        if best is not None:
            return best if axis == array.ndim - 1 else moved(best, -1, axis)
    if array.ndim == 0 or k == 0 or 4 * k > n or n <= _FEW:
        ranked = order(array, axis, descending=largest)
        return ranked if array.ndim == 0 else _slice(ranked, axis, 0, k)
    wide = widened(array)
    split = n - k if largest else k - 1
    parted = np.argpartition(wide, split, axis=axis)
    chosen = _slice(parted, axis, n - k, n) if largest else _slice(parted, axis, 0, k)
    ranked = order(np.take_along_axis(wide, chosen, axis), axis, descending=largest)
    return np.take_along_axis(chosen, ranked, axis)


def takes_best(k: int, n: int) -> bool:
    """Whether a kernel finds so many best elements in rows of n."""
    return 0 < k <= _BEST and n <= _MOST and (4 * k <= n or n <= _SHORT)


def _best(keys: np.ndarray, k: int) -> np.ndarray:
    n = keys.shape[-1]
    rows, out = keys.size // n, np.empty((*keys.shape[:-1], k), np.int64)
    if k > MANY:
        native.many_tops.f32(keys, out, n, k, rows, rows_of(n))
    else:
        native.tops.f32(keys, out, np.empty(out.size, np.int32), n, k, rows, rows_of(n))
    return out


def _best_doubles(array: np.ndarray, k: int, axis: int, largest: bool) -> np.ndarray | None:
    if not available():
        return None
    x = plain(_last(array, axis))
    n = x.shape[-1]
    rows, shape = x.size // n, (*x.shape[:-1], k)
    out, best = np.empty(shape, np.int64), np.empty(shape, np.int64)
    native.tops_of_doubles.f32(x, out, best, 0 if largest else -1, n, k, rows, rows_of(n))
    return out


def _slice(array: np.ndarray, axis: int, start: int, stop: int) -> np.ndarray:
    return array[(slice(None),) * axis + (slice(start, stop),)]


def kth(array: np.ndarray, k: int, axis: int) -> np.ndarray:
    """The index of the element of rank `k` (0 is the smallest), the axis kept.

    Of the same elements the one before is the smaller.
    """
    if array.ndim == 0:
        return np.zeros((), np.int64)
    wide = widened(array)
    if wide.dtype.kind != "f":
        return _slice(order(wide, axis), axis, k, k + 1)
    if axis != array.ndim - 1:
        rows = plain(moved(wide, axis, -1))
        return moved(kth(rows, k, array.ndim - 1), -1, axis)
    return ranked(wide, _slice(np.partition(wide, k, axis), axis, k, k + 1), k, axis)


def ranked(array: np.ndarray, value: np.ndarray, rank: Any, axis: int) -> np.ndarray:
    """The index of a value of some rank, which is there, along an axis that is kept.

    With the values known, this takes less than to move indices along with elements.
    """
    run = real_of(array) if axis == array.ndim - 1 else None
    if run is not None:
        out, n = np.empty(value.shape, np.int64), array.shape[-1]
        ranks = np.empty(value.shape, np.int64)
        ranks[...] = rank
        getattr(native.ranked_places, run)(
            array, plain(value), ranks, out, n, out.size, rows_of(n)
        )  # fmt: skip
        return out
    missing = value != value
    known = array == array
    below, same = (array < value) | (missing & known), (array == value) | (missing & ~known)
    left = rank - np.add.reduce(below, axis=axis, dtype=np.int64, keepdims=True)
    found: np.ndarray = (same & (np.cumsum(same, axis) == left + 1)).argmax(axis, keepdims=True)
    return found


def insertions(edges: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """How many sorted edges come before each value; with `right` also those that are the same.

    `edges` is a vector, or has a row for each row of values.
    """
    n = edges.shape[-1]
    run = real_of(edges, values) if n and pays_off(values.size, SOME) else None
    if run is None:
        return _insertions_by_numpy(edges, values, "right" if right else "left")
    out = np.empty(values.shape, np.int64)
    width = values.size if edges.ndim == 1 else values.shape[-1]
    blocks = -(-width // native.TOGETHER)
    half = 1 << n.bit_length() - 1
    getattr(native.insertions, run)(
        edges, values, out, n, width, blocks, int(right), half, values.size // width * blocks,
        max(1, CHUNK // (native.TOGETHER * n.bit_length())),
    )  # fmt: skip
    return out


def _insertions_by_numpy(edges: np.ndarray, values: np.ndarray, side: Any) -> np.ndarray:
    if edges.ndim == 1:
        return np.asarray(np.searchsorted(edges, values, side))
    out = np.empty(values.shape, np.int64)
    for row in np.ndindex(edges.shape[:-1]):
        out[row] = np.searchsorted(edges[row], values[row], side)
    return out


def last_of_most(array: np.ndarray, axis: int) -> np.ndarray | None:
    """The last index of the most frequent value, of several the smallest; the axis kept.

    None where there is no kernel.
    """
    keys = _keys(array, axis, False) if array.ndim and pays_off(array.size, FEW) else None
    if keys is None:
        return None
    n = keys.shape[-1]
    out = np.empty((*keys.shape[:-1], 1), np.int64)
    unequal = int(array.dtype.kind not in "iub")  # whether the largest key is that of nan
    native.most_frequent.f32(
        keys, np.sort(keys, axis=-1), out, n, unequal, keys.size // n, rows_of(2 * n)
    )
    return out if axis == array.ndim - 1 else moved(out, -1, axis)
