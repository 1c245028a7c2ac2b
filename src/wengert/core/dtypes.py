"""Data types, and the one table of how they combine."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from wengert.core.float8 import FLOAT8, holds, is_float8, rounded


class dtype:  # noqa: N801 (PyTorch's name)
    """A data type: its name, its NumPy counterpart and its category."""

    __slots__ = ("category", "name", "np", "short")

    def __init__(self, name: str, numpy_type: Any, category: int, short: str) -> None:
        self.name, self.np, self.category, self.short = name, np.dtype(numpy_type), category, short

    @property
    def is_floating_point(self) -> bool:
        """Whether values are real floating-point numbers."""
        return self.category == FLOAT

    @property
    def is_complex(self) -> bool:
        """Whether values are complex numbers."""
        return self.category == COMPLEX

    @property
    def is_signed(self) -> bool:
        """Whether negative values exist."""
        return self.name not in (
            "bool", "uint8", "uint16", "uint32", "uint64", "float8_e8m0fnu"
        )  # fmt: skip

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.np.itemsize

    def to_complex(self) -> dtype:
        """The complex type of the same precision."""
        if self.category == COMPLEX:
            return self
        if self not in _COMPLEX_OF:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.short}")
        return _COMPLEX_OF[self]

    def to_real(self) -> dtype:
        """The type of the real part."""
        return {complex32: float16, complex64: float32, complex128: float64}.get(self, self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name, (self.name,)


class NamedDtype(dtype):
    """A dtype that programs name in their tables, and no tensor can have."""

    __slots__ = ("_itemsize",)

    def __init__(self, name: str, itemsize: int, category: int, short: str) -> None:
        self.name, self.category, self.short, self._itemsize = name, category, short, itemsize

    @property
    def np(self) -> Any:
        """NotImplementedError."""
        raise NotImplementedError(f"torch.{self.name} is a name only: no tensor can have it")

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self._itemsize


BOOL, INT, FLOAT, COMPLEX = range(4)

bool_ = dtype("bool", np.bool_, BOOL, "Bool")
uint8 = dtype("uint8", np.uint8, INT, "Byte")
int8 = dtype("int8", np.int8, INT, "Char")
int16 = dtype("int16", np.int16, INT, "Short")
int32 = dtype("int32", np.int32, INT, "Int")
int64 = dtype("int64", np.int64, INT, "Long")
uint16 = dtype("uint16", np.uint16, INT, "UInt16")
uint32 = dtype("uint32", np.uint32, INT, "UInt32")
uint64 = dtype("uint64", np.uint64, INT, "UInt64")
float16 = dtype("float16", np.float16, FLOAT, "Half")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOAT, "BFloat16")
float32 = dtype("float32", np.float32, FLOAT, "Float")
float64 = dtype("float64", np.float64, FLOAT, "Double")
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOAT, "Float8_e4m3fn")
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOAT, "Float8_e4m3fnuz")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOAT, "Float8_e5m2")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOAT, "Float8_e5m2fnuz")
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOAT, "Float8_e8m0fnu")
complex64 = dtype("complex64", np.complex64, COMPLEX, "ComplexFloat")
complex128 = dtype("complex128", np.complex128, COMPLEX, "ComplexDouble")
complex32 = NamedDtype("complex32", 4, COMPLEX, "ComplexHalf")

ALL = (bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
       float16, bfloat16, float32, float64, complex64, complex128, float8_e4m3fn,
       float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)  # fmt: skip
of_numpy: dict[Any, dtype] = {d.np: d for d in ALL}
_names = {d.name: d for d in (*ALL, complex32)}


def canonical(array: np.ndarray) -> np.ndarray:
    """The array with the canonical dtype object.

    Operations compare dtypes by identity, and unpickled arrays have equal but distinct objects.
    """
    own_dtype = of_numpy[array.dtype].np
    return array if array.dtype is own_dtype else array.view(own_dtype)


# NumPy dtypes that already are floating point or complex.
inexact = frozenset(d.np for d in ALL if d.category >= FLOAT)


def by_name(name: str) -> dtype:
    """The dtype of that name (pickles refer to dtypes by it)."""
    return _names[name]


class Defaults:
    """The floating-point type of new tensors; `set_default_dtype` changes it."""

    dtype = float32


defaults = Defaults()


def set_default_dtype(d: dtype) -> None:
    """Make `d` the dtype of tensors created from Python floats.

    Raises TypeError unless `d` is a floating-point dtype.

    >>> import wengert
    >>> wengert.set_default_dtype(wengert.float64)
    >>> wengert.tensor(0.1).dtype
    torch.float64
    >>> wengert.set_default_dtype(wengert.float32)
    """
    if not isinstance(d, dtype) or d.category != FLOAT:
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type,"
            f" set_default_dtype() got {d}"
        )
    if d.np in FLOAT8:
        raise TypeError(
            f"couldn't find storage object {d.short}Storage: set_default_dtype() got {d}"
        )
    defaults.dtype = d


def get_default_dtype() -> dtype:
    """Return the dtype of tensors created from Python floats.

    >>> import wengert
    >>> wengert.get_default_dtype()
    torch.float32
    """
    return defaults.dtype


def of_argument(name: str, value: Any) -> dtype:
    """Resolve the argument `dtype` of function `name`; Python's types are accepted."""
    if isinstance(value, dtype):
        return value
    python_types: dict[Any, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}
    if isinstance(value, type) and value in python_types:
        return python_types[value]
    raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(value).__name__}")


_COMPLEX_OF = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}
_WIDE_UNSIGNED = (uint16, uint32, uint64)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype that both convert to, as ``torch.promote_types``.

    Integers never widen a floating type; float16 with bfloat16 gives float32.

    >>> import wengert
    >>> wengert.promote_types(wengert.int64, wengert.float16)
    torch.float16
    """
    if type1 is type2:
        return type1
    if complex32 in (type1, type2):
        other = type2 if type1 is complex32 else type1
        fits = other.category < FLOAT or other is float16
        return complex32 if fits else promote_types(complex64, other)
    for d in (type1, type2):
        if d.np in FLOAT8:
            raise RuntimeError(
                "Promotion for Float8 Types is not supported, attempted to promote"
                f" {type1.short} and {type2.short}; convert one with .to(...)"
            )
    low, high = sorted((type1, type2), key=lambda d: d.category)
    if high.category in (INT, COMPLEX) and (low in _WIDE_UNSIGNED or high in _WIDE_UNSIGNED):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote"
            f" {type1.short} and {type2.short}; convert one with .to(...)"
        )
    if low.category < high.category:
        if high.category == COMPLEX and low is float64:
            return complex128
        return high
    return _promote_same_category(low, high)


def _promote_same_category(a: dtype, b: dtype) -> dtype:
    if a.category == INT:
        return _promote_integers(a, b)
    if {a, b} == {float16, bfloat16}:
        return float32
    return a if a.itemsize > b.itemsize else b


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if a.is_signed == b.is_signed:
        return a if a.itemsize > b.itemsize else b
    signed = a if a.is_signed else b
    return signed if signed.itemsize > 1 else int16  # beside uint8


def of_number(value: complex) -> dtype:
    """The dtype a Python number promotes to next to tensors of a lower category."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return defaults.dtype
    return _COMPLEX_OF[defaults.dtype]


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether conversion does not lower the category of the values.

    >>> import wengert
    >>> wengert.can_cast(wengert.float32, wengert.int64)
    False
    """
    for argument, value in (("from_", from_), ("to", to)):
        if not isinstance(value, dtype):
            raise TypeError(
                f"can_cast(): argument '{argument}' must be torch.dtype, not {type(value).__name__}"
            )
    return from_.category <= to.category


# Numbers below this are in the range of every dtype with at least two bytes.
_SMALL = 1024.0


def _float_array(number: float, to: dtype) -> np.ndarray | None:
    """A real number as a 0-d array of floating point; None if it is out of range."""
    if -_SMALL < number < _SMALL:
        return np.array(number, to.np)
    with np.errstate(over="ignore"):
        array = np.array(float(number), to.np)
    return array if not np.isinf(array) or math.isinf(number) else None


@cache
def _bounds(integers: np.dtype[Any]) -> tuple[int, int]:
    """The least and the largest number of a dtype of integers."""
    info = np.iinfo(integers)
    return int(info.min), int(info.max)


def _integer_array(number: float, to: dtype) -> np.ndarray | None:
    """A finite number as a 0-d array of integers; None if it is out of range."""
    least, most = _bounds(to.np)
    if least <= number <= most:
        return np.array(int(number), to.np)
    if not least and -most <= number < 0 and not isinstance(number, (float, np.floating)):
        return np.array(int(number) + most + 1, to.np)
    return None


def scalar_array(value: complex, to: dtype, name: str) -> np.ndarray:
    """A number as a 0-d array; RuntimeError where function `name` cannot store it as `to`.

    Unsigned integers take small negative integers, which wrap around.
    """
    if to.category == FLOAT and to.itemsize > 1 and (type(value) is float or type(value) is int):
        array = _float_array(value, to)  # no float8
        if array is not None:
            return array
    return _any_array(value, to, name)


def _any_array(value: complex, to: dtype, name: str) -> np.ndarray:
    """`scalar_array` of any number."""
    if to.category == BOOL:
        return np.array(bool(value))
    if to.category == COMPLEX:
        return np.array(value, to.np)
    number = value.real if isinstance(value, complex) and value.imag == 0 else value
    if not isinstance(number, complex):
        if is_float8(to.np):
            if holds(number, to.np):
                return rounded(np.asarray(number, np.float64), to.np)
        elif to.category == FLOAT:
            array = _float_array(number, to)
            if array is not None:
                return array
        elif math.isfinite(number):
            array = _integer_array(number, to)
            if array is not None:
                return array
    raise RuntimeError(
        f"value cannot be converted to type {to.name} without overflow: {name}() got {value}"
    )


def combine(operands: list[tuple[dtype, int]]) -> dtype:
    """The result type of operands given as (dtype, rank).

    Rank 2 is a tensor with dimensions, 1 a 0-d tensor, 0 a Python number. A lower rank only
    counts if its category is higher than that of every higher rank; if it makes real numbers
    complex, their precision stays.
    """
    result: dtype | None = None
    for rank in (2, 1, 0):
        top: dtype | None = None
        for d, r in operands:
            if r == rank:
                top = d if top is None else promote_types(top, d)
        if top is None:
            continue
        if result is None:
            result = top
        elif top.category > result.category:
            # A float stays as precise as it is, and so does what it becomes.
            both = top.category == COMPLEX and result.category == FLOAT
            result = result.to_complex() if both else top
    assert result is not None
    return result
