"""Index vectors that differ between samples, as one index vector into all samples together.

A dimension that is indexed joins the batch: row i of sample b is row ``b * n + i``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wengert import kernels
from wengert.kernels.axes import axis_of
from wengert.ops.batching import Batch
from wengert.ops.declare import Value, elementwise
from wengert.ops.shape import movedim, reshape

# What an index that is out of bounds may raise.
REFUSALS = {"IndexError": IndexError, "RuntimeError": RuntimeError}


class Refusal(NamedTuple):
    """The error for an index that is out of bounds: its kind, and the text around the index."""

    kind: str
    before: str
    after: str

    def __call__(self, index: int) -> Exception:
        return REFUSALS[self.kind](f"{self.before}{index}{self.after}")


@elementwise(input=None, name="index")
def from_start(input: Value, low: int, length: int, refuse: Refusal) -> Value:
    """An index counted from the start of a dimension, negative ones too.

    Raises `refuse(index)` for the first index not in [low, length), where `low` is at most 0.
    """
    if not input.size or (input.dtype == np.int64 and kernels.scatter.native.within(input, length)):
        return input.copy()
    least, most = int(input.min()), int(input.max())
    for i in (least, most):
        if not low <= i < length:
            raise refuse(i)
    return input.copy() if least >= 0 else np.where(input < 0, input + length, input)


def out_of_bounds(axis: int, length: int, kind: str = "IndexError") -> Refusal:
    """The error of `from_start` for an out-of-range index."""
    return Refusal(kind, "index ", f" is out of bounds for dimension {axis} with size {length}")


def rows_of(batch: Value, axis: int) -> Value:
    """The slices of all samples along a dimension, one after another."""
    size, n = batch.shape[0], batch.shape[axis + 1]
    moved = movedim(batch, axis + 1, 1)
    return reshape(moved, (size * n, *moved.shape[2:]))


def batch_of(rows: Value, size: int, length: int, axis: int) -> Value:
    """The inverse of `rows_of`: samples with a dimension of that length, from all slices."""
    return movedim(reshape(rows, (size, length, *rows.shape[1:])), 1, axis + 1)


def row_index(index: Value, axis: int, length: int) -> Value:
    """The positions of each sample's indices, of shape (size, k), among the rows of all samples."""
    checked = from_start(index, 0, length, out_of_bounds(axis, length, "RuntimeError"))
    return reshape(checked + np.arange(index.shape[0])[:, None] * length, (-1,))


def vectors(b: Batch, name: str) -> Value:
    """An input with the batch first, each sample with at least one dimension."""
    value = b.whole(name)
    return value if b.rank(name) else reshape(value, (b.size, 1))


def along_rows(b: Batch, like: str = "input") -> Value:
    """The rule of operations on the slices of `input` (and of `source`) at an index vector.

    The result has as many slices as `like` says: the input or the index.
    """
    rank = b.rank("input")
    axis = axis_of(b.params["dim"], rank)
    values = {i: vectors(b, i) for i in b.op.inputs if i != "index"}
    if "index" not in b.batched:
        out = b(**values, dim=axis + 1)
    else:
        n = values["input"].shape[axis + 1]
        index = vectors(b, "index")
        rows = {i: rows_of(v, axis) for i, v in values.items()}
        out = b(**rows, index=row_index(index, axis, n), dim=0)
        out = batch_of(out, b.size, n if like == "input" else index.shape[1], axis)
    return out if rank else reshape(out, (b.size,))
