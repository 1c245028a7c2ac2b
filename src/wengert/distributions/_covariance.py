"""Distributions that take a covariance, its inverse or its Cholesky factor."""

from __future__ import annotations

from typing import Any

from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions._factors import factor_of_precision
from wengert.distributions.utils import lazy_property
from wengert.linalg import cholesky
from wengert.ops.solving import cholesky_inverse


def one_matrix(**matrices: Tensor | None) -> tuple[str, Tensor]:
    """The name and the value of the one matrix that is not None; ValueError for any other count."""
    named = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(named) != 1:
        raise ValueError(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be"
            f" specified; got {[name for name, _ in named]}"
        )
    name, matrix = named[0]
    if matrix.dim() < 2:
        raise ValueError(
            f"{name} must be at least two-dimensional, with optional leading batch dimensions;"
            f" got shape {tuple(matrix.shape)}"
        )
    return name, matrix


class Covariance:
    """The three matrices; those that were not passed are computed on first use."""

    _batch_shape: Size
    _event_shape: Size
    _unbroadcasted_scale_tril: Any

    def _factorise(self, name: str, matrix: Tensor) -> None:
        """Keep the Cholesky factor of the covariance that a matrix of this name stands for."""
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = factor_of_precision(matrix)

    def _expand_to_batch(self, matrix: Any) -> Any:
        n = self._event_shape[-1]
        return matrix.expand((*self._batch_shape, n, n))

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower triangular Cholesky factor of the covariance."""
        return self._expand_to_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance of the normal vectors."""
        factor = self._unbroadcasted_scale_tril
        return self._expand_to_batch(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._expand_to_batch(cholesky_inverse(self._unbroadcasted_scale_tril))

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
