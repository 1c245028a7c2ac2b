"""Kronecker products of matrices."""

from __future__ import annotations

import numpy as np

from wengert.kernels.chunks import FEW, pays_off, real_of, rows_of
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, i64, reals


@kernel
def _products(
    a: reals, b: reals, out: reals, columns: i64, tall: i64, wide: i64, start: i64, stop: i64
) -> None:
    """Rows of the product: a row of `a` times one of `b`, which has such a height and width."""
    for r in range(start, stop):
        row = at(a, r // tall * columns)
        other = at(b, r % tall * wide)
        for j in range(columns):
            target = at(out, (r * columns + j) * wide)
            factor = row[j]
            for k in range(wide):
                target[k] = factor * other[k]


def kron(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Each element of a matrix replaced by the product of it and another matrix."""
    (m, n), (tall, wide) = a.shape, b.shape
    run = real_of(a, b) if pays_off(a.size * b.size, FEW) else None
    if run is None:
        return (a[:, None, :, None] * b[None, :, None, :]).reshape(m * tall, n * wide)
    out = np.empty((m * tall, n * wide), a.dtype)
    getattr(_products, run)(a, b, out, n, tall, wide, m * tall, rows_of(n * wide))
    return out


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of each element of a vector with each of another."""
    if a.dtype == b.dtype and real_of(a, b) is not None:
        return kron(a[:, None], b[None])
    return np.multiply.outer(a, b)
