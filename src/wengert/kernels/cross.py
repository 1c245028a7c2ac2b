"""Vector products along an axis of length 3."""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.kernels.axes import moved
from wengert.kernels.chunks import FEW, pays_off, real_of, rows_of
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, i64, inline, reals


@inline
def _one(a: reals, b: reals, out: reals, step: i64) -> None:
    """Of two vectors, whose components are some elements apart."""
    out[0] = a[step] * b[2 * step] - a[2 * step] * b[step]
    out[step] = a[2 * step] * b[0] - a[0] * b[2 * step]
    out[2 * step] = a[0] * b[step] - a[step] * b[0]


@kernel
def _products(a: reals, b: reals, out: reals, inner: i64, start: i64, stop: i64) -> None:
    if inner == 1:
        for r in range(start, stop):
            _one(at(a, 3 * r), at(b, 3 * r), at(out, 3 * r), 1)
    else:
        for r in range(start, stop):
            for j in range(3 * r * inner, (3 * r + 1) * inner):
                _one(at(a, j), at(b, j), at(out, j), inner)


def cross(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """The vector products along an axis of arrays that broadcast."""
    run = real_of(a, b) if a.shape == b.shape and pays_off(a.size, FEW) else None
    if run is None:
        x, y = moved(a, axis, 0), moved(b, axis, 0)
        components = [x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))]
        return np.stack(components, axis)
    out, inner = np.empty_like(a), prod(a.shape[axis + 1 :])
    getattr(_products, run)(a, b, out, inner, a.size // (3 * inner), rows_of(6 * inner))
    return out
