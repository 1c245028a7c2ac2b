"""What kernels read of the heads of Python's objects: of arrays, where and how they lie."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import array_at, at, f32, f32s, i32, i64, i64s, inline, item

F32 = np.dtype(np.float32)
# C-contiguous, aligned, writeable.
_ALIGNED = 0x100
_PLAIN = 0x1 | _ALIGNED | 0x400
# What a layout has for a stride that may be any.
_ANY = -(1 << 62)
# The size of an object's header, which its own fields follow.
HEAD = object.__basicsize__
# Of the fields of an array, which of those of eight bytes hold the addresses of its data, its
# shape, its strides and its dtype, and at which byte the number of its dimensions and its flags
# begin.
DATA, SHAPE, _STRIDES, _DTYPE = 0, 2, 3, 5
NDIM, _FLAGS = 8, 48


@inline
def is_array(object: i64, head: i64, kind: i64) -> i64:
    """Whether an object is an array, by the type that its head ends with."""
    return 1 if array_at(i64, object + head - 8)[0] == kind else 0


@inline
def is_plain(fields: i64, dtype: i64, ndim: i64, shape: i64s) -> i64:
    """Whether an array of this dtype and shape lies in C order and may be written."""
    plain = 1
    if (array_at(i32, fields + _FLAGS)[0] & _PLAIN) != _PLAIN:
        plain = 0
    if array_at(i64, fields)[_DTYPE] != dtype:
        plain = 0
    if array_at(i32, fields + NDIM)[0] != ndim:
        plain = 0
    else:
        own = array_at(i64, array_at(i64, fields)[SHAPE])
        for d in range(ndim):
            if own[d] != shape[d]:
                plain = 0
    return plain


@inline
def _count_at(array: i64, head: i64, kind: i64, dtype: i64) -> i64:
    """The address of the only number of an array of that dtype without dimensions; otherwise 0."""
    address = 0
    if is_array(array, head, kind) == 1:
        fields = array_at(i64, array + head)
        if is_plain(array + head, dtype, 0, fields) == 1:
            address = fields[DATA]
    return address


@kernel
def _advance(
    arrays: i64, head: i64, kind: i64, dtype: i64, count: i64, found: f32s, start: i64, stop: i64
) -> None:
    """Add 1 to the numbers in a list of arrays (by its id), if they are equal.

    `found` gets what they are then, and 1. It gets 0 in that place, and nothing has changed, if
    they differ or some are not of one float32 each.
    """
    found[1] = 1.0
    for k in range(count):
        address = _count_at(item(arrays, k), head, kind, dtype)
        if address == 0:
            found[1] = 0.0
        else:
            if k == 0:
                found[0] = array_at(f32, address)[0]
            if array_at(f32, address)[0] != found[0]:
                found[1] = 0.0
    if found[1] == 1.0:
        before = found[0]
        for k in range(count):
            number = array_at(f32, _count_at(item(arrays, k), head, kind, dtype))
            if number[0] != before:  # it comes twice
                found[1] = 0.0
            number[0] = before + 1.0
        if found[1] == 0.0:
            for k in range(count):
                array_at(f32, _count_at(item(arrays, k), head, kind, dtype))[0] = before
        found[0] = before + 1.0


def advanced(counts: list[np.ndarray]) -> float | None:
    """Add 1 to some counts, which are equal; what they are then.

    None, and nothing has changed, if they differ, or are not of float32.
    """
    found = np.empty(2, F32)
    _advance.f32(id(counts), HEAD, id(np.ndarray), id(F32), len(counts), found, 1, 1)
    count, equal = found.tolist()
    return count if equal else None


@inline
def _fields_fit(fields: i64, layout: i64s) -> i64:
    """Whether an array is aligned and has this dtype, shape and strides."""
    ndim = layout[1]
    fits = 1
    if (array_at(i32, fields + _FLAGS)[0] & _ALIGNED) == 0:
        fits = 0
    if array_at(i64, fields)[_DTYPE] != layout[0]:
        fits = 0
    if array_at(i32, fields + NDIM)[0] != ndim:
        fits = 0
    else:
        shape = array_at(i64, array_at(i64, fields)[SHAPE])
        strides = array_at(i64, array_at(i64, fields)[_STRIDES])
        for d in range(ndim):
            step = layout[2 + ndim + d]
            if shape[d] != layout[2 + d] or (step != _ANY and strides[d] != step):
                fits = 0
    return fits


@inline
def lies_as(array: i64, head: i64, kind: i64, layout: i64s) -> i64:
    """Whether an object is an array that is aligned and has this dtype, shape and strides."""
    fits = 0
    known = is_array(array, head, kind)
    if known == 1:  # `and` would read what is not there
        fits = _fields_fit(array + head, layout)
    return fits


@kernel
def _lie(
    arrays: i64, head: i64, kind: i64, layouts: i64s, count: i64, found: i64s, start: i64, stop: i64
) -> None:
    """Whether the arrays in a list (by its id) lie as `layouts` says, one after the other."""
    found[0] = 1
    place = 0
    for k in range(count):
        fits = lies_as(item(arrays, k), head, kind, at(layouts, place))
        if fits == 0:
            found[0] = 0
        place += 2 + 2 * layouts[place + 1]


class Layouts:
    """How some arrays have to lie: their shapes, strides and dtypes.

    For who only reads elements, the strides of dimensions of one element may be any: `reading`.
    """

    def __init__(
        self, wanted: Sequence[tuple[tuple[int, ...], tuple[int, ...], np.dtype]],
        reading: bool = False,
    ) -> None:  # fmt: skip
        self.count = len(wanted)
        self.dtypes = [dtype for *_, dtype in wanted]
        rows = [
            [
                id(dtype), len(shape), *shape,
                *[_ANY if reading and n == 1 else s for n, s in zip(shape, steps, strict=True)],
            ]
            for shape, steps, dtype in wanted
        ]  # fmt: skip
        self.table = np.array([word for row in rows for word in row], np.int64)

    def fit(self, arrays: list[Any]) -> bool:
        """Whether so many objects are arrays that lie so; some that do may be missed."""
        if len(arrays) != self.count or not knows_strides():
            return False
        found = np.empty(1, np.int64)
        _lie.f32(id(arrays), HEAD, id(np.ndarray), self.table, self.count, found, 1, 1)
        return bool(found.item())


@cache
def knows_strides() -> bool:
    """Whether the heads of arrays are those of this NumPy: strides, shape and dtype are found."""
    one = np.zeros((3, 2), F32)
    layout = np.array([id(F32), 2, 3, 2, 8, 4], np.int64)
    odd: list[Any] = [one.T, one[:, ::-1], one.astype(np.float64), one[:2], one[0], one.data, one]
    found, answers = np.empty(1, np.int64), []
    for x in odd:
        arrays = [x]
        _lie.f32(id(arrays), HEAD, id(np.ndarray), layout, 1, found, 1, 1)
        answers.append(found.item())
    return answers == [0] * 6 + [1]
