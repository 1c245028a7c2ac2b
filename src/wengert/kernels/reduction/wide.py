"""Sums of float32 in float64: elements are converted in the loop that adds them."""

from __future__ import annotations

import numpy as np

from wengert.kernels.chunks import rows_of
from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import at, f32s, f64, f64s, i64, inline
from wengert.kernels.reduction.calls import plan_of

# Columns that are summed together; elements from which a kernel is faster than NumPy.
_LANES, _MANY = 1024, 2048


@inline
def _wide_sum(row: f32s, size: i64) -> f64:
    whole = f64(0.0)
    for j in range(size):
        whole += f64(row[j])
    return whole


@kernel
def _chunks(x: f32s, parts: f64s, chunk: i64, start: i64, stop: i64) -> None:
    parts[start // chunk] = _wide_sum(at(x, start), stop - start)


@kernel
def _rows(x: f32s, out: f64s, width: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        out[r] = _wide_sum(at(x, r * width), width)


@kernel
def _middle(x: f32s, out: f64s, n: i64, inner: i64, blocks: i64, start: i64, stop: i64) -> None:
    """The sums over n of an array (outer, n, inner), for blocks of columns."""
    for b in range(start, stop):
        column = (b % blocks) * _LANES
        place = (b // blocks) * n * inner + column
        lanes = min(_LANES, inner - column)
        y = at(out, (b // blocks) * inner + column)
        for j in range(lanes):
            y[j] = f64(0.0)
        for k in range(n):
            row = at(x, place + k * inner)
            for j in range(lanes):
                y[j] = y[j] + f64(row[j])


def wide_total(array: np.ndarray, axes: tuple[int, ...] | None) -> np.ndarray | None:
    """The sum of a C-contiguous float32 array over some axes, in float64.

    None where there is no kernel for it.
    """
    flags = array.flags
    if array.size < _MANY or not (flags.c_contiguous and flags.aligned and available()):
        return None
    plan = plan_of(array.shape, axes, tuple(range(array.ndim)))
    pattern, sizes = plan.pattern, plan.sizes
    if pattern == "R":
        chunk = rows_of(1)
        parts = np.empty(-(-array.size // chunk))
        _chunks.f32(array, parts, chunk, array.size, chunk)
        return np.asarray(np.add.reduce(parts))
    if pattern in ("KR", "RKR"):
        width = sizes[-1]
        out = np.empty(array.size // width)
        _rows.f32(array, out, width, out.size, rows_of(width))
        if pattern == "RKR":
            out = np.add.reduce(out.reshape(sizes[0], -1), axis=0)
    elif pattern in ("RK", "KRK"):
        outer, n, inner = sizes if len(sizes) == 3 else (1, *sizes)
        out = np.empty(outer * inner)
        blocks = -(-inner // _LANES)
        chunk = rows_of(n * min(inner, _LANES))
        _middle.f32(array, out, n, inner, blocks, outer * blocks, chunk)
    else:
        return None
    return out.reshape(plan.shape)
