"""Products with large vectors, which take as long as reading them or the matrix does."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import at, i64, local, real, reals

# Elements of the matrix in a chunk for one thread; columns of one, and how many chunks of columns
# there are if these allow it: the fewer, the more of a row is read at a time; rows of a block.
_CHUNK, _FEWEST, _COLUMNS, _PARTS, _BLOCK = 1 << 16, 256, 1024, 8, 512
# Elements of a part of an inner product.
_PART = 1 << 14

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


@kernel
def _inner_of_rows(
    matrix: reals, row: i64, vector: reals, out: reals, length: i64, start: i64, stop: i64
) -> None:
    """The inner product of each row and the vector."""
    for i in range(start, stop):
        line = at(matrix, i * row)
        total = 0.0
        for p in range(length):
            total += line[p] * vector[p]
        out[i] = total


@kernel
def _sum_of_rows(
    matrix: reals, row: i64, vector: reals, out: reals, count: i64, start: i64, stop: i64
) -> None:
    """The sum of all rows, each times an element of the vector; of _COLUMNS columns at most.

    Sums of a block of rows are added to those of others: rounding errors grow the less.
    """
    sums = local(real, _COLUMNS)
    width = stop - start
    for j in range(start, stop):
        out[j] = 0.0
    for first in range(0, count, _BLOCK):
        last = min(first + _BLOCK, count)
        whole = first + (last - first) // 4 * 4
        for j in range(width):
            sums[j] = 0.0
        for p in range(first, whole, 4):
            line = at(matrix, p * row + start)
            for j in range(width):
                sums[j] = (
                    sums[j] + vector[p] * line[j] + vector[p + 1] * line[row + j]
                    + vector[p + 2] * line[2 * row + j] + vector[p + 3] * line[3 * row + j]
                )  # fmt: skip
        for p in range(whole, last):
            for j in range(width):
                sums[j] = sums[j] + vector[p] * matrix[p * row + start + j]
        for j in range(width):
            out[start + j] = out[start + j] + sums[j]


def times_vector(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray | None:
    """matrix @ vector, of floats; None for other dtypes, and layouts with gaps between elements."""
    dtype = matrix.dtype
    if dtype not in (_F32, _F64) or vector.dtype != dtype or not available():
        return None
    if not (vector.flags.c_contiguous and vector.flags.aligned and matrix.flags.aligned):
        return None
    (rows, columns), (down, across), each = matrix.shape, matrix.strides, dtype.itemsize
    out = np.empty(rows, dtype)
    if across == each and down >= columns * each and not down % each:
        kernel, step, chunk = _inner_of_rows, down, 1 + _CHUNK // columns
    elif down == each and across >= rows * each and not across % each:
        kernel, step = _sum_of_rows, across
        chunk = min(_COLUMNS, max(_FEWEST, _CHUNK // columns, rows // _PARTS))
    else:
        return None
    call = kernel.f32 if dtype == _F32 else kernel.f64
    call(matrix, step // each, vector, out, columns, rows, chunk)
    return out


@kernel
def _inner_of_parts(
    a: reals, b: reals, out: reals, size: i64, part: i64, start: i64, stop: i64
) -> None:
    """The inner product of each part of two vectors."""
    for k in range(start, stop):
        total = 0.0
        for i in range(k * part, min(size, (k + 1) * part)):
            total += a[i] * b[i]
        out[k] = total


def inner_product(a: np.ndarray, b: np.ndarray) -> Any:
    """The sum of the products of two vectors without gaps; None for other dtypes and layouts."""
    dtype = a.dtype
    if dtype not in (_F32, _F64) or b.dtype != dtype or a.shape != b.shape or not available():
        return None
    if not all(x.flags.c_contiguous and x.flags.aligned for x in (a, b)):
        return None
    parts = -(-a.size // _PART)
    out = np.empty(parts, dtype)
    call = _inner_of_parts.f32 if dtype == _F32 else _inner_of_parts.f64
    call(a, b, out, a.size, _PART, parts, _CHUNK // _PART)
    return dtype.type(out.sum(dtype=np.float64))
