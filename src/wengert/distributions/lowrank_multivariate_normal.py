"""Normal vectors whose covariance is a diagonal and a matrix of low rank."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._factors import mahalanobis, matvec
from wengert.distributions._numbers import standard_normal
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import lazy_property
from wengert.linalg import cholesky, solve_triangular
from wengert.ops.broadcasting import broadcast_shapes
from wengert.tensor.creation import eye


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    >>> import wengert
    >>> from wengert.distributions import LowRankMultivariateNormal
    >>> d = LowRankMultivariateNormal(wengert.zeros(2), wengert.ones(2, 1), wengert.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _batched = {"loc": 1, "cov_factor": 2, "cov_diag": 1}
    _shared = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch"
                f" dimensions; got shape {tuple(cov_factor.shape)}"
            )
        if cov_factor.shape[-2] != n:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {n} x m; got shape"
                f" {tuple(cov_factor.shape)}"
            )
        if cov_diag.shape[-1:] != loc.shape[-1:]:
            raise ValueError(
                f"cov_diag must be a batch of vectors with shape {loc.shape[-1:]}; got shape"
                f" {tuple(cov_diag.shape)}"
            )
        batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        self.cov_diag = cov_diag.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        super().__init__(Size(batch), loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        # I + W^T D^-1 W, as small as the rank: all that has to be factored.
        inner = cov_factor.mT @ (cov_factor / cov_diag.unsqueeze(-1))
        self._capacitance_tril = cholesky(inner + eye(inner.shape[-1], dtype=inner.dtype))

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1)
        return (squares + self._unbroadcasted_cov_diag).expand(
            self._batch_shape + self._event_shape
        )

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower triangular Cholesky factor of the covariance."""
        return cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        full = factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed()
        return full.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        # (D + W W^T)^-1 = D^-1 - D^-1 W C^-1 W^T D^-1, with C = I + W^T D^-1 W
        scaled = self._unbroadcasted_cov_factor / self._unbroadcasted_cov_diag.unsqueeze(-1)
        half = _whiten(self._capacitance_tril, scaled.mT)
        inverse = self._unbroadcasted_cov_diag.reciprocal().diag_embed() - half.mT @ half
        return inverse.expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        inner = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        outer = standard_normal(shape, self.loc)
        spread = self._unbroadcasted_cov_diag.sqrt() * outer
        return self.loc + matvec(self._unbroadcasted_cov_factor, inner) + spread

    def _log_det(self) -> Any:
        """Of the covariance: those of the two parts of which it is the product."""
        small = 2 * self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return small + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        difference = value - self.loc
        scaled = difference / self._unbroadcasted_cov_diag
        projected = matvec(self._unbroadcasted_cov_factor.mT, scaled)
        distance = (difference * scaled).sum(-1) - mahalanobis(self._capacitance_tril, projected)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)

    def entropy(self) -> Any:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (constant + self._log_det())).expand(self._batch_shape)


def _whiten(factor: Any, matrix: Any) -> Any:
    """``L^-1 M`` for batches of lower triangular L and of M."""
    batch = broadcast_shapes(factor.shape[:-2], matrix.shape[:-2])
    return solve_triangular(
        factor.expand((*batch, -1, -1)), matrix.expand((*batch, -1, -1)), upper=False
    )


__all__ = ["LowRankMultivariateNormal"]
