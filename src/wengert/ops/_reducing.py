"""Batching rules of operations along dimensions: reductions, and picking elements.

They complement `batching.batch_along`: for `dim` parameters with a special meaning when they
name no dimension, and for scalar samples, which lack the dimension an operation needs.
"""

from __future__ import annotations

from math import prod
from typing import Any

from wengert.kernels.axes import Dims, axes_of, axis_of
from wengert.ops.batching import Batch
from wengert.ops.shape import reshape


def batch_over(b: Batch) -> Any:
    """Reductions over `dim`, where None and an empty tuple mean all dimensions."""
    (name,) = b.op.inputs
    rank = b.rank(name)
    dims = dims_of_batch(b.params["dim"], rank)
    if not rank:
        # A scalar has dimension 0 as well: give it one.
        return reshape(b(**{name: reshape(b.values[name], (b.size, 1))}, dim=(1,)), (b.size,))
    return b(dim=dims)


def dims_of_batch(dim: Dims, rank: int) -> tuple[int, ...]:
    """The dimensions of a batch that correspond to a reduction over samples of a rank."""
    axes = axes_of(dim, rank)
    return tuple([d + 1 for d in (range(rank) if axes is None else axes)])


def over_one(b: Batch) -> Any:
    """Reductions over one dimension, or over everything if `dim` is None."""
    (name,) = b.op.inputs
    rank, dim, keepdim = b.rank(name), b.params["dim"], b.params["keepdim"]
    if rank and dim is not None:
        return b(dim=axis_of(dim, rank) + 1)
    if dim is not None:
        axis_of(dim, rank)
    out = b(**{name: as_rows(b, name)}, dim=1, keepdim=False)
    return reshape(out, (b.size, *(1,) * rank)) if keepdim else out


def as_rows(b: Batch, name: str) -> Any:
    """An input with each sample as one row."""
    return reshape(b.whole(name), (b.size, prod(b.shape(name))))


def at_places(b: Batch) -> Any:
    """Elements read from, or written to, `indices` along `dim`; `shape` is the target's."""
    into = b.params.get("shape")
    rank = b.rank("input") if into is None else len(into)
    values = {i: b.whole(i) for i in b.op.inputs}
    axis = axis_of(b.params["dim"], rank) + 1
    if rank:
        shape = {} if into is None else {"shape": (b.size, *into)}
        return b(**values, **shape, dim=axis)
    flat = {i: reshape(v, (b.size, -1)) for i, v in values.items()}
    shape = {} if into is None else {"shape": (b.size, 1)}
    options = {"keepdim": True} if "keepdim" in b.params else {}
    out = b(**flat, **shape, **options, dim=1)
    return reshape(out, (b.size, *(b.shape("indices") if into is None else ())))


def whole_shape(b: Batch) -> Any:
    """Operations whose parameter `shape` is their input's shape before or after a broadcast."""
    (name,) = b.op.inputs
    shape, rank = tuple(b.params["shape"]), b.rank(name)
    missing = len(shape) - rank
    if missing >= 0:  # broadcast to the shape
        lengthened = reshape(b.whole(name), (b.size, *(1,) * missing, *b.shape(name)))
        return b(**{name: lengthened}, shape=(b.size, *shape))
    return reshape(b(shape=(b.size, *(1,) * -missing, *shape)), (b.size, *shape))
