"""Argument checks shared by many operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.kernels.geometry import Shape


def require_kind(name: str, array: np.ndarray, kinds: str) -> None:
    """Raise unless the array's NumPy kind is one of `kinds` (bfloat16 counts as ``"f"``)."""
    if array.dtype.kind not in kinds and not (array.dtype.kind == "V" and "f" in kinds):
        raise not_implemented(name, array)


def not_implemented(name: str, array: np.ndarray) -> NotImplementedError:
    """The exception for a dtype that an operation does not support."""
    short = of_numpy[array.dtype].short if array.dtype in of_numpy else str(array.dtype)
    return NotImplementedError(f"\"{name}\" not implemented for '{short}'")


def typed_ints(name: str, what: str, value: Any) -> Shape:
    """An integer or a sequence of integers as a tuple. As in PyTorch, the first must be no bool."""
    if type(value) is int:
        return (value,)
    values = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not all(isinstance(v, int | np.integer) for v in values) or bool in map(type, values[:1]):
        raise TypeError(f"{name}(): argument {what!r} must be tuple of ints, not {value!r}")
    return tuple(map(int, values))
