"""Writes to arrays with gaps between their rows, as slices and heads of a product have them.

NumPy begins a loop anew in each row, and takes up to four times as long as for arrays without gaps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert import kernels
from wengert.kernels.jit import CHUNK, Kernel, available, kernel
from wengert.kernels.jit.builtins import at, i32s, i64, i64s, real, reals, u8s, u16s
from wengert.kernels.jit.native import native
from wengert.kernels.layout import Outline, Sizes, order_of, plain_strides, steps_of

if TYPE_CHECKING:
    from wengert.kernels.transposition import Matrices

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
# Elements of a dimension along which NumPy's loops are too short.
_BRIEF = 1 << 3

_ALIGNED = 256


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
def _take(
    source: u8s, index: i64s, target: u8s, size: i64, piece: i64, width: i64, n1: i64, n2: i64,
    step: i64, s1: i64, s2: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    row = size * width
    for k in range(start, stop):
        first = size * (index[k // n1] * step + k % n1 * s1)
        for i in range(n2):
            y = at(target, row * (k * n2 + i))
            x = at(source, first + size * i * s2)
            for done in range(0, row, piece):
                move_bytes(at(y, done), at(x, done), min(piece, row - done))


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


@kernel
def _spread_halves(
    target: u16s, source: u16s, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    s0: i64, s1: i64, s2: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            word = at(source, k // n1 * s0 + k % n1 * s1 + i * s2)[0]
            for j in range(width):
                y[j] = word


@kernel
def _spread_words(
    target: i32s, source: i32s, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    s0: i64, s1: i64, s2: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            word = at(source, k // n1 * s0 + k % n1 * s1 + i * s2)[0]
            for j in range(width):
                y[j] = word


@kernel
def _spread_pairs(
    target: i64s, source: i64s, n1: i64, n2: i64, width: i64, t0: i64, t1: i64, t2: i64,
    s0: i64, s1: i64, s2: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    for k in range(start, stop):
        for i in range(n2):
            y = at(target, k // n1 * t0 + k % n1 * t1 + i * t2)
            word = at(source, k // n1 * s0 + k % n1 * s1 + i * s2)[0]
            for j in range(width):
                y[j] = word


# Rows of one element each, by the size of an element.
_SPREAD = {2: _spread_halves, 4: _spread_words, 8: _spread_pairs}


class _Rows(NamedTuple):
    """How kernels go over rows: sizes and strides as they take them, tasks, tasks of a chunk."""

    numbers: tuple[int, ...]
    tasks: int
    chunk: int
    spread: bool  # an element of the second array is a row of the first


@lru_cache(1024)
def _rows(itemsize: int, *outlines: Outline, spread: bool = False) -> _Rows | None:
    """The rows of arrays of one shape, in the order of the first; None if they have none."""
    lengths, steps = merged(*outlines)
    inner = [itemsize, 0] if spread else [itemsize] * len(outlines)
    if not lengths or len(lengths) > 4 or lengths[-1] < _LONG or steps[-1] != inner:
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
    return _Rows((n1, n2, width, *strides), n0 * n1, max(1, CHUNK // (n2 * width)), spread)


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
    """``target[...] = source``, of one dtype; the source may have to be broadcast.

    With `short` by NumPy where rows are long: one thread is no faster, unless they are out of step.
    Unless they are `apart`, they may have memory in common.
    """
    dtype, nbytes = target.dtype, target.nbytes
    if nbytes >= _LARGE and dtype == source.dtype and source.ndim and available():
        own, other = (target.shape, target.strides), (source.shape, source.strides)
        way = _way(dtype.itemsize, own, other, short and nbytes < _THREADS)
        if way is not None and not apart and share(target, source):
            way = None
        if type(way) is _Rows and not way.spread:
            size = dtype.itemsize
            _copy.f32(target, source, size, _PIECE, *way.numbers, way.tasks, way.chunk)
            return
        if isinstance(way, int):
            for k in range(target.shape[way]):
                place: tuple[Any, ...] = (*(slice(None),) * way, k)
                target[place] = source[place]
            return
        if isinstance(way, _Rows):
            if target.flags.aligned and source.flags.aligned:
                _SPREAD[dtype.itemsize].f32(target, source, *way.numbers, way.tasks, way.chunk)
                return
        elif way is not None:
            kernels.transposition.run(source, target, way)
            return
    target[...] = source


def take(array: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """`array.take(index, 0)` of an array with gaps, for plain int64 that are in bounds.

    None where its slices have no rows.
    """
    slices = (array.shape[1:], array.strides[1:])
    rows = _rows_of_slices(array.itemsize, slices)
    if rows is None or array.strides[0] % array.itemsize or not available():
        return None
    n1, n2, width, _, s1, s2 = rows.numbers
    out = np.empty((*index.shape, *slices[0]), array.dtype)
    _take.f32(
        array, index, out, array.itemsize, _PIECE, width, n1, n2,
        array.strides[0] // array.itemsize, s1, s2, index.size * n1, rows.chunk,
    )  # fmt: skip
    return out


@lru_cache(1024)
def _rows_of_slices(itemsize: int, outline: Outline) -> _Rows | None:
    """The rows of the slices of a dimension, taken in C order; None if they have none."""
    shape, _ = outline
    target = shape, plain_strides(shape, itemsize)
    lengths, steps = merged(target, outline)
    if not lengths or len(lengths) > 3 or lengths[-1] < _LONG or steps[-1] != [itemsize] * 2:
        return None
    if any(s % itemsize for _, s in steps):
        return None
    *lengths, width = lengths
    strides = [s // itemsize for _, s in steps[:-1]]
    lengths, strides = [1] * (2 - len(lengths)) + lengths, [0] * (2 - len(strides)) + strides
    numbers = (*lengths, width, 0, *strides)
    return _Rows(numbers, lengths[0], max(1, CHUNK // (lengths[1] * width)), False)


@lru_cache(1024)
def _way(size: int, own: Outline, other: Outline, short: bool) -> _Rows | Matrices | int | None:
    """The rows to write, the matrices to transpose, or the dimension to go along first.

    None where NumPy is as fast.
    """
    alike = other[0] == own[0]
    if not alike:
        if not _spreads(own[0], other[0]):
            return None  # or raises
        other = (own[0], steps_of(own[0], *other))
    rows = _rows(size, own, other)
    if rows is not None:
        return None if short and rows.numbers[2] * size > _SHORT else rows
    rows = _rows(size, own, other, spread=True) if size in _SPREAD else None
    if rows is not None:
        return rows
    matrices = kernels.transposition.matrices(size, own, other)
    return _short_axis(size, own, other) if alike and matrices is None else matrices


def _short_axis(size: int, own: Outline, other: Outline) -> int | None:
    """The innermost dimension of an array if NumPy's loops along it would be short.

    Those along the next one are longer.
    """
    inner = [d for d in order_of(own[0], (own,)) if own[0][d] != 1][-2:]
    if len(inner) < 2 or other[1][inner[1]] == size:
        return None
    along, across = (own[0][d] for d in inner)
    return inner[1] if across <= _BRIEF < along else None


_WITH_ARRAY: dict[Any, Kernel] = {np.add: _add, np.subtract: _subtract, np.multiply: _multiply}
_WITH_NUMBER: dict[Any, Kernel] = {np.add: _add_number, np.multiply: _multiply_by_number}
_REALS = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


def update(ufunc: np.ufunc, target: np.ndarray, other: Any) -> bool:
    """`ufunc(target, other, out=target)` for another array of this shape, or a number.

    False if that has to be done.
    """
    kind = _REALS.get(target.dtype)
    flags = target.flags
    if kind is None or target.nbytes < _LARGE or flags.forc or not flags.num & _ALIGNED:
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


def _spreads(shape: Sizes, own: Sizes) -> bool:
    """Whether an array of a shape broadcasts to one of no fewer dimensions."""
    lead = len(shape) - len(own)
    return lead >= 0 and all(m in (1, n) for n, m in zip(shape[lead:], own, strict=True))


def share(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays may have an element in common: no more than a simple look."""
    try:
        return np.shares_memory(a, b, max_work=1)  # type: ignore[arg-type]  # any number will do
    except np.exceptions.TooHardError:
        return True
