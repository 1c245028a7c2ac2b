"""Normal numbers, and sums over events."""

from __future__ import annotations

from wengert.core.tensor import Tensor
from wengert.tensor.random import randn


def standard_normal(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Normal numbers of this shape, in the dtype of a tensor."""
    return randn(shape, dtype=like.dtype)


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.sum(tuple(range(-dim, 0)))
