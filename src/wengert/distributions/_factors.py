"""Products with the triangular factors of covariances, and their inverses."""

from __future__ import annotations

from typing import Any

from wengert.linalg import cholesky, solve_triangular
from wengert.ops.broadcasting import broadcast_shapes
from wengert.tensor.creation import eye


def matvec(matrix: Any, vector: Any) -> Any:
    """Matrix-vector products over a batch."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(factor: Any, difference: Any) -> Any:
    """The squared length of ``L^-1 x`` for a lower triangular L and each x of a batch."""
    if factor.dim() == 2:
        n = factor.shape[-1]
        columns = solve_triangular(factor, difference.reshape(-1, n).T, upper=False)
        return columns.pow(2).sum(0).reshape(difference.shape[:-1])
    batch = broadcast_shapes(factor.shape[:-2], difference.shape[:-1])
    matrix = factor.expand((*batch, *factor.shape[-2:]))
    column = difference.expand((*batch, difference.shape[-1])).unsqueeze(-1)
    return solve_triangular(matrix, column, upper=False).pow(2).sum((-2, -1))


def factor_of_precision(precision: Any) -> Any:
    """The Cholesky factor of the inverse of a matrix."""
    reversed_factor = cholesky(precision.flip((-2, -1)))
    inverse = reversed_factor.flip((-2, -1)).mT
    return solve_triangular(inverse, eye(precision.shape[-1], dtype=precision.dtype), upper=False)
