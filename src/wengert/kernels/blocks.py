"""Copies of blocks between large arrays, row by row.

NumPy copies rows that are not a whole array element by element, which is many times slower than
`memcpy` where source and target lie a few bytes apart modulo a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from wengert.kernels._jit import CHUNK, available, kernel
from wengert.kernels._jit.builtins import at, i64, u8s
from wengert.kernels._jit.native import native

# Bytes of an array, and of a row, from which a kernel is worth it.
_LARGE, _LONG = 1 << 15, 1 << 6


@native(
    "define internal void @move_bytes(ptr %q, ptr %p, i64 %n) alwaysinline nounwind {\n"
    "  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 %n, i1 false)\n"
    "  ret void\n}",
    "void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
)
def move_bytes(target: u8s, source: u8s, size: i64) -> None:
    """So many bytes, which do not overlap."""
    target[:size] = source[:size]


@kernel
def _rows(
    source: u8s, target: u8s, middle: i64, outer_from: i64, from_: i64, outer_to: i64, to: i64,
    width: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Rows of bytes; what comes before them has two dimensions with steps of their own."""
    for row in range(start, stop):
        p = at(source, row // middle * outer_from + row % middle * from_)
        q = at(target, row // middle * outer_to + row % middle * to)
        move_bytes(q, p, width)


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """``target[...] = source``, of one shape and dtype and without memory in common."""
    plan = _plan(target, source)
    if plan is None or not available():
        target[...] = source
        return
    rows, width, numbers = plan
    _rows.f32(source, target, *numbers, width, rows, max(1, 4 * CHUNK // width))


def _plan(target: np.ndarray, source: np.ndarray) -> tuple[int, int, tuple[int, ...]] | None:
    """The number of rows, their bytes, and the numbers that the kernel takes before those."""
    size, shape = target.dtype.itemsize, target.shape
    if target.nbytes < _LARGE or target.dtype != source.dtype or shape != source.shape:
        return None
    # The last dimensions, in which neighbours in both arrays are neighbours in memory, are a row.
    width, d = size, target.ndim
    while d and (shape[d - 1] == 1 or target.strides[d - 1] == source.strides[d - 1] == width):
        width *= shape[d - 1]
        d -= 1
    others = [k for k in range(d) if shape[k] != 1]
    if width < _LONG or len(others) > 2:
        return None
    steps = [(source.strides[k], target.strides[k], shape[k]) for k in others]
    while len(steps) < 2:
        steps.insert(0, (0, 0, 1))
    (outer_from, outer_to, _), (from_, to, middle) = steps
    return prod(shape[:d]), width, (middle, outer_from, from_, outer_to, to)


def joined(arrays: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """`np.concatenate`."""
    first = arrays[0]
    lead = prod(first.shape[:axis])
    if lead == 1 or sum(a.nbytes for a in arrays) < _LARGE:
        return np.concatenate(arrays, axis)
    if any(a.dtype != first.dtype or not a.flags.c_contiguous for a in arrays):
        return np.concatenate(arrays, axis)
    length = sum(a.shape[axis] for a in arrays)
    out = np.empty((*first.shape[:axis], length, *first.shape[axis + 1 :]), first.dtype)
    place = 0
    for a in arrays:
        copy(out[(slice(None),) * axis + (slice(place, place + a.shape[axis]),)], a)
        place += a.shape[axis]
    return out


def rolled(array: np.ndarray, shift: int, axis: int) -> np.ndarray:
    """`np.roll` along one axis."""
    n = array.shape[axis]
    by = shift % n if n else 0
    if not by:
        return array.copy()
    out = np.empty(array.shape, array.dtype)
    lead = (slice(None),) * axis
    copy(out[(*lead, slice(by, None))], array[(*lead, slice(None, n - by))])
    copy(out[(*lead, slice(None, by))], array[(*lead, slice(n - by, None))])
    return out
