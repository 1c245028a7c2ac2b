"""Argument checks shared by many operations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.preparations import peeks
from wengert.core.tensor import Tensor, Tracer, memory_of, mode
from wengert.kernels.geometry import Shape


def elements_of(tensor: Tensor) -> np.ndarray:
    """The elements of a tensor for a check: a value that is deferred remains so."""
    found = peeks[0](tensor) if peeks else None
    return memory_of(tensor) if found is None else found


def varies(tensor: Tensor) -> bool:
    """Whether the elements are an example's: those of a program that is being recorded."""
    while isinstance(tensor, Tracer):
        if tensor.level.composite:
            return True
        tensor = tensor.value
    return False


def require_kind(name: str, array: np.ndarray, kinds: str) -> None:
    """Raise unless the array's NumPy kind is one of `kinds` (bfloat16 counts as ``"f"``)."""
    if array.dtype.kind not in kinds and not (array.dtype.kind == "V" and "f" in kinds):
        raise not_implemented(name, array)


def require_constant(name: str, argument: str, value: Tensor | None) -> None:
    """RuntimeError for an operand that wants a gradient which the operation does not have."""
    if value is not None and value._edge is not None and mode.site is not None:
        raise RuntimeError(
            f"The function '{name}' is not differentiable with respect to argument '{argument}'."
            " This input cannot have requires_grad True: pass its detach()."
        )


def require_in_range(name: str, dtype: np.dtype[Any], *numbers: Any) -> None:
    """RuntimeError for a finite number beyond float32, where an operation computes in that.

    It does so for halves, too.
    """
    if dtype.kind not in "fV" or dtype.itemsize > 4:
        return
    for number in numbers:
        if not -_LARGEST <= number <= _LARGEST and math.isfinite(number):
            raise RuntimeError(
                f"value cannot be converted to type float without overflow: {name}() got {number}"
            )


_LARGEST = float(np.finfo(np.float32).max)


def not_implemented(name: str, array: np.ndarray) -> NotImplementedError:
    """The exception for a dtype that an operation does not support."""
    short = of_numpy[array.dtype].short if array.dtype in of_numpy else str(array.dtype)
    return NotImplementedError(f"\"{name}\" not implemented for '{short}'")


def require_int(name: str, argument: str, value: Any, position: int) -> None:
    """TypeError unless an argument is an integer, and no bool."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be int, not"
            f" {type(value).__name__}"
        )


_are_ints = frozenset({int}).issuperset


def typed_ints(name: str, what: str, value: Any) -> Shape:
    """An integer or a sequence of integers as a tuple. As in PyTorch, the first must be no bool."""
    if type(value) is int:
        return (value,)
    if type(value) is tuple and _are_ints(map(type, value)):
        return value
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not all(isinstance(v, (int, np.integer)) for v in values) or bool in map(type, values[:1]):
        raise TypeError(f"{name}(): argument {what!r} must be tuple of ints, not {value!r}")
    return tuple(map(int, values))
