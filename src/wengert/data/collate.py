"""A batch from a list of samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.tensor import Tensor, wrap
from wengert.ops import joining

_Kinds = type | tuple[type, ...]
_Map = Mapping[Any, Callable[..., Any]]


def default_collate(batch: Any) -> Any:
    """Collate samples into a batch: stack tensors, arrays and numbers, keep structures.

    >>> from wengert.utils.data import default_collate
    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """Convert the arrays in a structure to tensors; leave everything else unchanged.

    >>> import numpy as np
    >>> from wengert.utils.data import default_convert
    >>> default_convert({"x": np.array([1, 2])})
    {'x': tensor([1, 2])}
    """
    if isinstance(data, np.ndarray | np.generic) and data.dtype.kind not in "SUO":
        return wrap(np.asarray(data))
    if isinstance(data, Mapping):
        return _mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _sequence(data, [default_convert(value) for value in data])
    return data


def collate(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Collate samples into a batch with functions for the types of their elements.

    The map goes from types, or tuples of types, to functions that take the samples and the map.

    >>> from fractions import Fraction
    >>> from wengert.utils.data.collate import collate, default_collate_fn_map
    >>> add = lambda batch, *, collate_fn_map: sum(batch)
    >>> collate([{"x": Fraction(1, 2), "n": 1}, {"x": Fraction(1, 3), "n": 2}],
    ...         collate_fn_map={**default_collate_fn_map, Fraction: add})
    {'x': Fraction(5, 6), 'n': tensor([1, 2])}
    """
    first = batch[0]
    kind: Any = type(first)
    stack = _for_type(first, collate_fn_map or {})
    if stack is not None:
        return stack(batch, collate_fn_map=collate_fn_map)

    def together(values: Any) -> Any:
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _mapping(first, {key: together([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(together(values) for values in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(
                "each element in list of batch should be of equal size, got sizes"
                f" {[len(sample) for sample in batch]}"
            )
        collated = [together(values) for values in zip(*batch, strict=True)]
        return collated if isinstance(first, tuple) else _sequence(first, collated)
    raise TypeError(default_collate_err_msg_format.format(kind))


def _for_type(value: Any, functions: _Map) -> Callable[..., Any] | None:
    """The function for a value: that of its class before those of base classes."""
    exact = functions.get(type(value))
    if exact is not None:
        return exact
    return next((f for kinds, f in functions.items() if isinstance(value, kinds)), None)


def _mapping(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """Values in a mapping of another's type, if that can be constructed; else in a dict."""
    try:
        if isinstance(like, MutableMapping):  # a copy keeps what its class holds besides
            clone = copy.copy(like)
            clone.update(values)
            return clone
        make: Any = type(like)
        return make(values)
    except TypeError:
        return values


def _sequence(like: Sequence[Any], values: list[Any]) -> Any:
    """Values in a sequence of another's type, if that can be constructed; else in a list."""
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        make: Any = type(like)
        return make(values)
    except TypeError:
        return values


def collate_tensor_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Tensor:
    """What `default_collate` makes of tensors."""
    return joining.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    _check_kind(batch[0])
    if batch[0].shape == ():
        return collate_numpy_scalar_fn(batch)
    return collate([wrap(np.asarray(array)) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Tensor:
    return wrap(np.array(batch, batch[0].dtype))


def collate_float_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Tensor:
    return wrap(np.array(batch, np.float64))


def collate_int_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Tensor:
    if isinstance(batch[0], bool):
        return wrap(np.array(batch, np.bool_))
    mixed = any(isinstance(value, float) for value in batch)
    return wrap(np.array(batch, dtypes.defaults.dtype.np if mixed else np.int64))


def collate_str_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    return batch


def _check_kind(array: Any) -> None:
    if np_str_obj_array_pattern.search(array.dtype.str):
        raise TypeError(default_collate_err_msg_format.format(array.dtype))


# In the type code of arrays that are no numbers.
np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

# Scripts add types of their own here.
default_collate_fn_map: dict[_Kinds, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}

__all__ = ["collate", "default_collate", "default_convert"]
