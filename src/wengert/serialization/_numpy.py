"""NumPy's scalars and arrays of numbers in pickles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

import numpy as np

from wengert.serialization._state import short_repr

dtype = np.dtype
CLASSES = {"numpy.ndarray": np.ndarray}

_NUMBERS = re.compile(r"[biufc]\d{1,2}")
# What a pickled dtype without fields says of itself, but for its byte order.
_PLAIN = (None, None, None, -1, -1, 0)


def build_dtype(m: Any, name: Any, align: Any = False, copy: Any = True) -> Any:
    """A dtype of numbers; a fresh one, for its byte order comes later."""
    if type(name) is not str or not _NUMBERS.fullmatch(name):
        raise UnpicklingError(f"a NumPy dtype of numbers was expected, but got {short_repr(name)}")
    return np.dtype(name, False, True)


def set_byte_order(kind: Any, state: Any) -> None:
    """Finish a dtype that `build_dtype` made."""
    if (
        type(state) is not tuple
        or len(state) != 8
        or state[0] not in (3, 4)
        or state[1] not in ("<", ">", "|", "=")
        or state[2:] != _PLAIN
    ):
        raise UnpicklingError("the state of a NumPy dtype is not one of numbers")
    kind.__setstate__((3, *state[1:]))


def _scalar(m: Any, kind: Any, data: Any) -> Any:
    if not isinstance(kind, np.dtype) or type(data) is not bytes or len(data) != kind.itemsize:
        raise UnpicklingError("a NumPy scalar is made of a dtype and its bytes")
    return np.frombuffer(data, kind)[0]


def _reconstruct(m: Any, kind: Any, shape: Any, code: Any) -> Any:
    if kind is not np.ndarray or shape != (0,):
        raise UnpicklingError("of NumPy's classes only ndarray can be loaded")
    return np.empty(0, np.int8)


def set_array(m: Any, array: Any, state: Any) -> None:
    """Finish an array that `_reconstruct` made."""
    if type(state) is not tuple or len(state) != 5:
        raise UnpicklingError("the state of a NumPy array is a tuple of five")
    _, shape, kind, fortran, data = state
    if not isinstance(kind, np.dtype) or kind.hasobject or type(data) is not bytes:
        raise UnpicklingError("the state of a NumPy array is a dtype of numbers and bytes")
    if type(shape) is not tuple or any(type(n) is not int or n < 0 for n in shape):
        raise UnpicklingError(f"the shape of a NumPy array is a tuple, but got {short_repr(shape)}")
    if math.prod(shape) * kind.itemsize != len(data):
        raise UnpicklingError(f"a NumPy array of shape {shape} is not made of {len(data)} bytes")
    m.spend(len(data))
    array.__setstate__((1, shape, kind, fortran is True, data))


BUILDERS: dict[str, Callable[..., Any]] = {
    "numpy._core.multiarray.scalar": _scalar,
    "numpy._core.multiarray._reconstruct": _reconstruct,
}
