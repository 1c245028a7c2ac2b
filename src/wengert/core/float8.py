"""Conversion to the 8-bit floating-point types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

_NAMES = ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
# NumPy's dtypes of them: tensors are stored in them, and converted from and to them.
FLOAT8 = frozenset(np.dtype(getattr(ml_dtypes, f"float8_{name}")) for name in _NAMES)


class InUse:
    """Whether the process has made numbers of these types, and what is done when it first does."""

    def __init__(self) -> None:
        self.when_first: list[Callable[[], None]] = []

    def note(self) -> None:
        """There are some from now on."""
        while self.when_first:
            self.when_first.pop()()


in_use = InUse()


def is_float8(dtype: np.dtype[Any]) -> bool:
    """Whether a NumPy dtype is that of one of them."""
    return dtype.itemsize == 1 and dtype in FLOAT8


def rounded(array: np.ndarray, to: np.dtype[Any]) -> np.ndarray:
    """``array.astype(to)`` of real numbers, rounded as in PyTorch: to float32, then to nearest.

    What is too large becomes 448 in float8_e4m3fn, and infinity or NaN in the others;
    float8_e8m0fnu, which has no sign and no zero, takes magnitudes of at least 2^-127.
    """
    in_use.note()
    with np.errstate(all="ignore"):
        single = array.astype(np.float32)
        if to == ml_dtypes.float8_e4m3fn:
            single = single.clip(-448, 448)
        elif to == ml_dtypes.float8_e8m0fnu:
            single = np.maximum(np.abs(single), np.float32(2.0**-127))
        return single.astype(to)


def holds(number: float, to: np.dtype[Any]) -> bool:
    """Whether a number is between the least and the largest of a type, or its infinity, or NaN."""
    limits: Any = ml_dtypes.finfo(to)  # type: ignore[no-untyped-call]
    if math.isinf(number):
        return to == ml_dtypes.float8_e5m2
    return math.isnan(number) or float(limits.min) <= number <= float(limits.max)
