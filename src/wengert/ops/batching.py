"""Batching rules, the `batch=` of a declaration: how operations compute a whole batch.

A rule receives a call as a `Batch`. Inputs in `batched` have the batch as their first dimension,
parameters are those of one sample; the rule returns the output with the batch first. Most
rules are among those defined here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.kernels.axes import axis_of
from wengert.ops.op import Op

Rule = Callable[["Batch"], Any]


class Batch:
    """One call of an operation for `size` samples."""

    __slots__ = ("batched", "op", "params", "size", "values")

    def __init__(self, op: Op, size: int, values: dict[str, Any], batched: set[str],
                 params: dict[str, Any]) -> None:  # fmt: skip
        self.op, self.size, self.values = op, size, values
        self.batched, self.params = batched, params

    def rank(self, name: str) -> int:
        """The number of dimensions of one sample of an input."""
        return len(self.values[name].shape) - (name in self.batched)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of one sample of an input."""
        shape = tuple(self.values[name].shape)
        return shape[1:] if name in self.batched else shape

    def whole(self, name: str) -> Any:
        """An input with the batch first, whether it differs between samples or not."""
        value = self.values[name]
        if value is None or name in self.batched:
            return value
        shape = (self.size, *value.shape)
        return value.expand(shape) if isinstance(value, Tensor) else np.broadcast_to(value, shape)

    def __call__(self, **changes: Any) -> Any:
        """Call the operation, with some inputs and parameters changed."""
        inputs = [changes.pop(i, self.values[i]) for i in self.op.inputs]
        return self.op(inputs, {**self.params, **changes})


def leading(b: Batch) -> Any:
    """Operations that treat all leading dimensions as batch dimensions."""
    return b(**{i: b.whole(i) for i in b.op.inputs})


def batch_along(*names: str) -> Rule:
    """Operations along the dimensions named by some parameters; None means all."""

    def rule(b: Batch) -> Any:
        rank = b.rank(b.op.inputs[0])
        values = {i: b.whole(i) for i in b.op.inputs}
        if rank:
            return b(**values, **{n: shifted(b.params[n], rank) for n in names})
        # A scalar has dimension 0 as well: give it one.
        flat = {i: v if v is None else v.reshape((b.size, 1)) for i, v in values.items()}
        out = b(**flat, **{n: shifted(b.params[n], 1) for n in names})
        return out.reshape((b.size,))

    return rule


def shifted(dims: Any, rank: int) -> Any:
    """A sample's dimensions as dimensions of the batch; all for None."""
    if dims is None:
        return tuple(range(1, rank + 1))
    if isinstance(dims, Sequence):
        return tuple([axis_of(d, rank) + 1 for d in dims])
    return axis_of(dims, rank) + 1


def shaped(*names: str) -> Rule:
    """Operations with parameters that are shapes."""

    def rule(b: Batch) -> Any:
        values = {i: b.whole(i) for i in b.op.inputs}
        return b(**values, **{n: (b.size, *b.params[n]) for n in names})

    return rule
