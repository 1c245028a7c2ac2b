"""Copies of blocks between large arrays: joined, in reverse order, triangles."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.calling import Caller, at_once
from wengert.kernels.jit import CHUNK, available, kernel, loaded
from wengert.kernels.jit.builtins import at, i32s, i64, i64s, u8s
from wengert.kernels.jit.native import native
from wengert.kernels.layout import in_c_order, is_dense, order_of
from wengert.kernels.strides import copy, move_bytes

# Bytes of an array from which a kernel pays off.
_LARGE = 1 << 15
# Bytes of a joined row from which rows that start inside a cache line matter.
OUT_OF_STEP = 1 << 15
_LINE = 1 << 6


@native(
    "define internal void @clear_bytes(ptr %q, i64 %n) alwaysinline nounwind {\n"
    "  call void @llvm.memset.p0.i64(ptr %q, i8 0, i64 %n, i1 false)\n"
    "  ret void\n}",
    "void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
)
def clear_bytes(target: u8s, size: i64) -> None:
    """Write zero bytes."""
    target[:size] = 0


@kernel
def _triangles(
    source: u8s, target: u8s, rows: i64, width: i64, size: i64, diagonal: i64, upper: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """Rows of matrices: the elements below and on a diagonal, or those above and on it."""
    for row in range(start, stop):
        edge = min(max((row % rows + diagonal + 1 - upper) * size, 0), width)
        p = at(source, row * width)
        q = at(target, row * width)
        if upper == 1:
            clear_bytes(q, edge)
            move_bytes(at(q, edge), at(p, edge), width - edge)
        else:
            move_bytes(q, p, edge)
            clear_bytes(at(q, edge), width - edge)


@kernel
def _places(
    rows: i64s, columns: i64s, width: i64, offset: i64, upper: i64, start: i64, stop: i64
) -> None:
    """Rows and columns of the elements from a diagonal on, or up to it."""
    k = 0
    for row in range(start, stop):
        edge = min(max(row + offset + 1 - upper, 0), width)
        first = edge if upper == 1 else 0
        past = width if upper == 1 else edge
        for column in range(first, past):
            rows[k] = row
            columns[k] = column
            k = k + 1


@kernel
def _backwards_words(
    source: i32s, target: i32s, width: i64, pieces: i64, piece: i64, start: i64, stop: i64
) -> None:
    """Rows in reverse order, in pieces."""
    for k in range(start, stop):
        first = k % pieces * piece
        p = at(source, k // pieces * width)
        q = at(target, k // pieces * width)
        for j in range(first, min(first + piece, width)):
            q[j] = p[width - 1 - j]


@kernel
def _backwards_pairs(
    source: i64s, target: i64s, width: i64, pieces: i64, piece: i64, start: i64, stop: i64
) -> None:
    for k in range(start, stop):
        first = k % pieces * piece
        p = at(source, k // pieces * width)
        q = at(target, k // pieces * width)
        for j in range(first, min(first + piece, width)):
            q[j] = p[width - 1 - j]


_BACKWARDS = {4: _backwards_words, 8: _backwards_pairs}


def flipped(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """A copy of `np.flip`, which NumPy makes element by element if the last axis is one of them."""
    ndim = array.ndim
    if not array.flags.c_contiguous and is_dense(array):  # as it lies
        order = order_of(array.shape, ((array.shape, array.strides),))
        there = flipped(array.transpose(order), tuple([order.index(d) for d in axes]))
        return there.transpose([order.index(d) for d in range(ndim)])
    run = _BACKWARDS.get(array.itemsize)
    if run is None or ndim - 1 not in axes or not array.flags.c_contiguous:
        return in_c_order(np.flip(array, axes))
    if (array.nbytes < _LARGE and not loaded()) or not (array.flags.aligned and available()):
        return np.flip(array, axes).copy()
    first = ndim - 1  # the last axes are one, as far as all of them are reversed
    while first and first - 1 in axes:
        first -= 1
    out, width = np.empty_like(array), prod(array.shape[first:])
    pieces = max(1, -(-width // CHUNK))
    rows = array.size // max(width, 1)
    run.f32(array, out, width, pieces, CHUNK, rows * pieces, max(1, CHUNK // max(width, 1)))
    others = tuple([d for d in axes if d < first])
    return in_c_order(np.flip(out, others)) if others else out


def places_of_triangle(rows: int, width: int, offset: int, upper: bool) -> np.ndarray:
    """The rows and the columns of a triangle's elements, int64, of shape (2, n), row by row."""
    offset = max(-rows, min(offset, width))
    edges = range(offset + 1 - upper, offset + 1 - upper + rows)
    # Of an arithmetic progression the part that is between 0 and the width.
    low, high = min(max(-edges.start, 0), rows), min(max(width - edges.start, 0), rows)
    count = (high - low) * (edges.start + low + edges.start + high - 1) // 2 + (rows - high) * width
    out = np.empty((2, rows * width - count if upper else count), np.int64)
    if available():
        _places.f32(out[0], out[1], width, offset, int(upper), rows, max(rows, 1))
        return out
    kept = np.arange(width) - np.arange(rows)[:, None] - offset
    out[...] = (kept >= 0 if upper else kept <= 0).nonzero()
    return out


def triangles(matrices: np.ndarray, diagonal: int, upper: bool) -> np.ndarray:
    """`np.triu` if `upper`, otherwise `np.tril`."""
    few = not matrices.size or (matrices.nbytes < _LARGE and not loaded())
    if few or not matrices.flags.c_contiguous or not available():
        return np.triu(matrices, diagonal) if upper else np.tril(matrices, diagonal)
    out = np.empty_like(matrices)
    call_triangles(at_once, matrices, out, diagonal, upper)
    return out


def call_triangles(caller: Caller, matrices: Any, out: Any, diagonal: int, upper: bool) -> None:
    """The same by a kernel, of dense matrices."""
    (rows, columns), size = matrices.shape[-2:], matrices.dtype.itemsize
    diagonal = min(max(diagonal, -rows), columns)  # beyond those nothing changes
    width = columns * size
    caller.call(
        _triangles.f32, matrices, out, rows, width, size, diagonal, int(upper),
        total=prod(matrices.shape[:-1]), chunk=max(1, 4 * CHUNK // width),
    )  # fmt: skip


def joined(arrays: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """`np.concatenate`, or a kernel where long rows would be misaligned."""
    first, size = arrays[0], sum([a.nbytes for a in arrays])
    if size < OUT_OF_STEP:
        return np.concatenate(arrays, axis)
    width = size // (prod(first.shape[:axis]) or 1)
    if width < OUT_OF_STEP or width % _LINE == 0:
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
