"""The dtypes of results, and those of numbers that stand beside variables."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from wengert.symbolic.settings import config

INTEGERS = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DISCRETE = frozenset(("bool", *INTEGERS, *UNSIGNED))
CONTINUOUS = frozenset((*FLOATS, *COMPLEX))
ALL = ("bool", *INTEGERS, *UNSIGNED, *FLOATS, *COMPLEX)

_WIDE = frozenset(("int32", "int64", "uint32", "uint64"))


def upcast(*dtypes: str) -> str:
    """The dtype that holds values of all of these, as NumPy has it for arrays.

    With ``cast_policy="numpy+floatX"`` and floatX float32, integers alone never make float64.
    """
    result = _common(dtypes)
    narrow = config.cast_policy == "numpy+floatX" and config.floatX == "float32"
    return "float32" if narrow and result == "float64" and "float64" not in dtypes else result


@lru_cache(1024)
def _common(dtypes: tuple[str, ...]) -> str:
    return np.result_type(*[np.dtype(d) for d in dtypes]).name


@lru_cache(256)
def name_of(dtype: np.dtype[Any]) -> str:
    """The name of a dtype, which NumPy puts together each time."""
    return dtype.name


def to_float(dtype: str) -> str:
    """The dtype of functions such as `exp` of a dtype: float32 of integers of up to 16 bits."""
    if dtype not in DISCRETE:
        return dtype
    return "float64" if dtype in _WIDE else "float32"


def quotient(*dtypes: str) -> str:
    """The dtype of a true quotient."""
    if all(d in DISCRETE for d in dtypes):
        return str(config.floatX)
    return upcast(*dtypes)


def sum_dtype(dtype: str) -> str:
    """The dtype of a sum."""
    if dtype in ("bool", "int8", "int16", "int32"):
        return "int64"
    return "uint64" if dtype in ("uint8", "uint16", "uint32") else dtype


def accumulator(dtype: str) -> str:
    """The dtype in which a sum is computed."""
    wider = {"float16": "float32", "float32": "float64", "complex64": "complex128"}
    return wider.get(dtype, sum_dtype(dtype))


def _smallest(value: Any, dtypes: tuple[str, ...]) -> np.ndarray:
    array = np.asarray(value)
    with np.errstate(over="ignore"):
        for dtype in dtypes:
            narrow = array.astype(dtype)
            if np.all(narrow == array):
                return narrow
    return narrow


class NumpyAutocaster:
    """Which dtypes a Python number may have: the first that holds it exactly is taken.

    Attributes:
        dtypes: these, the smallest first.
    """

    def __init__(self, dtypes: tuple[str, ...]) -> None:
        self.dtypes = tuple(dtypes)

    def __call__(self, x: Any) -> np.ndarray:
        return _smallest(x, self.dtypes)


autocast_int = NumpyAutocaster(INTEGERS)
autocast_float = NumpyAutocaster(("float32", "float64"))


class autocast_float_as:  # noqa: N801
    """Gives Python floats beside variables one of some dtypes, for the time of a ``with`` block.

    >>> from wengert.symbolic import scalar
    >>> from wengert.symbolic import tensor as T
    >>> with scalar.autocast_float_as("float32"):
    ...     (T.fvector() + 1.1).dtype
    'float32'
    """

    def __init__(self, *dtypes: str) -> None:
        self.dtypes = dtypes
        if config.cast_policy != "custom":
            raise AssertionError(
                f"autocast_float_as needs config.cast_policy 'custom', it is {config.cast_policy!r}"
            )

    def __enter__(self) -> None:
        self.earlier, autocast_float.dtypes = autocast_float.dtypes, self.dtypes

    def __exit__(self, *exception: object) -> None:
        autocast_float.dtypes = self.earlier


def narrowed(value: Any) -> np.ndarray:
    """A Python number as an array of the smallest dtype that holds it exactly.

    NumPy's own scalars and arrays stay what they are. A float becomes floatX where that is
    float32 or float16, whatever is lost. With ``cast_policy="numpy+floatX"`` floats become floatX
    in any case, and integers what NumPy makes of them.
    """
    if isinstance(value, bool | np.bool_ | np.ndarray | np.generic):
        return np.asarray(value)
    if config.cast_policy == "numpy+floatX":
        return np.asarray(value, config.floatX if isinstance(value, float) else None)
    if isinstance(value, int):
        return autocast_int(value) if value < 2**63 else np.asarray(value, "uint64")
    if isinstance(value, float):
        if config.floatX != "float64":
            return np.asarray(value, config.floatX)
        return autocast_float(value)
    return np.asarray(value)


def asarray(a: Any, dtype: Any, order: Any = None) -> np.ndarray:
    """A NumPy array of a dtype; `"floatX"` is that of the settings."""
    return np.asarray(a, as_name(dtype), order=order)


def as_name(dtype: Any) -> str:
    """The name of a dtype; "floatX" is the setting's."""
    if dtype == "floatX":
        return str(config.floatX)
    if isinstance(dtype, str) and dtype in ALL:
        return dtype
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype)
