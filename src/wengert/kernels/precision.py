"""Computing in a wider type than the one stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np

HALF = frozenset({np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)})


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of an array, with the two half types computed in float32 and rounded once."""

    @wraps(function)
    def widened(x: np.ndarray, *args: Any) -> Any:
        if x.dtype in HALF:
            return function(x.astype(np.float32), *args).astype(x.dtype)
        return function(x, *args)

    return widened


def in_float64(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of a float array, computed in float64 and rounded once."""

    @wraps(function)
    def widened(x: np.ndarray, *args: Any) -> Any:
        return function(x.astype(np.float64, copy=False), *args).astype(x.dtype, copy=False)

    return widened
