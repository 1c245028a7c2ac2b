"""Copies of transposed float32 matrices in C order, by squares that turn in registers.

NumPy reads such matrices element by element, each from another cache line, whenever it copies
them or adds them to one in C order: ten times as slow as memory.
"""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import at, f32s, i64
from wengert.kernels.layout import Outline
from wengert.kernels.products.packing import side, square
from wengert.kernels.products.tiles import move
from wengert.kernels.strides import merged

# Rows of a block, whose ends share cache lines; elements of a chunk for one thread.
_ROWS, _CHUNK = 16, 1 << 14

_F32 = np.dtype(np.float32)


@kernel
def _transpose(
    a: f32s, out: f32s, rows: i64, columns: i64, blocks: i64, high: i64, side: i64, start: i64,
    stop: i64,
) -> None:  # fmt: skip
    """Matrices of `rows` rows from transposed ones, of which each is cut into blocks of rows."""
    for block in range(start, stop):
        first = block // blocks * rows * columns
        low = block % blocks * high
        last = min(rows, low + high)
        whole = low + (last - low) // side * side
        done = columns // side * side
        for j in range(0, done, side):
            for i in range(low, whole, side):
                square(at(out, first + i * columns + j), columns, at(a, first + j * rows + i), rows)
        for i in range(low, whole):
            for j in range(done, columns):
                move(at(a, first + j * rows + i), at(out, first + i * columns + j))
        for i in range(whole, last):
            for j in range(columns):
                move(at(a, first + j * rows + i), at(out, first + i * columns + j))


def in_c_order(array: np.ndarray) -> np.ndarray:
    """A copy in C order of matrices that lie transposed; anything else as it is."""
    if not array.size or array.ndim < 2 or array.dtype != _F32 or array.flags.c_contiguous:
        return array
    source = array.swapaxes(-1, -2)
    if not (source.flags.c_contiguous and source.flags.aligned and available()):
        return array
    *lead, rows, columns = array.shape
    out = np.empty(array.shape, _F32)
    run(source, out, prod(lead), rows, columns)
    return out


def run(source: np.ndarray, target: np.ndarray, count: int, rows: int, columns: int) -> None:
    """Write so many matrices of so many rows and columns from transposed ones."""
    blocks = -(-rows // _ROWS)
    chunk = 1 + _CHUNK // (_ROWS * columns)
    _transpose.f32(source, target, rows, columns, blocks, _ROWS, side(), count * blocks, chunk)


def matrices(own: Outline, other: Outline) -> tuple[int, int, int] | None:
    """How many matrices without gaps the first array has of those that lie transposed in the other.

    And their rows and columns; None if memory lies otherwise.
    """
    lengths, steps = merged(own, other)
    if len(lengths) not in (2, 3):
        return None
    *lead, rows, columns = lengths
    size = _F32.itemsize
    expected = [[columns * size, size], [size, rows * size]]
    if lead:
        expected.insert(0, [rows * columns * size] * 2)
    return (prod(lead), rows, columns) if steps == expected else None
