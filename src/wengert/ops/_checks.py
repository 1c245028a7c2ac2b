"""Refusals that many operations share."""

from __future__ import annotations

import numpy as np

from wengert._dtypes import of_numpy


def require_kind(name: str, array: np.ndarray, kinds: str) -> None:
    """Raise unless the array's NumPy kind is one of `kinds` (bfloat16 counts as ``"f"``)."""
    if array.dtype.kind not in kinds and not (array.dtype.kind == "V" and "f" in kinds):
        raise not_implemented(name, array)


def not_implemented(name: str, array: np.ndarray) -> NotImplementedError:
    """The exception for a dtype that an operation does not take."""
    short = of_numpy[array.dtype].short if array.dtype in of_numpy else str(array.dtype)
    return NotImplementedError(f"\"{name}\" not implemented for '{short}'")
