"""Writes to arrays with gaps between their rows, as slices and heads of a product have them.

NumPy begins a loop anew in each row, and takes up to four times as long as for arrays without gaps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert import kernels
from wengert.kernels.jit import CHUNK, Kernel, available, kernel
from wengert.kernels.jit.builtins import at, i64, real, reals, u8s
from wengert.kernels.jit.native import native
from wengert.kernels.layout import Outline, order_of

# Bytes of an array, and elements of a row, from which a kernel pays off.
_LARGE, _LONG = 1 << 15, 1 << 2
# Bytes of an array from which several threads do, and of rows up to which one does.
_THREADS, _SHORT = 1 << 20, 1 << 9
# Rows of a task, at most.
_ROWS = 1 << 6
# Bytes of a row copied at once: a `memcpy` of more than a few thousand uses the processor's string
# instruction, which is many times slower than a loop if source and target are a few bytes apart
# modulo a page.
_PIECE = 1 << 11

_ALIGNED = 256
_F32 = np.dtype(np.float32)


@native(
    "define internal void @move_bytes(ptr %q, ptr %p, i64 %n) alwaysinline nounwind {\n"
    "  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 %n, i1 false)\n"
    "  ret void\n}",
    "void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
)
def move_bytes(target: u8s, source: u8s, size: i64) -> None:
    """Copy bytes between regions that do not overlap."""
    target[:size] = source[:size]


@kernel
def _copy(
    target: u8s, source: u8s, size: i64, piece: i64, n1: i64, n2: i64, width: i64, t0: i64,
    t1: i64, t2: i64, s0: i64, s1: i64, s2: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    row = size * width
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, size * (k // n1 * t0 + k % n1 * t1 + i * t2))
            x = at(source, size * (k // n1 * s0 + k % n1 * s1 + i * s2))
            for first in range(0, row, piece):
                move_bytes(at(y, first), at(x, first), min(piece, row - first))


@kernel
def _add(
    target: reals, source: reals, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    s0: i64, s1: i64, s2: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            x = at(source, k // n1 * s0 + k % n1 * s1 + i * s2)
            for j in range(width):
                y[j] = y[j] + x[j]


@kernel
def _subtract(
    target: reals, source: reals, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    s0: i64, s1: i64, s2: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            x = at(source, k // n1 * s0 + k % n1 * s1 + i * s2)
            for j in range(width):
                y[j] = y[j] - x[j]


@kernel
def _multiply(
    target: reals, source: reals, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    s0: i64, s1: i64, s2: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            x = at(source, k // n1 * s0 + k % n1 * s1 + i * s2)
            for j in range(width):
                y[j] = y[j] * x[j]


@kernel
def _add_number(
    target: reals, number: real, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            for j in range(width):
                y[j] = y[j] + number


@kernel
def _multiply_by_number(
    target: reals, number: real, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            for j in range(width):
                y[j] = y[j] * number


@kernel
def _fill(
    target: reals, number: real, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            for j in range(width):
                y[j] = number


class _Rows(NamedTuple):
    """How kernels go over rows: sizes and strides as they take them, tasks, tasks of a chunk."""

    numbers: tuple[int, ...]
    tasks: int
    chunk: int


@lru_cache(1024)
def _rows(itemsize: int, *outlines: Outline) -> _Rows | None:
    """The rows of arrays of one shape, in the order of the first; None if they have none."""
    lengths, steps = merged(*outlines)
    if not lengths or len(lengths) > 4 or lengths[-1] < _LONG or set(steps[-1]) != {itemsize}:
        return None
    if any(s % itemsize for of_arrays in steps for s in of_arrays):
        return None
    *lengths, width = lengths
    steps.pop()
    if len(lengths) == 1:  # several tasks
        rows = next(k for k in range(min(_ROWS, lengths[0]), 0, -1) if lengths[0] % k == 0)
        lengths = [lengths[0] // rows, rows]
        steps.insert(0, [s * rows for s in steps[0]])
    while len(lengths) < 3:
        lengths.insert(0, 1)
        steps.insert(0, [0] * len(outlines))
    n0, n1, n2 = lengths
    strides = [of_arrays[k] // itemsize for k in range(len(outlines)) for of_arrays in steps]
    return _Rows((n1, n2, width, *strides), n0 * n1, max(1, CHUNK // (n2 * width)))


def merged(*outlines: Outline) -> tuple[list[int], list[list[int]]]:
    """The fewest equivalent dimensions, in the order of the first of the arrays.

    Their lengths, and the strides of all arrays in each.
    """
    shape, lengths, steps = outlines[0][0], list[int](), list[list[int]]()
    for d in order_of(shape, outlines[:1]):
        of_arrays = [strides[d] for _, strides in outlines]
        if shape[d] == 1:
            continue
        if lengths and steps[-1] == [s * shape[d] for s in of_arrays]:
            lengths[-1] *= shape[d]
            steps[-1] = of_arrays
        else:
            lengths.append(shape[d])
            steps.append(of_arrays)
    return lengths, steps


def copy(target: np.ndarray, source: np.ndarray, short: bool = False, apart: bool = True) -> None:
    """``target[...] = source``, of one shape and dtype.

    With `short` by NumPy where rows are long: one thread is no faster, unless they are out of step.
    Unless they are `apart`, they may have memory in common.
    """
    dtype, nbytes = target.dtype, target.nbytes
    if nbytes >= _LARGE and dtype == source.dtype and target.shape == source.shape and available():
        own, other = (target.shape, target.strides), (source.shape, source.strides)
        way = _way(dtype.itemsize, own, other, short and nbytes < _THREADS, dtype == _F32)
        if way is not None and not apart and share(target, source):
            way = None
        if type(way) is _Rows:
            size = dtype.itemsize
            _copy.f32(target, source, size, _PIECE, *way.numbers, way.tasks, way.chunk)
            return
        if way is not None and target.flags.aligned and source.flags.aligned:
            kernels.transposition.run(source, target, *way)
            return
    target[...] = source


@lru_cache(1024)
def _way(
    size: int, own: Outline, other: Outline, short: bool, real: bool
) -> _Rows | tuple[int, int, int] | None:
    """The rows to copy, or the matrices to transpose; None where NumPy is as fast."""
    rows = _rows(size, own, other)
    if rows is not None:
        return None if short and rows.numbers[2] * size > _SHORT else rows
    return kernels.transposition.matrices(own, other) if real else None


_WITH_ARRAY: dict[Any, Kernel] = {np.add: _add, np.subtract: _subtract, np.multiply: _multiply}
_WITH_NUMBER: dict[Any, Kernel] = {np.add: _add_number, np.multiply: _multiply_by_number}
_REALS = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


def update(ufunc: np.ufunc, target: np.ndarray, other: Any) -> bool:
    """`ufunc(target, other, out=target)` for another array of this shape, or a number.

    False if that has to be done.
    """
    kind = _REALS.get(target.dtype)
    flags = target.flags
    if kind is None or target.nbytes < _LARGE or flags.c_contiguous or not flags.num & _ALIGNED:
        return False
    own, size = (target.shape, target.strides), target.itemsize
    if isinstance(other, np.ndarray) and other.ndim:
        run = _WITH_ARRAY.get(ufunc)
        if run is None or other.shape != own[0]:
            return False
        rows = _rows(size, own, (other.shape, other.strides))
        if rows is not None and (not other.flags.num & _ALIGNED or share(target, other)):
            return False
    else:
        if ufunc is np.subtract:
            ufunc, other = np.add, -other
        run, other = _WITH_NUMBER.get(ufunc), float(other)
        rows = _rows(size, own)
    if run is None or rows is None or rows.numbers[2] == target.size or not available():
        return False  # NumPy's loops are as fast where there is but one
    getattr(run, kind)(target, other, *rows.numbers, rows.tasks, rows.chunk)
    return True


def fill(target: np.ndarray, number: Any) -> bool:
    """Set all elements of an array of floats to a number; False if that has to be done."""
    kind = _REALS.get(target.dtype)
    if kind is None or not target.flags.num & _ALIGNED or not available():
        return False
    rows = _rows(target.itemsize, (target.shape, target.strides))
    if rows is None:
        return False
    getattr(_fill, kind)(target, float(number), *rows.numbers, rows.tasks, rows.chunk)
    return True


def share(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays may have an element in common: no more than a simple look."""
    try:
        return np.shares_memory(a, b, max_work=1)  # type: ignore[arg-type]  # any number will do
    except np.exceptions.TooHardError:
        return True
