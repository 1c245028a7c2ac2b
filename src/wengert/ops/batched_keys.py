"""Keys with index tensors that differ between samples: `x[key]` from ordinary operations.

The indexed dimensions are merged into one, in which a vector of positions picks slices.
The order of the result's dimensions is that of `subscript.index`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core.dtypes import int64
from wengert.core.tensor import Tensor
from wengert.ops.casting import convert
from wengert.ops.gathering import index_select
from wengert.ops.row_indices import from_start, out_of_bounds
from wengert.ops.shape import inverse_of, permute, reshape

if TYPE_CHECKING:
    from wengert.kernels.scatter import Key

Shape = tuple[int, ...]


class Picks:
    """A key for tensors of one shape: slices, and indices as tensors or arrays.

    Attributes:
        shape: the shape of the picked elements.
        axis: the dimension picked from, after merging the indexed ones.
        positions: an index vector for it.
    """

    def __init__(self, key: Key, shape: Shape) -> None:
        indices, axes = kernels.scatter.integer_parts(key)
        adjacent = axes[-1] - axes[0] == len(axes) - 1
        self.axis = axes[0] if adjacent else 0
        other_dims = [d for d in range(len(shape)) if d not in axes]
        self._order = [*other_dims[: self.axis], *axes, *other_dims[self.axis :]]
        lead, trail = (
            [shape[d] for d in dims] for dims in (other_dims[: self.axis], other_dims[self.axis :])
        )
        self._source = tuple([shape[d] for d in self._order])
        self._merged = (*lead, prod(shape[d] for d in axes), *trail)
        self.shape = (*lead, *_common_shape(indices), *trail)
        self._picked = (*lead, prod(_common_shape(indices)), *trail)
        flat: Any = 0
        for d, index in zip(axes, indices, strict=True):
            n = shape[d]
            flat = flat * n + from_start(_long(index), -n, n, out_of_bounds(d, n))
        self.positions = reshape(flat, (-1,))

    def merged(self, input: Tensor) -> Tensor:
        """The input with its indexed dimensions merged."""
        return reshape(permute(input, self._order), self._merged)

    def unmerged(self, rows: Tensor) -> Tensor:
        """The inverse of `merged`."""
        return permute(reshape(rows, self._source), inverse_of(self._order))

    def rows(self, values: Tensor) -> Tensor:
        """Values of the picked shape, with the picked dimensions merged."""
        return reshape(values, self._picked)


def picked(input: Tensor, key: Key) -> Tensor:
    """The elements at the indices of a key, as a copy."""
    picks = Picks(key, tuple(input.shape))
    rows = index_select(picks.merged(input), picks.axis, picks.positions)
    return reshape(rows, picks.shape)


def _common_shape(indices: list[Any]) -> Shape:
    shapes = [tuple(index.shape) for index in indices]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = ", ".join(str(list(s)) for s in shapes)
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes " + text
        ) from None


def _long(index: Any) -> Any:
    return convert(index, int64) if isinstance(index, Tensor) else index
