"""Constants whose size is dynamic: recognized by their elements, and made in the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert
from wengert.core.dtypes import dtype
from wengert.fx.graph import Graph
from wengert.fx.node import Node

Arrays = Sequence[np.ndarray]
Number = Callable[[tuple[Any, ...]], Any]  # a node for a number by its values in all recordings


def rebuilt(graph: Graph, arrays: Arrays, kind: dtype, number: Number) -> Node | None:
    """Nodes that make a constant which has these elements at the recorded sizes.

    None for what is neither one number everywhere, nor a range, nor two numbers on both sides
    of a diagonal.
    """
    if len({a.ndim for a in arrays}) > 1:
        return None
    shape = _shape(arrays, number)
    fills = _fills(arrays)
    if fills is not None:
        fill = fills[0] if len(set(fills)) == 1 else number(fills)
        return graph.call_function(wengert.full, (shape, fill), {"dtype": kind})
    for build in (_range, _triangle):
        node = build(graph, arrays, kind, shape)
        if node is not None:
            return node
    return None


def _shape(arrays: Arrays, number: Number) -> tuple[Any, ...]:
    columns = zip(*[a.shape for a in arrays], strict=True)
    return tuple([c[0] if len(set(c)) == 1 else number(c) for c in columns])


def _fills(arrays: Arrays) -> tuple[Any, ...] | None:
    """The number that each array has everywhere, if it has one."""
    if any(not a.size or (_bytes(a) != _bytes(a)[0]).any() for a in arrays):
        return None
    return tuple([a.flat[0].item() for a in arrays])


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8).reshape(array.size, -1)


def _range(graph: Graph, arrays: Arrays, kind: dtype, shape: Any) -> Node | None:
    """Equal steps along the one dimension that is not of size 1."""
    first = arrays[0]
    if first.dtype.kind not in "iuf" or any(max(a.shape, default=1) != a.size for a in arrays):
        return None
    longest = max(arrays, key=np.size)
    if longest.size < 3:
        return None
    start, step = longest.flat[0].item(), longest.flat[1].item() - longest.flat[0].item()
    if not all((a.ravel() == start + step * np.arange(a.size)).all() for a in arrays):
        return None
    length = max(zip(shape, longest.shape, strict=True), key=lambda pair: pair[1])[0]
    node = graph.call_function(wengert.arange, (length,), {"dtype": kind})
    if step != 1:
        node = graph.call_function(wengert.mul, (node, step))
    if start:
        node = graph.call_function(wengert.add, (node, start))
    return graph.call_function(wengert.reshape, (node, shape)) if len(shape) > 1 else node


def _triangle(graph: Graph, arrays: Arrays, kind: dtype, shape: Any) -> Node | None:
    """One number on and below a diagonal of the last two dimensions, another above it."""
    if arrays[0].ndim < 2:
        return None
    largest = max(arrays, key=np.size)
    low, high = largest[(..., -1, 0)].flat[0], largest[(..., 0, -1)].flat[0]
    rows, columns = largest.shape[-2:]
    for diagonal in range(1 - rows, columns):
        if all(_is_triangle(a, low, high, diagonal) for a in arrays):
            break
    else:
        return None
    ones = graph.call_function(wengert.full, (shape, 1), {"dtype": wengert.int64})
    lower = graph.call_function(wengert.tril, (ones,), {"diagonal": diagonal})
    mask = graph.call_function(wengert.eq, (lower, 1))
    if kind.np.kind == "b":
        return mask if low else graph.call_function(wengert.logical_not, (mask,))
    values = [
        graph.call_function(wengert.full, ((), v.item()), {"dtype": kind}) for v in (low, high)
    ]
    return graph.call_function(wengert.where, (mask, *values))


def _is_triangle(array: np.ndarray, low: Any, high: Any, diagonal: int) -> bool:
    mask = np.tri(array.shape[-2], array.shape[-1], diagonal, dtype=bool)
    return bool((array == np.where(mask, low, high)).all())
