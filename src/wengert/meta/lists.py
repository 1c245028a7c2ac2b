"""The outlines of what operations on lists of tensors give: `cat`, `stack`, `block_diag`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.meta.dense import Described, rows
from wengert.meta.shapes import lies_channels_last

Arrays = Sequence[Any]


def outline_of_list(op: Any, arrays: Arrays, params: tuple[Any, ...]) -> tuple[Described, Any]:
    """Shape, dtype and strides, and what the node of the operation keeps."""
    if op.forward.__name__ == "_block_diag":
        return _blocks(op, arrays, *params)
    if op.forward.__name__ == "_stack":
        return _stacked(op, arrays, *params)
    return _joined(op, arrays, *params)


def _joined(op: Any, arrays: Arrays, dim: int, lead: int) -> tuple[Described, Any]:
    if all(a.ndim == 1 for a in arrays):
        out, kept = op.forward([_empty((*a.shape, 0), a) for a in arrays], dim % 1, lead)
        shape = out.shape[:1]
    else:
        rank = max(a.ndim for a in arrays)
        narrowed = _other_dim(arrays, dim, lead, rank)
        slim = [a if a.ndim < rank else _narrow(a, narrowed) for a in arrays]
        out, kept = op.forward(slim, dim, lead)
        lengths = list(out.shape)
        if narrowed is not None:
            lengths[narrowed] = next(a.shape[narrowed] for a in arrays if a.ndim == rank)
        shape = tuple(lengths)
    return _dense(shape, arrays), kept


def _other_dim(arrays: Arrays, dim: int, lead: int, rank: int) -> int | None:
    """A dimension that is not joined, and in which all arrays have one length."""
    axis = dim + lead if dim >= 0 else dim + rank
    for d in range(rank):
        if d != axis and len({a.shape[d] for a in arrays if a.ndim == rank}) == 1:
            return d
    return None


def _stacked(op: Any, arrays: Arrays, dim: int) -> tuple[Described, Any]:
    shape = arrays[0].shape
    if not shape or any(a.shape != shape for a in arrays):
        out, kept = op.forward(arrays, dim)
        return (out.shape, out.dtype, out.strides), kept
    _, axis = op.forward([_narrow(a, 0) for a in arrays], dim)
    return _dense((*shape[:axis], len(arrays), *shape[axis:]), arrays, axis), axis


def _dense(shape: tuple[int, ...], arrays: Arrays, new_dim: int | None = None) -> Described:
    dtype = arrays[0].dtype
    order = None
    if all(a.ndim == 4 and lies_channels_last(a) for a in arrays):
        order = [0, 2, 3, 1]
        if new_dim == 4:
            order = None
        elif new_dim is not None:  # along a dimension that there is, and then apart
            order = [d + (d > new_dim) for d in order]
            order.insert(order.index(new_dim + 1) if new_dim + 1 in order else 0, new_dim)
    return shape, dtype, rows(shape, dtype, order)


def _narrow(array: Any, dim: int | None) -> np.ndarray:
    """An array of that shape without any length in a dimension."""
    shape = tuple(0 if d == dim else n for d, n in enumerate(array.shape))
    return array if dim is None else _empty(shape, array)


def _empty(shape: tuple[int, ...], like: Any) -> np.ndarray:
    return np.empty(shape, like.dtype)


def _blocks(op: Any, arrays: Arrays, lead: int) -> tuple[Described, Any]:
    if any(a.ndim - lead > 2 for a in arrays):
        op.forward(arrays, lead)  # which refuses them
    height = width = 0
    corners = []
    for a in arrays:
        h, w = (1, 1, *a.shape[lead:])[-2:]
        corners.append((slice(height, height + h), slice(width, width + w), a.shape))
        height, width = height + h, width + w
    dtype = arrays[0].dtype
    shape = (*arrays[0].shape[:lead], height, width)
    return (shape, dtype, rows(shape, dtype)), corners
