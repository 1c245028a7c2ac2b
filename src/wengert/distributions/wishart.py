"""Wishart's distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.info import finfo
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._covariance import Covariance, one_matrix
from wengert.distributions._numbers import standard_normal
from wengert.distributions.exp_family import ExponentialFamily
from wengert.linalg import slogdet
from wengert.ops.broadcasting import broadcast_shapes
from wengert.ops.gamma import mvlgamma
from wengert.ops.solving import cholesky_solve
from wengert.ops.special import digamma
from wengert.tensor.creation import tensor
from wengert.tensor.random_counts import standard_gamma
from wengert.tensor.ranges import arange


class Wishart(Covariance, ExponentialFamily):
    """Sums of `df` outer products of normal vectors; one of the matrices is their covariance.

    >>> import wengert
    >>> from wengert.distributions import Wishart
    >>> Wishart(wengert.tensor(4.0), covariance_matrix=wengert.eye(2)).mean
    tensor([[4., 0.],
            [0., 4.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
    _shared = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = one_matrix(
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        n = matrix.shape[-1]
        df = df if isinstance(df, Tensor) else tensor(df, dtype=matrix.dtype)
        batch = broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        super().__init__(Size(batch), Size((n, n)), validate_args=validate_args)
        self._factorise(name, matrix)

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @property
    def mean(self) -> Any:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (v.pow(2) + outer)

    def _degrees(self) -> Any:
        """The degrees of freedom of each diagonal element in Bartlett's decomposition."""
        return self.df.unsqueeze(-1) - arange(self._event_shape[-1], dtype=self.df.dtype)

    def rsample(self, sample_shape: Any = (), max_try_correction: Any = None) -> Any:
        """By Bartlett's decomposition: a triangular factor, normal below a diagonal of chi."""
        shape = Size(sample_shape)
        tiny = finfo(self.df.dtype).tiny
        halves = self._degrees() / 2
        chi2 = standard_gamma(halves.expand((*shape, *halves.shape))) * 2
        noise = standard_normal(self._extended_shape(shape), self.df)
        factor = noise.tril(-1) + chi2.clamp(min=tiny).sqrt().diag_embed()
        scaled = self._unbroadcasted_scale_tril @ factor
        return scaled @ scaled.mT

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        df, n = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -df * (n * math.log(2) / 2 + self._half_log_det())
            - mvlgamma(df / 2, p=n)
            + (df - n - 1) / 2 * slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Any:
        df, n = self.df, self._event_shape[-1]
        mean_log = digamma(self._degrees() / 2).sum(-1)
        return (
            (n + 1) * (n * math.log(2) / 2 + self._half_log_det())
            + mvlgamma(df / 2, p=n)
            - (df - n - 1) / 2 * mean_log
            + df * n / 2
        )

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (-slogdet(-2 * x).logabsdet + n * math.log(2)) + mvlgamma(half, p=n)


__all__ = ["Wishart"]
