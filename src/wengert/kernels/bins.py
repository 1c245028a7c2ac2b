"""Counting elements in bins of equal width."""

from __future__ import annotations

import math

import numpy as np

from wengert.kernels.chunks import SOME, real_of
from wengert.kernels.jit import exact_kernel
from wengert.kernels.jit.builtins import f64, i64, i64s, reals


@exact_kernel
def _count(
    x: reals, out: i64s, low: f64, high: f64, scale: f64, bins: i64, start: i64, stop: i64
) -> None:
    for i in range(start, stop):
        value = f64(x[i])
        if value >= low and value <= high:
            place = min(i64((value - low) * scale), bins - 1)
            out[place] = out[place] + 1


def counts(x: np.ndarray, low: float, high: float, bins: int) -> np.ndarray:
    """How many elements of a vector are in each bin between two numbers, which are in the last."""
    scale = bins / (high - low)
    # Otherwise products may be no numbers, and NumPy says so.
    if x.size >= SOME and 0 < scale < math.inf and (real := real_of(x)):
        out = np.zeros(bins, np.int64)
        getattr(_count, real)(x, out, low, high, scale, bins, x.size, x.size)
        return out
    wide = x.astype(np.float64)
    inside = (wide >= low) & (wide <= high)
    places = ((wide[inside] - low) * scale).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins)
