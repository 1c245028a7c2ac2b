"""Whether values are of types with parameters, as `jit.isinstance` asks."""

from __future__ import annotations

import types
import typing
from typing import Any


def has_type(value: Any, kind: Any) -> bool:
    """Whether a value is of a type, or of one of a tuple of types; items of containers count.

    RuntimeError for a container that says nothing of its items.

    >>> from wengert.jit._types import has_type
    >>> has_type({"a": [1]}, dict[str, list[int]]), has_type({"a": [1.0]}, dict[str, list[int]])
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(has_type(value, one) for one in kind)
    if kind is Any:
        return True
    origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(has_type(value, one) for one in inner)
    if origin in (list, dict, tuple) and not inner:
        raise RuntimeError(
            f"Attempted to use {origin.__name__} without a contained type. Please add a contained"
            f" type, e.g. {origin.__name__}[int]"
        )
    if value is None or not isinstance(value, origin):
        return value is None and origin in (None, type(None))
    if origin is dict:
        keys, values = inner
        return all(has_type(k, keys) and has_type(v, values) for k, v in value.items())
    if origin is tuple:
        if inner[-1] is ...:
            return all(has_type(x, inner[0]) for x in value)
        return len(value) == len(inner) and all(map(has_type, value, inner))
    return origin is not list or all(has_type(x, inner[0]) for x in value)
