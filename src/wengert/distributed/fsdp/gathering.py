"""The gathering of parameters, as functions with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd import Function
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import reduce_scatter_tensor
from wengert.distributed.fsdp.rows import by_dtype, gathered
from wengert.distributed.reduce_op import ReduceOp
from wengert.distributed.tensor.layouts import Layout


class Gathering(NamedTuple):
    """How tensors are gathered, and their gradients averaged: NumPy's dtypes, None for their own.

    Attributes:
        layouts: of the tensors.
        dtype: in which they are gathered.
        reduced: in which gradients are averaged.
        divisor: by what sums of gradients are divided; None: the number of ranks.
    """

    layouts: Sequence[Layout]
    dtype: Any = None
    reduced: Any = None
    divisor: float | None = None

    def scale(self) -> float:
        """What an average of gradients is multiplied by."""
        return 1.0 if self.divisor is None else self.layouts[0].group.size() / self.divisor


class Unshard(Function):
    """Whole tensors of the ranks' rows; the derivative is the average over the ranks."""

    @staticmethod
    def forward(ctx: Any, how: Gathering, *rows: Tensor) -> Any:
        ctx.how, ctx.dtypes = how, [r._array.dtype for r in rows]
        return tuple(map(wrap, gathered([_cast(r, how.dtype) for r in rows], how.layouts)))

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        return None, *Reshard.apply(ctx.how, ctx.dtypes, *gs)


class Reshard(Function):
    """A rank's rows of the averages of whole tensors."""

    @staticmethod
    def forward(ctx: Any, how: Gathering, dtypes: Sequence[Any], *wholes: Tensor) -> Any:
        ctx.how, ctx.dtypes = how, [w._array.dtype for w in wholes]
        arrays = [_cast(w, how.reduced) for w in wholes]
        rows: dict[int, np.ndarray] = {}
        for indices in by_dtype(arrays):
            _scatter_averages(rows, indices, how.layouts, arrays)
        if how.scale() != 1:
            rows = {i: row * row.dtype.type(how.scale()) for i, row in rows.items()}
        return tuple(wrap(rows[i].astype(dtype, copy=False)) for i, dtype in enumerate(dtypes))

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> Any:
        how: Gathering = ctx.how
        scale = how.scale() / how.layouts[0].group.size()
        wholes = Unshard.apply(how._replace(dtype=None), *gs)
        return (
            None,
            None,
            *(
                (whole * scale).to(of_numpy[dtype])
                for whole, dtype in zip(wholes, ctx.dtypes, strict=True)
            ),
        )


def _cast(tensor: Tensor, dtype: Any) -> np.ndarray:
    """The array, in another dtype if it has numbers with a fraction."""
    array = tensor._array
    return array if dtype is None or not _is_real(array) else array.astype(dtype, copy=False)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """A value, or what dictionaries, lists and tuples hold, with a function applied."""
    if isinstance(value, dict):
        return type(value)((key, mapped(function, item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        make = getattr(type(value), "_make", type(value))
        return make([mapped(function, item) for item in value])
    return function(value)


def _is_real(array: np.ndarray) -> bool:
    return array.dtype.kind in "fV"


def _scatter_averages(
    rows: dict[int, np.ndarray],
    indices: Sequence[int],
    layouts: Sequence[Layout],
    wholes: Sequence[np.ndarray],
) -> None:
    ends = np.cumsum([0, *(layouts[i].padded for i in indices)])
    group = layouts[indices[0]].group
    everyone = np.zeros((group.size(), ends[-1]), wholes[indices[0]].dtype)
    for i, start in zip(indices, ends[:-1], strict=True):
        for rank in range(group.size()):
            piece = wholes[i][layouts[i].rows(rank)]
            everyone[rank, start : start + piece.size] = piece.reshape(-1)
    own = np.empty(ends[-1], everyone.dtype)
    reduce_scatter_tensor(wrap(own), wrap(everyone), ReduceOp.AVG, group)
    for i, start in zip(indices, ends[:-1], strict=True):
        part = layouts[i].rows()
        shape = (part.stop - part.start, *layouts[i].shape[1:])
        rows[i] = own[start : start + int(np.prod(shape))].reshape(shape).copy()
