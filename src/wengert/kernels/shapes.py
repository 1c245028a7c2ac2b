"""Shapes of arrays: undoing a broadcast."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.kernels.columns import column_sums
from wengert.kernels.jit import LARGE, usable
from wengert.kernels.precision import HALF
from wengert.kernels.reduction import total


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    """`g` summed down to `shape`, which broadcasts to the shape of `g`.

    Half precision is summed in float32 and rounded once.
    """
    lead = g.ndim - len(shape)
    axes = (*range(lead), *(d + lead for d, n in enumerate(shape) if n == 1 != g.shape[d + lead]))
    if not axes:
        return g.reshape(shape)
    if g.size > LARGE and axes[-1] < len(axes) < g.ndim and usable(g):
        return column_sums(g.reshape(prod(g.shape[: len(axes)]), -1)).reshape(shape)
    if g.size >= LARGE:
        return total(g, axes).reshape(shape)
    if g.dtype in HALF:
        return np.add.reduce(g, axis=axes, dtype=np.float32).astype(g.dtype).reshape(shape)
    return np.add.reduce(g, axis=axes).reshape(shape)
