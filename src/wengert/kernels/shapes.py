"""Shapes of arrays: undoing a broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> Any:
    """`g` summed down to `shape`, which broadcasts to the shape of `g`."""
    lead = g.ndim - len(shape)
    axes = (*range(lead), *(d + lead for d, n in enumerate(shape) if n == 1 != g.shape[d + lead]))
    return np.add.reduce(g, axis=axes).reshape(shape) if axes else g.reshape(shape)
