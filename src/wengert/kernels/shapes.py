"""Shapes of arrays: undoing a broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.precision import HALF


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    """`g` summed down to `shape`, which broadcasts to the shape of `g`.

    Half precision is summed in float32 and rounded once.
    """
    lead = g.ndim - len(shape)
    axes = (*range(lead), *(d + lead for d, n in enumerate(shape) if n == 1 != g.shape[d + lead]))
    if not axes:
        return g.reshape(shape)
    if g.dtype in HALF:
        return np.add.reduce(g, axis=axes, dtype=np.float32).astype(g.dtype).reshape(shape)
    return np.add.reduce(g, axis=axes).reshape(shape)
