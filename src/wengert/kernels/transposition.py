"""Copies of matrices that lie transposed, by squares that turn in registers.

NumPy reads such matrices element by element, each from another cache line, whenever it copies
them or adds them to one in C order: ten times as slow as memory. Images that change from channels
last to channels first, or back, are such matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import at, i64, inline, u8s
from wengert.kernels.jit.native import native
from wengert.kernels.layout import Outline, plain_strides
from wengert.kernels.products.microkernel import transposed_text
from wengert.kernels.strides import merged

# Rows and columns of a square, by the bytes of an element.
SIDES = {1: 16, 2: 8, 4: 8, 8: 4}
# Bytes of a cache line: a block has as many in each row and column, so that all of a line is read
# and written before the next one is. Bytes of a chunk for one thread.
_LINE, _CHUNK = 64, 1 << 16


def _turned(target: u8s, target_pitch: i64, source: u8s, pitch: i64, size: int) -> None:
    side = SIDES[size]
    for i in range(side):
        for j in range(side):
            to, of = (j * target_pitch + i) * size, (i * pitch + j) * size
            target[to : to + size] = source[of : of + size]


@native("\n".join(transposed_text("turn_bytes", SIDES[1], "i8")))
def turn_bytes(to: u8s, to_pitch: i64, source: u8s, pitch: i64) -> None:
    """A transposed square of elements of one byte; pitches count elements."""
    _turned(to, to_pitch, source, pitch, 1)


@native("\n".join(transposed_text("turn_halves", SIDES[2], "i16")))
def turn_halves(to: u8s, to_pitch: i64, source: u8s, pitch: i64) -> None:
    """A transposed square of elements of two bytes."""
    _turned(to, to_pitch, source, pitch, 2)


@native("\n".join(transposed_text("turn_words", SIDES[4], "i32")))
def turn_words(to: u8s, to_pitch: i64, source: u8s, pitch: i64) -> None:
    """A transposed square of elements of four bytes."""
    _turned(to, to_pitch, source, pitch, 4)


@native("\n".join(transposed_text("turn_pairs", SIDES[8], "i64")))
def turn_pairs(to: u8s, to_pitch: i64, source: u8s, pitch: i64) -> None:
    """A transposed square of elements of eight bytes."""
    _turned(to, to_pitch, source, pitch, 8)


@inline
def _turn(to: u8s, to_pitch: i64, source: u8s, pitch: i64, size: i64) -> None:
    if size == 4:
        turn_words(to, to_pitch, source, pitch)
    elif size == 8:
        turn_pairs(to, to_pitch, source, pitch)
    elif size == 2:
        turn_halves(to, to_pitch, source, pitch)
    else:
        turn_bytes(to, to_pitch, source, pitch)


@kernel
def transpose(
    source: u8s, target: u8s, size: i64, n1: i64, rows: i64, columns: i64, t0: i64, t1: i64,
    t2: i64, s0: i64, s1: i64, s2: i64, blocks: i64, high: i64, side: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Matrices from transposed ones, in blocks of `high` rows.

    Where a square would go beyond an end it ends there, and writes some elements once more.
    """
    for block in range(start, stop):
        k = block // blocks
        x = at(source, size * (k // n1 * s0 + k % n1 * s1))
        y = at(target, size * (k // n1 * t0 + k % n1 * t1))
        low = block % blocks * high
        for first in range(0, columns, high):
            for row in range(low, min(rows, low + high), side):
                i = min(row, rows - side)
                for column in range(first, min(columns, first + high), side):
                    j = min(column, columns - side)
                    _turn(at(y, size * (i * t2 + j)), t2, at(x, size * (j * s2 + i)), s2, size)


class Matrices(NamedTuple):
    """Matrices that lie transposed in another array: sizes and strides as the kernel takes them,
    and tasks of rows."""

    numbers: tuple[int, ...]
    tasks: int
    chunk: int


@lru_cache(1024)
def matrices(size: int, own: Outline, other: Outline) -> Matrices | None:
    """How to copy arrays of one shape, of elements of so many bytes.

    None if they are no such matrices, or are too small.
    """
    lengths, steps = merged(own, other)
    if any(s % size for of_arrays in steps for s in of_arrays):
        return None
    to_steps, from_steps = [[of_arrays[k] // size for of_arrays in steps] for k in (0, 1)]
    return matrices_of(size, lengths, to_steps, from_steps)


def matrices_of(
    size: int, lengths: Sequence[int], to_steps: Sequence[int], steps: Sequence[int]
) -> Matrices | None:
    """As `matrices`, for dimensions that cannot be merged; these are strides in elements."""
    side = SIDES.get(size, 0)
    if not side or not 2 <= len(lengths) <= 4 or min(lengths[-2:]) < side:
        return None
    if to_steps[-1] != 1 or steps[-2] != 1:
        return None
    missing = 4 - len(lengths)
    n0, n1, rows, columns = (*(1,) * missing, *lengths)
    t0, t1, t2, _ = (*(0,) * missing, *to_steps)
    s0, s1, _, s2 = (*(0,) * missing, *steps)
    high = _LINE // size
    blocks = -(-rows // high)
    numbers = (size, n1, rows, columns, t0, t1, t2, s0, s1, s2, blocks, high, side)
    return Matrices(numbers, n0 * n1 * blocks, 1 + _CHUNK // (_LINE * columns))


def run(source: np.ndarray, target: np.ndarray, found: Matrices) -> None:
    """Write what lies transposed in the source, of which the target is apart."""
    transpose.f32(source, target, *found.numbers, found.tasks, found.chunk)


def in_c_order(array: np.ndarray) -> np.ndarray:
    """A copy in C order of matrices that lie transposed; anything else as it is."""
    if not array.size or array.flags.c_contiguous or not available():
        return array
    shape, size = array.shape, array.itemsize
    found = matrices(size, (shape, plain_strides(shape, size)), (shape, array.strides))
    if found is None:
        return array
    out = np.empty(shape, array.dtype)
    run(array, out, found)
    return out
