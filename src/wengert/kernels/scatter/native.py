"""Taking and adding slices or elements along an axis, compiled.

Arrays are viewed as (outer, axis, inner). The work is split into stripes: a range of `inner` at one
index of `outer`, with the whole axis, so that each element is accumulated by one thread, in
order.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.kernels.calling import Caller
from wengert.kernels.chunks import FEW, is_plain, real_of, stored_of
from wengert.kernels.jit import CHUNK, available, get_threads, kernel, loaded
from wengert.kernels.jit.builtins import at, i64, i64s, inline, real, reals, storeds

_I64 = np.dtype(np.int64)
_LINE = 16  # numbers of a cache line
_BY_SIZE = {4: "f32", 8: "f64"}


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
def _sum_slices(
    table: reals, index: i64s, out: reals, length: i64, inner: i64, start: i64, stop: i64
) -> None:
    """Of each bag of so many rows their sum, in the order of its indices."""
    for bag in range(start, stop):
        rows = at(index, bag * length)
        target = at(out, bag * inner)
        first = at(table, rows[0] * inner)
        for j in range(inner):
            target[j] = first[j]
        for k in range(1, length):
            source = at(table, rows[k] * inner)
            for j in range(inner):
                target[j] = target[j] + source[j]


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
    out: storeds, index: i64s, values: storeds, length: i64, count: i64, step: i64, left_out: i64,
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
def _add_integers(out: i64s, index: i64s, values: i64s, start: i64, stop: i64) -> None:
    """To a vector, as one piece of work."""
    for k in range(start, stop):
        out[index[k]] = out[index[k]] + values[k]


def add_integers(out: np.ndarray, index: np.ndarray, values: np.ndarray) -> bool:
    """Add int64 to those of a vector where the index, of the same shape, says; or False."""
    run = _run(out, index, 0, values) if out.dtype == values.dtype == _I64 else None
    if run is not None:
        _add_integers.f32(out, index, values, index.size, index.size)
    return run is not None


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
    out: storeds, index: i64s, values: storeds, length: i64, count: i64, inner: i64, stripe: i64,
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
    out: storeds, index: i64s, values: storeds, length: i64, count: i64, inner: i64, stripe: i64,
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


@inline
def _combined(old: real, value: real, how: i64) -> real:
    """The product (`how` is 0), or the larger (1) or the smaller number (-1), NaN if one is."""
    better = value > old if how == 1 else value < old
    extreme = value if better or value != value else old
    return old * value if how == 0 else extreme


@kernel
def _combine_elements(
    out: reals, index: i64s, values: reals, length: i64, count: i64, inner: i64, stripe: i64,
    how: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    stripes = (inner + stripe - 1) // stripe
    for task in range(start, stop):
        outer = task // stripes
        first = task % stripes * stripe
        target = at(out, outer * length * inner)
        if inner == 1 and how == 0:  # by itself, for the choice takes longer than the product
            for k in range(outer * count, (outer + 1) * count):
                target[index[k]] = target[index[k]] * values[k]
        elif inner == 1:
            for k in range(outer * count, (outer + 1) * count):
                target[index[k]] = _combined(target[index[k]], values[k], how)
        else:
            for k in range(count):
                row = (outer * count + k) * inner
                for j in range(first, min(first + stripe, inner)):
                    place = index[row + j] * inner + j
                    target[place] = _combined(target[place], values[row + j], how)


@kernel
def _put_elements(
    out: reals, index: i64s, values: reals, length: i64, count: i64, inner: i64, start: i64,
    stop: i64,
) -> None:  # fmt: skip
    """The element that is written last stays."""
    for outer in range(start, stop):
        target = at(out, outer * length * inner)
        if inner == 1:
            for k in range(outer * count, (outer + 1) * count):
                target[index[k]] = values[k]
        else:
            for k in range(count):
                row = (outer * count + k) * inner
                for j in range(inner):
                    target[index[row + j] * inner + j] = values[row + j]


@kernel
def _find_outside(index: i64s, length: i64, found: i64s, start: i64, stop: i64) -> None:
    """Note whether an index is negative, or as large as the length: a sign of either stays."""
    signs = 0
    for i in range(start, stop):
        signs = signs | index[i] | (length - 1 - index[i])
    if signs < 0:
        found[0] = 1


def within(index: np.ndarray, length: int) -> bool:
    """Whether all of some integers (int64 or int32) are from 0 to below a length."""
    if index.size < FEW and not loaded():
        few = index.ravel().tolist()
        return not few or (min(few) >= 0 and max(few) < length)
    if index.dtype is _I64 and is_plain(index) and available():
        found = np.zeros(1, np.int64)
        _find_outside.f32(index, length, found, index.size, CHUNK)
        return not found[0]
    # As unsigned numbers the negative ones are larger than any length: one pass instead of two.
    unsigned = np.uint64 if index.dtype.itemsize == 8 else np.uint32
    return bool(np.maximum.reduce(index.view(unsigned), axis=None) < length)


@kernel
def _add_places(out: i64s, index: i64s, n: i64, found: i64s, start: i64, stop: i64) -> None:
    """Go on to one more dimension: its index, which if negative counts from the end."""
    signs = 0
    for k in range(start, stop):
        i = index[k] + n if index[k] < 0 else index[k]
        signs = signs | i | (n - 1 - i)
        out[k] = out[k] * n + i
    if signs < 0:
        found[0] = 1


def flat_places(key: tuple[Any, ...], shape: tuple[int, ...]) -> np.ndarray | None:
    """The places at index arrays of the first dimensions, counted as if these were one.

    None for other keys, and where an index is out of bounds.
    """
    first = key[0]
    for index in key:
        if isinstance(index, slice) or index.dtype is not _I64 or index.shape != first.shape:
            return None
        if not is_plain(index):
            return None
    if first.size < FEW or len(key) > len(shape) or not available():
        return None
    out, found = np.zeros(first.shape, np.int64), np.zeros(1, np.int64)
    for index, n in zip(key, shape, strict=False):
        _add_places.f32(out, index, n, found, index.size, CHUNK)
    return None if found[0] else out


def _run(array: np.ndarray, index: np.ndarray, axis: int, *more: np.ndarray) -> str | None:
    """The variant of kernels that can do it: plain arrays, and indices within the array.

    Elements that are moved, and not computed with, count as floats of their size.
    """
    for a in (array, *more, index):
        if not is_plain(a):
            return None
    if index.dtype is not _I64 or not available():
        return None
    return _BY_SIZE.get(array.dtype.itemsize) if within(index, array.shape[axis]) else None


def _sums(array: np.ndarray, index: np.ndarray, axis: int, values: np.ndarray) -> str | None:
    """The same for arrays that are added to."""
    known = array.dtype == values.dtype and array.dtype.kind == "f" and array.dtype.itemsize >= 4
    return _run(array, index, axis, values) if known else None


def _stored_sums(array: np.ndarray, index: np.ndarray, axis: int, values: np.ndarray) -> str | None:
    """The same, of halves as well: each sum is rounded, as NumPy does."""
    run = stored_of(array, values)
    known = run is not None and index.dtype is _I64 and is_plain(index)
    return run if known and within(index, array.shape[axis]) else None


@kernel
def checked_places(
    index: i64s, out: i64s, wrong: i64s, n: i64, first: i64, start: i64, stop: i64
) -> None:
    """Go on to a dimension of places, or begin with it: its index, which may be negative.

    0 stands for an index out of bounds, of which one is noted.
    """
    for k in range(start, stop):
        i = index[k]
        place = i + n if i < 0 else i
        before = 0 if first == 1 else out[k] * n
        if place >= 0 and place < n:
            out[k] = before + place
        else:
            out[k] = before
            wrong[1] = i
            wrong[0] = 1


def call_take(
    caller: Caller, x: Any, index: Any, out: Any, sizes: tuple[int, int, int], alike: bool
) -> None:
    """Take slices of a dimension at places in bounds; with `alike`, an element for each index.

    `sizes` is how many elements are before the dimension, its length, and how many are behind.
    """
    outer, length, inner = sizes
    count = prod(index.shape) // (outer * inner if alike else 1)
    if inner == 1:
        caller.call(
            _take_numbers.f32, x, index, out, length, count, count if alike else 0, total=outer,
            chunk=max(1, CHUNK // count),
        )  # fmt: skip
    else:
        caller.call(
            (_take_elements if alike else _take_slices).f32, x, index, out, length, count, inner,
            total=outer * count, chunk=max(1, CHUNK // inner),
        )  # fmt: skip


def call_add(
    caller: Caller, out: Any, index: Any, values: Any, sizes: tuple[int, int, int], alike: bool
) -> None:
    """The adjoint of `call_take`, added to what is there."""
    outer, length, inner = sizes
    count = prod(index.shape) // (outer * inner if alike else 1)
    if inner == 1:
        caller.call(
            _add_numbers.f32, out, index, values, length, count, count if alike else 0, -1,
            total=outer, chunk=max(1, CHUNK // count),
        )  # fmt: skip
        return
    stripe = _stripe(outer, inner)
    total, chunk = outer * -(-inner // stripe), max(1, CHUNK // (count * stripe))
    if alike:
        caller.call(
            _add_elements.f32, out, index, values, length, count, inner, stripe, total=total,
            chunk=chunk,
        )  # fmt: skip
    else:
        caller.call(
            _add_slices.f32, out, index, values, length, count, inner, stripe, -1, total=total,
            chunk=chunk,
        )  # fmt: skip


def call_put(
    caller: Caller, out: Any, index: Any, values: Any, sizes: tuple[int, int, int]
) -> None:
    """Write an element for each index, which is in bounds, of what is there; the last one stays."""
    outer, length, inner = sizes
    count = prod(index.shape) // (outer * inner)
    caller.call(
        _put_elements.f32, out, index, values, length, count, inner, total=outer,
        chunk=max(1, CHUNK // (count * inner)),
    )  # fmt: skip


def call_take_rows(caller: Caller, x: Any, index: Any, out: Any) -> None:
    """Take the rows of a table at indices that are in bounds; of float32."""
    count, inner = prod(index.shape), x.shape[1]
    caller.call(
        _take_slices.f32, x, index, out, x.shape[0], count, inner, total=count,
        chunk=max(1, CHUNK // inner),
    )  # fmt: skip


def call_add_rows(caller: Caller, out: Any, index: Any, values: Any, left_out: int) -> None:
    """Add rows to those at indices that are in bounds, but for one; of float32."""
    count, inner = prod(index.shape), out.shape[1]
    stripe = _stripe(1, inner)
    stripes = -(-inner // stripe)
    caller.call(
        _add_slices.f32, out, index, values, out.shape[0], count, inner, stripe, left_out,
        total=stripes, chunk=max(1, CHUNK // (count * stripe)),
    )  # fmt: skip


def take_slices(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray | None:
    """`array.take(index, axis)`; None where NumPy has to do it."""
    run = _run(array, index, axis)
    if run is None:
        return None
    shape = array.shape
    out = np.empty((*shape[:axis], *index.shape, *shape[axis + 1 :]), array.dtype)
    outer, count, inner = prod(shape[:axis]), index.size, prod(shape[axis + 1 :])
    if inner == 1:
        getattr(_take_numbers, run)(
            array, index, out, shape[axis], count, 0, outer, max(1, CHUNK // count)
        )  # fmt: skip
    else:
        getattr(_take_slices, run)(
            array, index, out, shape[axis], count, inner, outer * count, max(1, CHUNK // inner)
        )  # fmt: skip
    return out


def sum_bags(table: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """The sums of the rows at the indices in the last dimension; None where NumPy has to do it."""
    run = _run(table, index, 0) if table.dtype.kind == "f" and table.dtype.itemsize >= 4 else None
    if run is None:
        return None
    bags, length, inner = prod(index.shape[:-1]), index.shape[-1], table.shape[1]
    out = np.empty((*index.shape[:-1], inner), table.dtype)
    getattr(_sum_slices, run)(
        table, index, out, length, inner, bags, max(1, CHUNK // (length * inner))
    )  # fmt: skip
    return out


def take_elements(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray | None:
    """An element for each index along an axis; None where NumPy has to do it."""
    run = _run(array, index, axis) if as_long(array, index, axis) else None
    if run is None:
        return None
    shape = array.shape
    out = np.empty(index.shape, array.dtype)
    outer, count, inner = prod(shape[:axis]), index.shape[axis], prod(shape[axis + 1 :])
    if inner == 1:
        getattr(_take_numbers, run)(
            array, index, out, shape[axis], count, count, outer, max(1, CHUNK // count)
        )  # fmt: skip
    else:
        getattr(_take_elements, run)(
            array, index, out, shape[axis], count, inner, outer * count, max(1, CHUNK // inner)
        )  # fmt: skip
    return out


def add_slices(
    out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int, left_out: int = -1
) -> bool:
    """Add the slices of `values` where the index says, but for one place; False if it cannot."""
    run = _stored_sums(out, index, axis, values)
    if run is None:
        return False
    shape = out.shape
    count = index.size
    if prod(shape[axis + 1 :]) == 1:
        getattr(_add_numbers, run)(
            out, index, values, shape[axis], count, 0, left_out,
            prod(shape[:axis]), max(1, CHUNK // count),
        )  # fmt: skip
        return True
    _in_stripes(getattr(_add_slices, run), out, index, values, axis, count, left_out)
    return True


def add_elements(out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int) -> bool:
    """Add each value where its index along an axis says; False if it cannot."""
    run = _stored_sums(out, index, axis, values) if as_long(out, index, axis) else None
    if run is None:
        return False
    shape = out.shape
    count = index.shape[axis]
    if prod(shape[axis + 1 :]) == 1:
        getattr(_add_numbers, run)(
            out, index, values, shape[axis], count, count, -1,
            prod(shape[:axis]), max(1, CHUNK // count),
        )  # fmt: skip
        return True
    _in_stripes(getattr(_add_elements, run), out, index, values, axis, count)
    return True


def combine_elements(
    out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int, how: int
) -> bool:
    """Combine elements with each value where its index along an axis says; False if it cannot."""
    run = _sums(out, index, axis, values) if as_long(out, index, axis) else None
    if run is None:
        return False
    _in_stripes(getattr(_combine_elements, run), out, index, values, axis, index.shape[axis], how)
    return True


def put_elements(out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int) -> bool:
    """Write each value where its index along an axis says; False if it cannot."""
    if out.dtype != values.dtype or not as_long(out, index, axis):
        return False
    run = _run(out, index, axis, values)
    if run is None:
        return False
    shape = out.shape
    outer, count, inner = prod(shape[:axis]), index.shape[axis], prod(shape[axis + 1 :])
    getattr(_put_elements, run)(
        out, index, values, shape[axis], count, inner, outer, max(1, CHUNK // (count * inner))
    )  # fmt: skip
    return True


def _in_stripes(
    kernel: Any, out: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int, count: int,
    *more: int,
) -> None:  # fmt: skip
    """Call a kernel whose tasks are stripes of `out`."""
    shape = out.shape
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    stripe = _stripe(outer, inner)
    kernel(
        out, index, values, shape[axis], count, inner, stripe, *more,
        outer * -(-inner // stripe), max(1, CHUNK // (count * stripe)),
    )  # fmt: skip


def _stripe(outer: int, inner: int) -> int:
    """How wide stripes are: all of `inner`, or a part for each thread if there is but one place."""
    if outer > 1:
        return inner
    share = -(-inner // get_threads())
    return min(inner, -(-share // _LINE) * _LINE)


def as_long(array: np.ndarray, index: np.ndarray, axis: int) -> bool:
    """Whether an index is as long as the array along all other axes."""
    a, b = array.shape, index.shape
    return len(a) == len(b) and a[:axis] == b[:axis] and a[axis + 1 :] == b[axis + 1 :]


@kernel
def _largest_rows(
    x: reals, bag: i64s, best: reals, place: i64s, width: i64, bags: i64, start: i64, stop: i64
) -> None:
    """One piece of work, which takes rows in their order; `place` has been -1."""
    for k in range(start, stop):
        if bag[k] < bags:
            row = at(x, k * width)
            top = at(best, bag[k] * width)
            to = at(place, bag[k] * width)
            for c in range(width):
                better = to[c] < 0 or row[c] > top[c]
                to[c] = k if better else to[c]
                top[c] = row[c] if better else top[c]


def largest_rows(x: np.ndarray, bag: np.ndarray, bags: int) -> np.ndarray | None:
    """For each bag and column the row of the first of the largest elements; -1 for an empty bag.

    `bag` has the bag of each row, `bags` or more for none. Nothing is larger than nan.
    """
    run = real_of(x) if x.size and bag.dtype == _I64 and bag.flags.c_contiguous else None
    if run is None:
        return None
    width = x.shape[1]
    place, best = np.full((bags, width), -1), np.empty((bags, width), x.dtype)
    getattr(_largest_rows, run)(x, bag, best, place, width, bags, len(x), len(x))
    return place
