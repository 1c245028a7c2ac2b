"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._numbers import standard_normal
from wengert.distributions.chi2 import Chi2
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.ops.special import digamma, lgamma


class StudentT(Distribution):
    """Student's t of `df` degrees of freedom, scaled and shifted.

    >>> from wengert.distributions import StudentT
    >>> StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _batched = {"df": 0, "loc": 0, "scale": 0, "_chi2": 0}

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return finite.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        normals = standard_normal(self._extended_shape(sample_shape), self.df)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normals * (squares / self.df).rsqrt())

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        y = (value - self.loc) / self.scale
        half = 0.5 * (self.df + 1.0)
        constant = 0.5 * self.df.log() + 0.5 * math.log(math.pi) + lgamma(0.5 * self.df)
        normalizer = self.scale.log() + constant - lgamma(half)
        return -half * (y**2.0 / self.df).log1p() - normalizer

    def entropy(self) -> Any:
        half, half_df = 0.5 * (self.df + 1), 0.5 * self.df
        log_beta = lgamma(half_df) + 0.5 * math.log(math.pi) - lgamma(half)
        spread = half * (digamma(half) - digamma(half_df))
        return self.scale.log() + spread + 0.5 * self.df.log() + log_beta


__all__ = ["StudentT"]
