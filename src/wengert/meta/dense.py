"""Outlines as plain values, and strides without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Described = tuple[Shape, "np.dtype[Any]", Shape]  # shape, dtype and strides


def rows(shape: Shape, dtype: np.dtype[Any], order: Sequence[int] | None = None) -> Shape:
    """Strides without gaps; `order` names the dimensions from the outermost in memory."""
    strides = [0] * len(shape)
    step = dtype.itemsize
    for d in reversed(range(len(shape)) if order is None else order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)
