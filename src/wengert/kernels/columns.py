"""Sums of the columns of float32 matrices: gradients of values broadcast over rows.

Blocks of rows are summed in float32 and their sums in float64. A plain sum over 65,536 rows
would be off by 3e-6, which is enough to flip the sign of an activation near zero.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from wengert.kernels.jit import LARGE, available, kernel
from wengert.kernels.jit.builtins import at, f32s, i64

add_reduce: Any = np.add.reduce

# Rows per block, and columns summed together (2 KiB of sums); rows for NumPy.
BLOCK, STRIP, _FEW = 1024, 512, 64
# Elements of a chunk, and columns below which several rows count as one.
_CHUNK, _NARROW = 1 << 16, 128

_F32 = np.dtype(np.float32)


@kernel
def _strips(
    x: f32s, sums: f32s, rows: i64, width: i64, step: i64, strips: i64, start: i64, stop: i64
) -> None:
    """The sums of a strip of columns over a block of rows, for each block and strip."""
    for t in range(start, stop):
        first = t % strips * STRIP
        size = min(STRIP, width - first)
        top = t // strips * BLOCK
        bottom = min(top + BLOCK, rows)
        whole = top + (bottom - top) // 8 * 8
        out = at(sums, t // strips * width + first)
        for j in range(size):
            out[j] = 0.0
        for r in range(top, whole, 8):
            p0 = at(x, r * step + first)
            p1 = at(p0, step)
            p2 = at(p1, step)
            p3 = at(p2, step)
            p4 = at(p3, step)
            p5 = at(p4, step)
            p6 = at(p5, step)
            p7 = at(p6, step)
            for j in range(size):
                low = (p0[j] + p1[j]) + (p2[j] + p3[j])
                high = (p4[j] + p5[j]) + (p6[j] + p7[j])
                out[j] = out[j] + (low + high)
        for r in range(whole, bottom):
            p = at(x, r * step + first)
            for j in range(size):
                out[j] = out[j] + p[j]


def column_sums(matrix: np.ndarray) -> np.ndarray:
    """The sum of each column of a float32 matrix in C order, which may have gaps between rows."""
    rows, width = matrix.shape
    flags, (step, size) = matrix.flags, matrix.strides
    dense = flags.c_contiguous
    rowwise = dense or (size == matrix.itemsize and step > 0 == step % size)
    if matrix.size < LARGE or matrix.dtype != _F32 or not (rowwise and flags.aligned):
        return _plain(matrix)
    if not available():
        return _plain(matrix)
    together = min(_NARROW // width, rows) if dense and width < _NARROW else 1
    if together > 1:
        whole = rows // together
        wide = _sums(matrix, whole, together * width, together * width).reshape(-1, width)
        out = add_reduce(wide, axis=0, dtype=np.float64)
        out += add_reduce(matrix[whole * together :], axis=0)
    else:
        out = _sums(matrix, rows, width, width if dense else step // size)
    sums: np.ndarray = out.astype(np.float32, copy=False)
    return sums


def _sums(matrix: np.ndarray, rows: int, width: int, step: int) -> Any:
    """Column sums of memory viewed as that many rows: of one block in float32, else in float64."""
    blocks, strips = ceil(rows / BLOCK), ceil(width / STRIP)
    sums = np.empty((blocks, width), np.float32)
    each = min(rows, BLOCK) * min(width, STRIP)
    _strips.f32(matrix, sums, rows, width, step, strips, blocks * strips, max(1, _CHUNK // each))
    return sums[0] if blocks == 1 else add_reduce(sums, axis=0, dtype=np.float64)


def _plain(matrix: np.ndarray) -> np.ndarray:
    rows = len(matrix)
    if rows < 2 * _FEW or not matrix.size:
        few: np.ndarray = add_reduce(matrix, axis=0)
        return few
    whole = rows - rows % _FEW
    blocks = add_reduce(matrix[:whole].reshape(-1, _FEW, matrix.shape[1]), axis=1)
    out = add_reduce(blocks, axis=0, dtype=np.float64)
    if whole < rows:
        out += add_reduce(matrix[whole:], axis=0)
    sums: np.ndarray = out.astype(np.float32)
    return sums
