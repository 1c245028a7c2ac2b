"""Taking and adding slices or elements along an axis, compiled.

Arrays are seen as (outer, axis, inner). The work is cut into stripes: a part of `inner` at one
place of `outer`, with all that is along the axis, so that what comes to one element is added by
one thread and in order.
"""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.kernels._jit import CHUNK, get_threads, kernel, usable
from wengert.kernels._jit.builtins import at, i64, i64s, reals

_I64 = np.dtype(np.int64)
_LINE = 16  # numbers of a cache line


@kernel
def _take_slices(
    x: reals, index: i64s, out: reals, length: i64, count: i64, inner: i64, start: i64, stop: i64
) -> None:
    for row in range(start, stop):
        source = at(x, (row // count * length + index[row % count]) * inner)
        target = at(out, row * inner)
        for j in range(inner):
            target[j] = source[j]


@kernel
def _take_numbers(
    x: reals, index: i64s, out: reals, length: i64, count: i64, step: i64, start: i64, stop: i64
) -> None:
    """Where `inner` is 1; from one place of `outer` to the next the index goes on by `step`."""
    for outer in range(start, stop):
        source = at(x, outer * length)
        target = at(out, outer * count)
        places = at(index, outer * step)
        for k in range(count):
            target[k] = source[places[k]]


@kernel
def _add_numbers(
    out: reals, index: i64s, values: reals, length: i64, count: i64, step: i64, left_out: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """The adjoint of `_take_numbers`."""
    for outer in range(start, stop):
        target = at(out, outer * length)
        source = at(values, outer * count)
        places = at(index, outer * step)
        for k in range(count):
            place = places[k]
            if place != left_out:
                target[place] = target[place] + source[k]


@kernel
def _take_elements(
    x: reals, index: i64s, out: reals, length: i64, count: i64, inner: i64, start: i64, stop: i64
) -> None:
    for row in range(start, stop):
        source = at(x, row // count * length * inner)
        first = row * inner
        for j in range(inner):
            out[first + j] = source[index[first + j] * inner + j]


@kernel
def _add_slices(
    out: reals, index: i64s, values: reals, length: i64, count: i64, inner: i64, stripe: i64,
    left_out: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    stripes = (inner + stripe - 1) // stripe
    for task in range(start, stop):
        outer = task // stripes
        first = task % stripes * stripe
        width = min(stripe, inner - first)
        for k in range(count):
            if index[k] != left_out:
                target = at(out, (outer * length + index[k]) * inner + first)
                source = at(values, (outer * count + k) * inner + first)
                for j in range(width):
                    target[j] = target[j] + source[j]


@kernel
def _add_elements(
    out: reals, index: i64s, values: reals, length: i64, count: i64, inner: i64, stripe: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    stripes = (inner + stripe - 1) // stripe
    for task in range(start, stop):
        outer = task // stripes
        first = task % stripes * stripe
        target = at(out, outer * length * inner)
        for k in range(count):
            row = (outer * count + k) * inner
            for j in range(first, min(first + stripe, inner)):
                place = index[row + j] * inner + j
                target[place] = target[place] + values[row + j]


def within(index: np.ndarray, length: int) -> bool:
    """Whether all of some integers (int64 or int32) are from 0 to below a length."""
    if not index.size:
        return True
    # As unsigned numbers the negative ones are larger than any length: one pass instead of two.
    unsigned = np.uint64 if index.dtype.itemsize == 8 else np.uint32
    return bool(np.maximum.reduce(index.view(unsigned), axis=None) < length)


def _fits(array: np.ndarray, index: np.ndarray, axis: int, *more: np.ndarray) -> bool:
    """Whether kernels can do it: plain arrays, and indices that lie within the array."""
    if index.dtype is not _I64 or not index.flags.c_contiguous or not usable(array, *more):
        return False
    return within(index, array.shape[axis])


def take_slices(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray | None:
    """`array.take(index, axis)`; None where NumPy has to do it."""
    if not _fits(array, index, axis):
        return None
    shape = array.shape
    out = np.empty((*shape[:axis], *index.shape, *shape[axis + 1 :]), array.dtype)
    outer, count, inner = prod(shape[:axis]), index.size, prod(shape[axis + 1 :])
    if inner == 1:
        _take_numbers.f32(
            array, index, out, shape[axis], count, 0, outer, max(1, CHUNK // count)
        )  # fmt: skip
    else:
        _take_slices.f32(
            array, index, out, shape[axis], count, inner, outer * count, max(1, CHUNK // inner)
        )  # fmt: skip
    return out


def take_elements(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray | None:
    """An element for each index along an axis; None where NumPy has to do it."""
    if not _as_long(array, index, axis) or not _fits(array, index, axis):
        return None
    shape = array.shape
    out = np.empty(index.shape, array.dtype)
    outer, count, inner = prod(shape[:axis]), index.shape[axis], prod(shape[axis + 1 :])
    if inner == 1:
        _take_numbers.f32(
            array, index, out, shape[axis], count, count, outer, max(1, CHUNK // count)
        )  # fmt: skip
    else:
        _take_elements.f32(
            array, index, out, shape[axis], count, inner, outer * count, max(1, CHUNK // inner)
        )  # fmt: skip
    return out


def add_slices(
    out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int, left_out: int = -1
) -> bool:
    """Add the slices of `values` where the index says, but for one place; False if it cannot."""
    if not _fits(out, index, axis, values):
        return False
    shape = out.shape
    outer, count, inner = prod(shape[:axis]), index.size, prod(shape[axis + 1 :])
    if inner == 1:
        _add_numbers.f32(
            out, index, values, shape[axis], count, 0, left_out,
            outer, max(1, CHUNK // count),
        )  # fmt: skip
        return True
    stripe = _stripe(outer, inner)
    _add_slices.f32(
        out, index, values, shape[axis], count, inner, stripe, left_out,
        outer * -(-inner // stripe), max(1, CHUNK // (count * stripe)),
    )  # fmt: skip
    return True


def add_elements(out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int) -> bool:
    """Add each value where its index along an axis says; False if it cannot."""
    if not _as_long(out, index, axis) or not _fits(out, index, axis, values):
        return False
    shape = out.shape
    outer, count, inner = prod(shape[:axis]), index.shape[axis], prod(shape[axis + 1 :])
    if inner == 1:
        _add_numbers.f32(
            out, index, values, shape[axis], count, count, -1,
            outer, max(1, CHUNK // count),
        )  # fmt: skip
        return True
    stripe = _stripe(outer, inner)
    _add_elements.f32(
        out, index, values, shape[axis], count, inner, stripe,
        outer * -(-inner // stripe), max(1, CHUNK // (count * stripe)),
    )  # fmt: skip
    return True


def _stripe(outer: int, inner: int) -> int:
    """How wide stripes are: all of `inner`, or a part for each thread if there is but one place."""
    if outer > 1:
        return inner
    share = -(-inner // get_threads())
    return min(inner, -(-share // _LINE) * _LINE)


def _as_long(array: np.ndarray, index: np.ndarray, axis: int) -> bool:
    """Whether an index is as long as the array along all other axes."""
    a, b = array.shape, index.shape
    return a[:axis] == b[:axis] and a[axis + 1 :] == b[axis + 1 :]
