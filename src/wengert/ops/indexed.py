"""Indexing with indices that are operands: what programs have in the place of `subscript`.

A key has full slices, and where the index of a dimension belongs its number among the operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels import layout
from wengert.ops.batch_fallbacks import one_by_one
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.op import REGISTRY
from wengert.ops.operands import sum_to
from wengert.ops.subscript import basic, write_at
from wengert.ops.zeros import drop, keep

Key = tuple[Any, ...]
Shape = tuple[int, ...]

# The names of the operands that are indices.
INDICES = ("first", "second", "third", "fourth")
# The operations whose nodes eager mode makes in their place: these have keys of arrays.
EAGER = {
    "indexed": "index", "indexed_adjoint": "_index_adjoint", "indexed_erased": "_index_erased",
    "indexed_written": "index_written",
}  # fmt: skip


def private_key(key: Key, *indices: np.ndarray) -> Key:
    """A key as `subscript.index` takes it, of copies."""
    return _placed(key, *[index.copy() for index in indices])


def _placed(key: Key, *indices: np.ndarray) -> Key:
    return tuple([item if isinstance(item, slice) else indices[item] for item in key])


@multilinear(
    input=lambda g, input_shape, first, second, third, fourth, key: indexed_adjoint(
        g, first, second, third, fourth, input_shape, key
    ),
    first=None,
    second=None,
    third=None,
    fourth=None,
    mixed=False,
    batch=one_by_one,
    label="IndexBackward0",
    name="__getitem__",
)
def indexed(
    input: Value,
    first: Value,
    second: Value = None,
    third: Value = None,
    fourth: Value = None,
    key: Key = (),
) -> Value:
    """The elements at the indices of a key, as a copy."""
    return REGISTRY["index"].forward(input, _placed(key, first, second, third, fourth))


@multilinear(
    g=lambda g, first, second, third, fourth, key: indexed(g, first, second, third, fourth, key),
    first=None,
    second=None,
    third=None,
    fourth=None,
    mixed=False,
    batch=one_by_one,
    name="getitem_backward",
)
def indexed_adjoint(
    g: Value,
    first: Value,
    second: Value = None,
    third: Value = None,
    fourth: Value = None,
    shape: Shape = (),
    key: Key = (),
) -> Value:
    """Zeros with `g` added at the indices of a key."""
    key = _placed(key, first, second, third, fourth)
    return REGISTRY["_index_adjoint"].forward(g, shape, key)


@multilinear(
    g=lambda g, first, second, third, fourth, key: indexed_erased(
        g, first, second, third, fourth, key
    ),
    first=None,
    second=None,
    third=None,
    fourth=None,
    mixed=False,
    batch=one_by_one,
    name="index_put_backward",
)
def indexed_erased(
    g: Value,
    first: Value,
    second: Value = None,
    third: Value = None,
    fourth: Value = None,
    key: Key = (),
) -> Value:
    """`g` with zeros at the indices of a key."""
    return REGISTRY["_index_erased"].forward(g, _placed(key, first, second, third, fourth))


@primitive(
    input=lambda g, first, second, third, fourth, key, accumulate: (
        g if accumulate else indexed_erased(g, first, second, third, fourth, key)
    ),
    values=lambda g, values_shape, first, second, third, fourth, key: sum_to(
        indexed(g, first, second, third, fourth, key), values_shape
    ),
    first=None,
    second=None,
    third=None,
    fourth=None,
    mixed=False,
    batch=one_by_one,
    label="IndexPutBackward0",
    name="__setitem__",
)
def indexed_written(
    input: Value,
    values: Value,
    first: Value,
    second: Value = None,
    third: Value = None,
    fourth: Value = None,
    key: Key = (),
    accumulate: bool = False,
) -> Value:
    """A copy of the input with `values`, broadcast, at the indices of a key or added there."""
    out = layout.copy(input)
    write_at(out, values, _placed(key, first, second, third, fourth), accumulate)
    return out


@multilinear(g=lambda g, key: basic_erased(g, key), batch=one_by_one, name="copy__backward")
def basic_erased(g: Value, key: Key) -> Value:
    """`g` with zeros at a basic key."""
    out = layout.copy(g)
    out[key] = 0
    return out


@primitive(
    input=lambda g, key: basic_erased(g, key),
    values=lambda g, values_shape, key: sum_to(basic(g, key), values_shape),
    mixed=False,
    batch=one_by_one,
    label="CopySlices",
    name="__setitem__",
)
def basic_written(input: Value, values: Value, key: Key) -> Value:
    """A copy of the input with `values`, broadcast, at a basic key."""
    out = layout.copy(input)
    out[key] = values
    return out


@primitive(
    input=lambda g, mask: drop(g, mask),
    values=lambda g, mask, values_shape: sum_to(keep(g, mask), values_shape),
    mask=None,
    mixed=False,
    batch=one_by_one,
    scalar=lambda input, values, mask: np.where(mask, values, input),
    label="IndexPutBackward0",
    name="__setitem__",
)
def mask_written(input: Value, values: Value, mask: Value) -> Value:
    """A copy of the input with `values` where a mask is true; both broadcast to it."""
    out = layout.copy(input)
    np.copyto(out, values, where=mask)
    return out


__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
