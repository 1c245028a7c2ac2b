"""Counts of the elements of each row in bins of equal width, and of small integers."""

from __future__ import annotations

import numpy as np

from wengert.kernels.chunks import FEW, is_plain, pays_off, plain, real_for, rows_of
from wengert.kernels.jit import LARGE, available, kernel
from wengert.kernels.jit.builtins import at, f64, f64s, i64, i64s, inline, reals
from wengert.kernels.precision import widened
from wengert.kernels.ranking import integer_ends


@inline
def _cell(x: f64, low: f64, width: f64, bins: i64) -> i64:
    return min(i64((x - low) * width), bins - 1)


@kernel
def _counts(
    x: reals, lows: f64s, highs: f64s, out: i64s, n: i64, bins: i64, start: i64, stop: i64
) -> None:
    """Of rows; `out` has been zero."""
    for r in range(start, stop):
        row = at(x, r * n)
        mine = at(out, r * bins)
        low = lows[r]
        width = f64(bins) / (highs[r] - low)
        for i in range(n):
            value = f64(row[i])
            if value >= low and value <= highs[r]:
                cell = _cell(value, low, width, bins)
                mine[cell] = mine[cell] + 1


@kernel
def _occurrences(x: i64s, out: i64s, start: i64, stop: i64) -> None:
    """As one piece of work; `out` has been zero."""
    for i in range(start, stop):
        out[x[i]] = out[x[i]] + 1


def occurrences(x: np.ndarray, least: int) -> np.ndarray:
    """How often each number from 0 comes in a vector that has no negative ones; at least so many.

    NumPy's, in two passes that are faster.
    """
    if x.dtype != np.int64 or x.size < LARGE or not (is_plain(x) and available()):
        return np.bincount(x.astype(np.int64, copy=False), minlength=least)
    low, high = integer_ends(x)
    if low < 0:
        raise ValueError(f"occurrences() of numbers from 0 on, but got {low}")
    out = np.zeros(max(high + 1, least), np.int64)
    _occurrences.f32(x, out, x.size, x.size)
    return out


def counts(rows: np.ndarray, lows: np.ndarray, highs: np.ndarray, bins: int) -> np.ndarray:
    """How many elements of each row are in each of its bins, the last with its upper end.

    The ends, a pair of float64 for each row, are finite, and the lower one is the smaller.
    """
    m, n = rows.shape
    wide = plain(widened(rows))
    run = real_for(wide.dtype) if pays_off(wide.size, FEW) else None
    if run is not None:
        out = np.zeros((m, bins), np.int64)
        getattr(_counts, run)(wide, lows, highs, out, n, bins, m, rows_of(4 * n))
        return out
    wide = wide.astype(np.float64)
    lows, highs = lows[:, None], highs[:, None]
    inside = (wide >= lows) & (wide <= highs)
    cell = np.where(inside, (wide - lows) * (bins / (highs - lows)), 0).astype(np.int64)
    cell = np.minimum(cell, bins - 1) + np.arange(m)[:, None] * bins
    return np.bincount(cell[inside], minlength=m * bins).reshape(m, bins)
