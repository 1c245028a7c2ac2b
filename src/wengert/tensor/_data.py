"""Converting user data to arrays: nested sequences, NumPy arrays, scalars, other libraries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.dtypes import dtype
from wengert.core.float8 import in_use, is_float8, rounded
from wengert.core.messages import warn
from wengert.core.tensor import RawCut, Tensor, concrete, cut_at

_SUPPORTED = ("float64, float32, float16, complex64, complex128, int64, int32, int16, int8,"
              " uint64, uint32, uint16, uint8, and bool")  # fmt: skip
_NUMBERS = frozenset({bool, int, float, complex})
_RANK: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}


def array_of(data: Any, requested: dtype | None) -> np.ndarray:
    """A new array of the data, in the requested dtype or the one PyTorch would infer."""
    if isinstance(data, Tensor):
        return converted_array(data._array, requested, copy=True)
    if isinstance(data, (np.ndarray, np.generic)):
        return converted_array(checked(np.asarray(data)), requested, copy=True)
    if type(data) not in _NUMBERS and not isinstance(data, (list, tuple)):
        array = array_from_protocol(data)
        if array is not None:
            return converted_array(array, requested, copy=True)
    return _of_sequence(data, requested)


def cut_of(data: Any, what: str) -> RawCut | None:
    """Where a tensor, or a list of tensors, loses its graph by being copied as data."""
    if isinstance(data, Tensor):
        return cut_at(what, data)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], Tensor):
        cuts = (cut_at(what, x) for x in data if isinstance(x, Tensor))
        return next((cut for cut in cuts if cut is not None), None)
    return None


def array_from_protocol(data: Any) -> np.ndarray | None:
    """The array provided by an object of another library, sharing memory if possible."""
    if not hasattr(data, "__array__"):
        return None
    return checked(np.asarray(data))


def checked(array: np.ndarray) -> np.ndarray:
    """The array, ready for a tensor; TypeError or ValueError if it cannot become one."""
    if not array.dtype.isnative:
        raise ValueError(
            f"given numpy array has byte order different from the native byte order"
            f" ({array.dtype.str}). Conversion between byte orders is currently not supported."
        )
    if array.dtype not in dtypes.of_numpy:
        raise TypeError(
            f"can't convert np.ndarray of type {array.dtype.type.__module__}."
            f"{array.dtype.type.__name__}. The only supported types are: {_SUPPORTED}."
        )
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative"
            " strides are not currently supported. (You can probably work around this by making"
            f" a copy of your array with array.copy(); its strides are {array.strides}.)"
        )
    if any(s % array.itemsize for s in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy"
            f" array to reallocate the memory (strides {array.strides}, {array.itemsize} bytes)."
        )
    if is_float8(array.dtype):
        in_use.note()
    return dtypes.canonical(array)


def converted_array(array: np.ndarray, requested: dtype | None, copy: bool) -> np.ndarray:
    """The array in another dtype, as C converts."""
    to = array.dtype if requested is None else requested.np
    if array.dtype.kind == "c" and to.kind not in "cb":
        array = array.real
    if is_float8(to) and array.dtype != to:
        return rounded(array, to)
    with np.errstate(all="ignore"):
        return array.astype(to, copy=copy)


def _of_sequence(data: Any, requested: dtype | None) -> np.ndarray:
    shape, leaves = _flatten(data)
    kinds = set(map(type, leaves))
    if kinds == {np.ndarray}:
        return _stacked(leaves, shape, requested)
    if kinds <= _NUMBERS:
        natural = _natural(max(kinds, key=_RANK.__getitem__, default=float))
    else:
        leaves, natural = _scalars(leaves)
    return _filled(leaves, natural, requested or natural).reshape(shape)


def _flatten(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested sequences, taken from the first of each, and all their elements."""
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    shape: list[int] = []
    level = [data]
    while level and _is_sequence(level[0]) and set(map(type, level)) != {np.ndarray}:
        n = len(level[0])
        for item in level:
            if not _is_sequence(item):
                raise TypeError(
                    f"not a sequence: expected one of length {n} at dim {len(shape)}, got"
                    f" {type(item).__name__}"
                )
            if len(item) != n:
                raise ValueError(
                    f"expected sequence of length {n} at dim {len(shape)} (got {len(item)})"
                )
        shape.append(n)
        level = list(chain.from_iterable(level))
    if level and isinstance(level[0], (str, bytes)):
        raise ValueError(f"too many dimensions '{type(level[0]).__name__}'")
    return tuple(shape), level


def _is_sequence(item: Any) -> bool:
    kind = type(item)
    if kind is list or kind is tuple:
        return True
    if kind in _NUMBERS or kind in concrete or isinstance(item, (str, bytes, np.generic, dict)):
        return False
    if kind is np.ndarray:
        return item.ndim > 0
    if isinstance(item, Sequence):
        return True
    # A class has what its metaclass defines, too: the members of an enumeration have no length.
    defined = {
        name for base in kind.__mro__ for name in ("__getitem__", "__len__") if name in vars(base)
    }
    return len(defined) == 2


def _natural(kind: type) -> dtype:
    """The dtype that a tensor of such Python numbers has."""
    if kind is float:
        return dtypes.defaults.dtype
    if kind is complex:
        return dtypes.defaults.dtype.to_complex()
    return dtypes.bool_ if kind is bool else dtypes.int64


def _stacked(
    arrays: list[np.ndarray], shape: tuple[int, ...], requested: dtype | None
) -> np.ndarray:
    """Stack a list of arrays; slow in PyTorch, which warns about it."""
    warn("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider"
         " converting the list to a single numpy.ndarray with numpy.array() before converting to"
         " a tensor.")  # fmt: skip
    inner = arrays[0].shape
    common = dtypes.of_numpy[checked(arrays[0]).dtype]
    for array in arrays:
        if array.shape != inner:
            raise ValueError(
                f"expected sequence of shape {list(inner)} at dim {len(shape)} (got"
                f" {list(array.shape)})"
            )
        common = dtypes.promote_types(common, dtypes.of_numpy[checked(array).dtype])
    return converted_array(np.stack(arrays).reshape(shape + inner), requested or common, copy=False)


def _scalars(leaves: list[Any]) -> tuple[list[Any], dtype]:
    """Python numbers for leaves of all kinds, and their common dtype."""
    values, common = [], None
    for leaf in leaves:
        value, kind = _scalar(leaf)
        values.append(value)
        common = kind if common is None else dtypes.promote_types(common, kind)
    assert common is not None
    return values, common


def _scalar(leaf: Any) -> tuple[Any, dtype]:
    if isinstance(leaf, Tensor):
        if leaf._outline.size != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars, and one of shape"
                f" {list(leaf._outline.shape)} is among the data"
            )
        return leaf._array.item(), dtypes.of_numpy[leaf._outline.dtype]
    if isinstance(leaf, np.generic) or (isinstance(leaf, np.ndarray) and leaf.ndim == 0):
        return leaf.item(), dtypes.of_numpy[checked(np.asarray(leaf)).dtype]
    for kind in _RANK:
        if isinstance(leaf, kind):
            return leaf, _natural(kind)
    if _is_sequence(leaf):
        raise TypeError(
            f"'{type(leaf).__name__}' object cannot be interpreted as a number: it stands beside"
            " numbers"
        )
    raise RuntimeError(f"Could not infer dtype of {type(leaf).__name__}")


def _filled(values: list[Any], natural: dtype, requested: dtype) -> np.ndarray:
    """Python numbers in the requested dtype; integers must fit."""
    if requested.category == dtypes.COMPLEX or requested is natural:
        return _exact(values, requested)
    if natural.category == dtypes.COMPLEX:
        raise TypeError(f"must be real number, not complex: dtype={requested} cannot hold the data")
    if requested.category == dtypes.FLOAT:
        return converted_array(np.array(values, np.float64), requested, copy=False)
    if natural.category == dtypes.FLOAT:
        array = np.array(values, np.float64)
        if requested.category == dtypes.INT:
            _check_range(array, requested)
        return array.astype(requested.np)
    if requested is dtypes.uint64:
        return np.array([v % 2**64 for v in map(int, values)], np.uint64)
    array = _exact(values, dtypes.int64)
    if requested.category == dtypes.INT:
        _check_range(array, requested)
    return array.astype(requested.np)


def _exact(values: list[Any], to: dtype) -> np.ndarray:
    try:
        return np.array(values, to.np)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long: an int is too big for int64") from None


def _check_range(array: np.ndarray, to: dtype) -> None:
    """Unsigned types take small negative numbers, which wrap around."""
    info = np.iinfo(to.np)
    low, high = float(info.min or -int(info.max)), float(info.max)
    if array.dtype.kind != "f":
        low, high = int(low), int(info.max)
    for value in (array.min(initial=0), array.max(initial=0)):
        if not math.isfinite(value) or not low <= value <= high:
            raise RuntimeError(
                f"value cannot be converted to type {to.name} without overflow: the data has"
                f" {value}"
            )
