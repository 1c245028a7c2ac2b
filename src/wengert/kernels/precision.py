"""Computing in a wider type than the one stored: half precision in float32, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import ml_dtypes
import numpy as np

from wengert.kernels.layout import astype

BRAIN = np.dtype(ml_dtypes.bfloat16)
HALF = frozenset({np.dtype(np.float16), BRAIN})
_SINGLE = np.dtype(np.float32)
# Elements from which kernels convert halves; they never warn.
MANY = 1 << 8


def widened(array: np.ndarray) -> np.ndarray:
    """The array, in float32 where it is float16 or bfloat16."""
    return converted(array, _SINGLE) if array.dtype in HALF else array


def narrowed(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The array in the dtype that its inputs had before `widened`."""
    return array if array.dtype == dtype else converted(array, dtype)


def converted(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """`array.astype(dtype)`, in a kernel where there is one for halves."""
    if array.size < MANY:
        if array.dtype == np.float64 and dtype in HALF:  # as in PyTorch, by way of float32
            array = astype(array, _SINGLE)
        return astype(array, dtype, copy=True)
    return _compiled()(array, dtype)


@cache
def _compiled() -> Callable[[np.ndarray, np.dtype[Any]], np.ndarray]:
    from wengert.kernels import halves  # which loads the kernels

    return halves.converted


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of an array, with the two half types computed in float32 and rounded once."""

    @wraps(function)
    def wrapped(x: np.ndarray, *args: Any) -> Any:
        if x.dtype in HALF:
            return converted(function(converted(x, _SINGLE), *args), x.dtype)
        return function(x, *args)

    return wrapped


def in_float64(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of a float array, computed in float64 and rounded once."""

    @wraps(function)
    def wrapped(x: np.ndarray, *args: Any) -> Any:
        return function(astype(x, np.float64), *args).astype(x.dtype, copy=False)

    return wrapped
