"""Half-precision arrays beside others: computed with in float32, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.precision import HALF


def widened(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays, in float32 where they are float16 or bfloat16."""
    return tuple(a.astype(np.float32) if a.dtype in HALF else a for a in arrays)


def narrowed(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The array in the dtype that its inputs had before `widened`."""
    return array if array.dtype == dtype else array.astype(dtype)
