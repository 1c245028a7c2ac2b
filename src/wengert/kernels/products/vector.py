"""Products of a large matrix and a vector, which take as long as reading the matrix does."""

from __future__ import annotations

import numpy as np

from wengert.kernels.jit import available, get_threads, kernel
from wengert.kernels.jit.builtins import at, reals, i64

# Elements of the matrix in a chunk for one thread, and the fewest columns of one.
_CHUNK, _COLUMNS = 1 << 16, 256

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
    """The sum of all rows, each times an element of the vector; four at a time."""
    for j in range(start, stop):
        out[j] = 0.0
    whole = count // 4 * 4
    for p in range(0, whole, 4):
        line = at(matrix, p * row)
        for j in range(start, stop):
            out[j] = (
                out[j] + vector[p] * line[j] + vector[p + 1] * line[row + j]
                + vector[p + 2] * line[2 * row + j] + vector[p + 3] * line[3 * row + j]
            )  # fmt: skip
    for p in range(whole, count):
        for j in range(start, stop):
            out[j] = out[j] + vector[p] * matrix[p * row + j]


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
        chunk = max(_COLUMNS, _CHUNK // columns, -(-rows // get_threads()))
    else:
        return None
    call = kernel.f32 if dtype == _F32 else kernel.f64
    call(matrix, step // each, vector, out, columns, rows, chunk)
    return out
