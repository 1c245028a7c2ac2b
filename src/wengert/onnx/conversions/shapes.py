"""Views, joining and splitting, and tensors made of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.onnx.builder import Builder, Value, converts


@converts("sym_size_int")
def _size(b: Builder, input: Value, dim: int) -> str:
    axis = input.axis(dim)
    return b("Squeeze", b("Shape", input, start=axis, end=axis + 1), b.ints([0]))


@converts("reshape")
def _reshape(b: Builder, input: Value, shape: Any) -> str:
    return b.reshape(input, list(shape))


@converts("view")
def _view(b: Builder, input: Value, size: Any) -> str:
    return b.reshape(input, list(size))


@converts("flatten")
def _flatten(b: Builder, input: Value, start_dim: int = 0, end_dim: int = -1) -> str:
    first, last = input.axis(start_dim), input.axis(end_dim)
    if not input.rank:
        return b.reshape(input, (1,))
    behind = b("Shape", input, start=last + 1, end=input.rank)
    lead = b("Shape", input, start=0, end=first)
    return b("Reshape", input, b("Concat", lead, b.ints([-1]), behind, axis=0))


@converts("squeeze")
def _squeeze(b: Builder, input: Value, dim: Any = None) -> str:
    dims = range(input.rank) if dim is None else dim if isinstance(dim, tuple | list) else [dim]
    axes = []
    for d in sorted({input.axis(d) for d in dims}) if input.rank else []:
        if input.size(d) is None and dim is not None and 1 in {s[d] for s in input.shapes}:
            raise b.refuse("squeeze of a dynamic size")
        if input.size(d) == 1:
            axes.append(d)
    return b("Squeeze", input, b.ints(axes)) if axes else b("Identity", input)


@converts("unsqueeze")
def _unsqueeze(b: Builder, input: Value, dim: int) -> str:
    return b("Unsqueeze", input, b.ints([dim % (input.rank + 1)]))


@converts("transpose")
def _transpose(b: Builder, input: Value, dim0: int, dim1: int) -> str:
    order = list(range(input.rank))
    if order:
        x, y = input.axis(dim0), input.axis(dim1)
        order[x], order[y] = order[y], order[x]
    return b("Transpose", input, perm=order)


@converts("t")
def _t(b: Builder, input: Value) -> str:
    return b("Transpose", input, perm=list(range(input.rank))[::-1])


@converts("permute")
def _permute(b: Builder, input: Value, dims: Any) -> str:
    return b("Transpose", input, perm=[input.axis(d) for d in dims])


@converts("_rearranged")
def _rearranged(b: Builder, input: Value, sizes: Any, order: Any, shape: Any) -> str:
    parts = b("Transpose", b.reshape(input, list(sizes)), perm=list(order))
    return b.reshape(parts, list(shape))


def _along_diagonal(b: Builder, input: Value, dim1: int, dim2: int) -> tuple[str, str, str]:
    """For an Einsum, letters of the dimensions, with one for two: all, the others, and that one."""
    first, second = input.axis(dim1), input.axis(dim2)
    if input.shape[first] != input.shape[second]:
        raise b.refuse("a diagonal of a matrix that is not square")
    letters = "abcdefghijklmnopqrstuvwxyz"[: input.rank]
    own = letters[first]
    every = letters.replace(letters[second], own)
    return every, every.replace(own, ""), own


@converts("diagonal")
def _diagonal(b: Builder, input: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> str:
    if offset:
        raise b.refuse("a diagonal beside the main one")
    every, others, own = _along_diagonal(b, input, dim1, dim2)
    return b("Einsum", input, equation=f"{every}->{others}{own}")


@converts("_trace")
def _trace(b: Builder, input: Value, dim1: int = 0, dim2: int = 1) -> str:
    every, others, _ = _along_diagonal(b, input, dim1, dim2)
    return b("Einsum", b.cast(input, b.out.dtype), equation=f"{every}->{others}")


@converts("clone")
def _clone(b: Builder, input: Value, memory_format: Any = None) -> str:
    return b("Identity", input)


@converts("expand")
def _expand(b: Builder, input: Value, size: Any, implicit: bool = False) -> str:
    return b("Expand", input, b.ints([1 if isinstance(s, int) and s == -1 else s for s in size]))


@converts("repeat")
def _repeat(b: Builder, input: Value, repeats: Any) -> str:
    new = len(repeats) - input.rank
    x: Any = b("Unsqueeze", input, b.ints(range(new))) if new else input
    return b("Tile", x, b.ints(repeats))


@converts("flip")
def _flip(b: Builder, input: Value, dims: Any) -> str:
    axes = [input.axis(d) for d in (dims if isinstance(dims, tuple | list) else [dims])]
    n = len(axes)
    ends = b.constant([np.iinfo(np.int64).min] * n, np.int64)
    return b("Slice", input, b.ints([-1] * n), ends, b.ints(axes), b.ints([-1] * n))


@converts("roll")
def _roll(b: Builder, input: Value, shifts: Any, dims: Any = None) -> str:
    by = list(shifts) if isinstance(shifts, tuple | list) else [shifts]
    axes = list(dims) if isinstance(dims, tuple | list) else [dims]
    flat = dims is None or dims == ()
    x: Any = b.reshape(input, (-1,)) if flat else input
    for shift, dim in zip(by, [0] if flat else axes, strict=True):
        axis = 0 if flat else input.axis(dim)
        sizes = {int(np.prod(s)) for s in input.shapes} if flat else {s[axis] for s in input.shapes}
        if isinstance(shift, Value) or len(sizes) > 1:
            raise b.refuse("roll over a dynamic size")
        shift %= max(sizes.pop(), 1)
        if shift:
            end = b.constant([np.iinfo(np.int64).max], np.int64)
            last = b("Slice", x, b.ints([-shift]), end, b.ints([axis]))
            first = b("Slice", x, b.ints([0]), b.ints([-shift]), b.ints([axis]))
            x = b("Concat", last, first, axis=axis)
    return b("Reshape", x, b("Shape", input))


@converts("_cat")
def _cat(b: Builder, inputs: list[Value], dim: int, lead: int) -> str:
    rank = max(x.rank for x in inputs)
    parts = [x for x in inputs if x.rank == rank]
    return b("Concat", *parts, axis=dim % (rank - lead) + lead)


@converts("_stack")
def _stack(b: Builder, inputs: list[Value], dim: int) -> str:
    axis = dim % (inputs[0].rank + 1)
    parts = [b("Unsqueeze", x, b.ints([axis])) for x in inputs]
    return b("Concat", *parts, axis=axis)


@converts("_split")
def _split(b: Builder, input: Value, sizes: Any, dim: int) -> list[str]:
    return b.several("Split", len(sizes), input, b.ints(sizes), axis=input.axis(dim))


@converts("_unbind")
def _unbind(b: Builder, input: Value, dim: int) -> list[str]:
    axis = input.axis(dim)
    count = input.shape[axis]
    return [b("Gather", input, b.constant(k, np.int64), axis=axis) for k in range(count)]


def _triangle(upper: int) -> Any:
    def convert(b: Builder, input: Value, diagonal: int = 0) -> str:
        k = b.cast(diagonal, np.int64)
        if input.dtype.kind == "b":  # ONNX Runtime has no kernel for it
            wide = b("Trilu", b.cast(input, np.int64), k, upper=upper)
            return b("Cast", wide, to=b.type_of(bool))
        return b("Trilu", input, k, upper=upper)

    return convert


converts("tril")(_triangle(0))
converts("triu")(_triangle(1))


@converts("full")
def _full(b: Builder, size: Any, fill_value: Any, dtype: Any) -> str:
    number = b.cast(fill_value, dtype.np)
    return b("Expand", number, b.ints(size)) if size else b("Identity", number)


@converts("arange")
def _arange(b: Builder, end: Any, dtype: Any) -> str:
    zero, one = (b.constant(k, np.int64) for k in (0, 1))
    steps = b("Range", zero, b.cast(end, np.int64), one)
    return steps if dtype.np == np.int64 else b("Cast", steps, to=b.type_of(dtype.np))


@converts("_nothing", "no_slope")
def _nothing(b: Builder, g: Value) -> str:
    return b("Expand", b.scalar(0, g.dtype), b("Shape", g))


@converts("_overwritten")
def _overwritten(b: Builder, input: Value, src: Value) -> str:
    return b("Expand", b.cast(src, input.dtype), b("Shape", input))
