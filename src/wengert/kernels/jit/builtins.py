"""The functions of the kernel language, as Python understands them.

A kernel runs in Python as well, on flat arrays: slowly, but each access is then checked, which
is how the tests look for reads and writes out of bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import ml_dtypes
import numpy as np

from wengert.kernels.jit.records import Record

F = TypeVar("F", bound=Callable[..., Any])

f32: TypeAlias = float
f64: TypeAlias = float
real: TypeAlias = float
i64: TypeAlias = int
i32: TypeAlias = int
u8: TypeAlias = int
f16: TypeAlias = float
u16: TypeAlias = int
f32s: TypeAlias = Any
f64s: TypeAlias = Any
reals: TypeAlias = Any
storeds: TypeAlias = Any
i64s: TypeAlias = Any
i32s: TypeAlias = Any
u8s: TypeAlias = Any
f16s: TypeAlias = Any
u16s: TypeAlias = Any


short_range = range


def sqrt(x: float) -> float:
    """The square root; NaN of negative numbers."""
    return math.sqrt(x) if x >= 0 else math.nan


def brain(x: float) -> float:
    """The nearest bfloat16."""
    return float(np.float32(x).astype(ml_dtypes.bfloat16))


def half(x: float) -> float:
    """The nearest float16."""
    return float(np.float32(x).astype(np.float16))


def fabs(x: float) -> float:
    """The absolute value."""
    return abs(x)


def rint(x: float) -> float:
    """The nearest integer, as a float; halves go to the even one."""
    return float(np.rint(x))


def floor(x: float) -> float:
    """The largest integer that is not above, as a float."""
    return float(np.floor(x))


def ceil(x: float) -> float:
    """The smallest integer that is not below, as a float."""
    return float(np.ceil(x))


def trunc(x: float) -> float:
    """Without the digits behind the point."""
    return float(np.trunc(x))


def maximum(a: float, b: float) -> float:
    """The larger of two floats; NaN if one is."""
    return float(np.maximum(a, b))


def minimum(a: float, b: float) -> float:
    """The smaller of two floats; NaN if one is."""
    return float(np.minimum(a, b))


def copysign(a: float, b: float) -> float:
    """The first with the sign of the second."""
    return math.copysign(a, b)


def bits(x: float) -> int:
    """The bits of an f32 as an i32."""
    return int(np.float32(x).view(np.int32))


def from_bits(i: int) -> float:
    """The f32 of such bits."""
    return float(np.int32(i).view(np.float32))


def bits64(x: float) -> int:
    """The bits of an f64 as an i64."""
    return int(np.float64(x).view(np.int64))


def from_bits64(i: int) -> float:
    """The f64 of such bits."""
    return float(np.int64(i).view(np.float64))


def given(pointer: Any) -> bool:
    """Whether an array came, not None."""
    return pointer is not None


def at(pointer: Any, index: int) -> Any:
    """The array from that element, or record, on."""
    if isinstance(pointer, Record):
        index *= len(pointer.FIELDS)
    return pointer[index:]


def array_at(kind: Any, address: int) -> Any:
    """The array or record that begins at an address: `array_at(f32, addresses[k])`."""
    raise NotImplementedError("addresses are for compiled kernels")


def item(objects: int, index: int) -> int:
    """The address of an object in a list, by the list's address (its id), under Python's lock."""
    raise NotImplementedError("addresses are for compiled kernels")


def local(kind: Any, size: int) -> Any:
    """An array on the stack, which holds anything at first."""
    return np.full(size, np.nan) if kind is float else np.zeros(size, np.int64)


def inline(function: F) -> F:
    """A function for kernels to call, in any float type that it can be compiled for."""
    function.inline = {"any": function}  # type: ignore[attr-defined]
    return function


def of_doubles(double: Callable[..., Any]) -> Callable[[F], F]:
    """As `inline`, of float32; kernels for float64 call another function."""

    def mark(function: F) -> F:
        function.inline = {"f32": function, "f64": double}  # type: ignore[attr-defined]
        return function

    return mark


def apart(function: F) -> F:
    """As `inline`, for a large function: it is compiled once, and called."""
    function.apart = True  # type: ignore[attr-defined]
    return inline(function)
