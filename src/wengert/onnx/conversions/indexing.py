"""Parts of tensors: slices, indices, gathering and scattering, embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.onnx.builder import Builder, Value, converts

_END = np.iinfo(np.int64).max


@converts("basic")
def _basic(b: Builder, input: Value, key: Any) -> str:
    """A key of integers, slices, None and at most one Ellipsis."""
    taken = sum(k is not None and k is not Ellipsis for k in key)
    items: list[Any] = []
    for k in key:
        items += [slice(None)] * (input.rank - taken) if k is Ellipsis else [k]
    axis, selected, new, place = 0, [], [], 0
    starts, ends, axes, steps = [], [], [], []
    for item in items:
        if item is None:
            new.append(place)
            place += 1
        elif isinstance(item, slice):
            if item != slice(None):
                backwards = isinstance(item.step, int) and item.step < 0
                starts.append((-1 if backwards else 0) if item.start is None else item.start)
                ends.append(_END if item.stop is None else item.stop)
                axes.append(axis)
                steps.append(1 if item.step is None else item.step)
                if backwards and item.stop is None:
                    ends[-1] = np.iinfo(np.int64).min
            axis, place = axis + 1, place + 1
        else:
            selected.append((axis, item))
            axis += 1
    out: Any = input
    if axes:
        out = b("Slice", out, b.ints(starts), b.ints(ends), b.ints(axes), b.ints(steps))
    for dim, item in reversed(selected):
        out = b("Gather", out, b.cast(item, np.int64), axis=dim)
    if new:
        out = b("Unsqueeze", out, b.ints(new))
    return out if isinstance(out, str) else b("Identity", out)


@converts("_window")
def _window(b: Builder, input: Value, layout: Any, window: Any) -> str:
    """Strides: the elements that they name, which the memory's own layout must have in order."""
    size = input.dtype.itemsize
    order = np.arange(int(np.prod(input.shape))).reshape(input.shape)
    rows = tuple([s * size // 8 for s in order.strides])
    if len(set(input.shapes)) > 1 or tuple(layout.strides) != rows or window.offset % size:
        raise b.refuse("as_strided of memory that is not contiguous, or of a dynamic size")
    places = np.full(window.shape, window.offset // size)
    for d, (stride, n) in enumerate(zip(window.strides, window.shape, strict=True)):
        steps = np.arange(n) * (stride // size)
        places = places + steps.reshape(-1, *(1,) * (len(window.shape) - d - 1))
    return b("Gather", b.reshape(input, (-1,)), b.constant(places, np.int64))


@converts("select")
def _select(b: Builder, input: Value, dim: int, index: Any) -> str:
    return b("Gather", input, b.cast(index, np.int64), axis=input.axis(dim))


@converts("getitem")
def _getitem(b: Builder, input: Value, key: tuple[Any, ...]) -> str:
    """A key of full slices and neighbouring index tensors."""
    places = [k for k, item in enumerate(key) if isinstance(item, Value)]
    first, last = places[0], places[-1]
    if last - first + 1 != len(places):
        raise b.refuse("indexing with tensors on both sides of a slice")
    indices = [key[k] for k in places]
    if any(x.dtype.kind == "b" for x in indices):
        raise b.refuse("indexing with a mask: how many elements it takes is not known")
    if len(indices) == 1:
        return b("Gather", input, indices[0], axis=first)
    sizes = [input.size(d) for d in range(first, last + 1)]
    if any(n is None for n in sizes[1:]):
        raise b.refuse("indexing of a dynamic size with several tensors")
    flat: Any = None
    for index, n in zip(indices, sizes, strict=True):
        if n is None:
            raise b.refuse("indexing of a dynamic size with several tensors")
        x = b.cast(index, np.int64)
        below = b("Less", x, b.scalar(0, np.int64))
        x = b("Where", below, b("Add", x, b.scalar(n, np.int64)), x)
        flat = x if flat is None else b("Add", b("Mul", flat, b.scalar(n, np.int64)), x)
    lead = b("Shape", input, start=0, end=first)
    behind = b("Shape", input, start=last + 1, end=input.rank)
    merged = b("Reshape", input, b("Concat", lead, b.ints([-1]), behind, axis=0))
    return b("Gather", merged, flat, axis=first)


@converts("index_select")
def _index_select(b: Builder, input: Value, index: Value, dim: int) -> str:
    if not index.rank:
        out = b("Gather", input, index, axis=input.axis(dim))
        return b("Unsqueeze", out, b.ints([input.axis(dim)])) if input.rank else out
    return b("Gather", input, index, axis=input.axis(dim))


@converts("gather")
def _gather(b: Builder, input: Value, index: Value, dim: int, sparse_grad: bool = False) -> str:
    return b("GatherElements", input, index, axis=input.axis(dim))


@converts("take_along")
def _take_along(b: Builder, input: Value, indices: Value, dim: int, unique: bool = False) -> str:
    if not input.rank:
        return b("Identity", input)
    return b("GatherElements", input, indices, axis=input.axis(dim))


@converts("_pick")
def _pick(b: Builder, input: Value, indices: Value, dim: int, keepdim: bool) -> str:
    if not input.rank:
        return b("Identity", input)
    axis = input.axis(dim)
    index: Any = indices if keepdim else b("Unsqueeze", indices, b.ints([axis]))
    out = b("GatherElements", input, index, axis=axis)
    return out if keepdim else b("Squeeze", out, b.ints([axis]))


@converts("from_start")
def _from_start(b: Builder, input: Value, low: Any, length: Any, refuse: Any) -> str:
    x = b.cast(input, np.int64)
    wrapped = b("Add", x, b.cast(length, np.int64))
    return b("Where", b("Less", x, b.scalar(0, np.int64)), wrapped, x)


@converts("_embedding")
def _embedding(
    b: Builder, input: Value, weight: Value, padding_idx: Any = None, by_frequency: bool = False
) -> str:
    return b("Gather", weight, input, axis=0)


@converts("_one_hot")
def _one_hot(b: Builder, input: Value, num_classes: Any) -> str:
    values = b.constant([0, 1], np.int64)
    return b("OneHot", b.cast(input, np.int64), b.ints([num_classes]), values, axis=-1)


@converts("_scatter")
def _scatter(b: Builder, input: Value, index: Value, src: Value, dim: int) -> str:
    return b("ScatterElements", input, index, src, axis=input.axis(dim))


@converts("_scatter_number")
def _scatter_number(b: Builder, input: Value, index: Value, dim: int, value: Any) -> str:
    values = b("Expand", b.cast(value, input.dtype), b("Shape", index))
    return b("ScatterElements", input, index, values, axis=input.axis(dim))


@converts("scatter_add")
def _scatter_add(b: Builder, input: Value, index: Value, src: Value, dim: int) -> str:
    return b("ScatterElements", input, index, src, axis=input.axis(dim), reduction="add")
