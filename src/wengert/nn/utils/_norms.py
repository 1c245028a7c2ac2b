"""Helpers shared by both forms of weight norm and spectral norm."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn.functional import normalize
from wengert.ops.matmul import mv, vdot


def norm_except(weight: Tensor, dim: int) -> Tensor:
    """The norm of each slice along a dimension, which is kept; for -1 of the whole tensor."""
    if dim == -1:
        return weight.norm()
    dim %= weight.ndim
    others = tuple(d for d in range(weight.ndim) if d != dim)
    return weight.norm(2, others, True) if others else weight.abs()


def weight_normed(magnitude: Tensor, direction: Tensor, dim: int) -> Any:
    """`direction` rescaled to slices of norm `magnitude`."""
    return direction * (magnitude / norm_except(direction, dim))


def is_transposed(module: Any) -> bool:
    """Whether a weight's output dimension is 1, not 0."""
    return bool(getattr(module, "transposed", False))


def as_matrix(weight: Any, dim: int) -> Any:
    """A weight as a matrix, with a row for each index along `dim`."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    return weight.reshape(weight.shape[0], -1)


def unit(vector: Any, eps: float) -> Any:
    """A vector of length 1."""
    return normalize(vector, dim=0, eps=eps)


def singular_value(matrix: Tensor, u: Tensor, v: Tensor) -> Any:
    """The singular value that belongs to a pair of singular vectors."""
    return vdot(u, mv(matrix, v))
