"""Distances between the rows of matrices, and their pullbacks, without the differences at once.

Matrices may be batches, of one shape in front. What has no kernel NumPy computes in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.kernels.chunks import SOME, plain, real_for, rows_of
from wengert.kernels.distance import native
from wengert.kernels.precision import widened
from wengert.kernels.reduction import p_norm

Array = np.ndarray

# Differences of a block that NumPy computes with.
_BLOCK = 1 << 18
_SINGLE = np.dtype(np.float32)


def distances(x1: Array, x2: Array, p: float) -> Array:
    """The p-norm distances of the rows of `x1` (..., n, w) to those of `x2` (..., m, w)."""
    a, b = widened(x1), widened(x2)
    out = np.empty((*a.shape[:-1], b.shape[-2]), a.dtype)
    run = _run(a, b, p)
    if run is None:
        for ours, theirs, target in _blocks(a, b, out):
            target[...] = p_norm(_differences(ours, theirs), p, -1)
        return out.astype(x1.dtype, copy=False)
    a, turned, sizes, calls = _arguments(a, b)
    if p in (1, 2):
        getattr(native.euclidean, run)(a, turned, out, *sizes, int(p == 2), *calls)
    elif p == math.inf:
        getattr(native.largest, run)(a, turned, out, *sizes, *calls)
    else:
        native.powers.f32(a, turned, out, *sizes, p, *calls)
    return out.astype(x1.dtype, copy=False)


def pair_distances(x: Array, p: float) -> Array:
    """The distances of all pairs of rows, those of the first row first."""
    a = widened(x)
    run = _run(a, a, p)
    if run is None or p not in (1, 2):
        return above(distances(x, x, p))
    n, width = a.shape
    out = np.empty(n * (n - 1) // 2, a.dtype)
    a = plain(a)
    turned, chunk = np.ascontiguousarray(a.T), max(1, rows_of(n * width))
    getattr(native.pairs, run)(a, turned, out, n, width, int(p == 2), n, chunk)
    return out.astype(x.dtype, copy=False)


def pairs_pullback(g: Array, x: Array, out: Array, p: float) -> Array | None:
    """The cotangent of the rows, of that of `pair_distances`; None where there is no kernel."""
    cotangent, a, far = (widened(v) for v in (g, x, out))
    run = _run(a, a, p)
    if run is None or p not in (1, 2):
        return None
    (n, width), found = a.shape, np.empty(a.shape, a.dtype)
    chunk = max(1, rows_of(n * width))
    getattr(native.pairs_pullback, run)(
        plain(a), plain(cotangent), plain(far), found, n, width, int(p == 2), n, chunk
    )
    return found.astype(x.dtype, copy=False)


def above(matrix: Array) -> Array:
    """The elements above the diagonal of matrices, row by row."""
    return matrix[..., _mask_above(matrix.shape[-1])]


def placed_above(values: Array, n: int) -> Array:
    """Matrices of zeros, with values above the diagonal."""
    out = np.zeros((*values.shape[:-1], n, n), values.dtype)
    out[..., _mask_above(n)] = values
    return out


def _mask_above(n: int) -> Array:
    places = np.arange(n)
    return places[:, None] < places


def weighed_differences(weight: Array, x1: Array, x2: Array) -> Array:
    """The sums of weights (..., n, m) times the differences of rows: (..., n, w)."""
    w, a, b = (widened(v) for v in (weight, x1, x2))
    found = np.zeros(a.shape, a.dtype)
    run = _run(a, b, 2)
    if run is None:
        for ours, theirs, target, weights in _blocks(a, b, found, w):
            target[...] = _differences(ours, theirs, weights[..., None]).sum(-2)
    else:
        a, turned, sizes, calls = _arguments(a, b)
        getattr(native.euclidean_pullback, run)(a, turned, plain(w), found, *sizes, *calls)
    return found.astype(x1.dtype, copy=False)


def pullback(g: Array, x1: Array, x2: Array, out: Array, p: float) -> Array:
    """The cotangent of `x1`, of that of its distances `out` to `x2`; p is not 2."""
    cotangent, a, b, far = (widened(v) for v in (g, x1, x2, out))
    found = np.zeros(a.shape, a.dtype)
    run = _run(a, b, p)
    if run is None:
        for ours, theirs, target, weight, distance in _blocks(a, b, found, cotangent, far):
            difference = _differences(ours, theirs)
            target[...] = _part(difference, weight[..., None], distance[..., None], p).sum(-2)
        return found.astype(x1.dtype, copy=False)
    a, turned, sizes, calls = _arguments(a, b)
    cotangent, far = plain(cotangent), plain(far)
    if p == 1:
        getattr(native.sizes_pullback, run)(a, turned, cotangent, found, *sizes, *calls)
    elif p == math.inf:
        getattr(native.largest_pullback, run)(a, turned, cotangent, far, found, *sizes, *calls)
    else:
        inverse = _inverse_or_zero(far)
        native.powers_pullback.f32(a, turned, cotangent, inverse, found, *sizes, p - 1, *calls)
    return found.astype(x1.dtype, copy=False)


def _differences(a: Array, b: Array, weight: Array | None = None) -> Array:
    found: Array = a[..., :, None, :] - b[..., None, :, :]
    return found if weight is None else np.multiply(found, weight, out=found)


def _part(difference: Array, weight: Array, far: Array, p: float) -> Array:
    """Of each difference in the pullback."""
    sign = np.sign(difference)
    if p == 1:
        return weight * sign
    size = np.abs(difference)
    if p == math.inf:
        return weight * sign * (size == far)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (size * _inverse_or_zero(far)) ** (p - 1)
        return weight * np.where((difference == 0) | (far == 0), 0, sign * share)


def _inverse_or_zero(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.where(x == 0, x.dtype.type(0), x.dtype.type(1) / x)


def _run(a: Array, b: Array, p: float) -> str | None:
    """The variant of kernels, where there is one for these."""
    if not p or (p not in (1, 2, math.inf) and a.dtype != _SINGLE):
        return None
    return real_for(a.dtype) if a.size * b.shape[-2] >= SOME else None


def _arguments(a: Array, b: Array) -> tuple[Array, Array, tuple[int, int, int], tuple[int, int]]:
    """What kernels take: both sets of rows, sizes, and the number of rows and of a chunk."""
    n, m, width = a.shape[-2], b.shape[-2], a.shape[-1]
    count = a.size // width
    return plain(a), np.ascontiguousarray(b.mT), (n, m, width), (count, rows_of(m * width) or 1)


def _blocks(a: Array, b: Array, *others: Array) -> Iterator[Any]:
    """Some rows of `a` and of what belongs to them, with all of `b`."""
    for place in np.ndindex(a.shape[:-2]):
        ours, theirs = a[place], b[place]
        rows = max(1, _BLOCK // max(1, theirs.size))
        for first in range(0, len(ours), rows):
            block = slice(first, first + rows)
            yield ours[block], theirs, *(v[place][block] for v in others)
