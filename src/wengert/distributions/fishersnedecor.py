"""The F distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.info import finfo
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution
from wengert.distributions.gamma import Gamma
from wengert.distributions.utils import broadcast_all
from wengert.ops.special import lgamma


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each over its degrees of freedom.

    >>> from wengert.distributions import FisherSnedecor
    >>> FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _batched = {"df1": 0, "df2": 0, "_gamma1": 0, "_gamma2": 0}

    def __init__(
        self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Any:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        spread = 2 * df2.pow(2) * (self.df1 + df2 - 2)
        return spread / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = Size(sample_shape)
        # With rates twice as large, as these are, the factors of 2 cancel.
        upper = self._gamma1.rsample(shape).reshape(self._extended_shape(shape))
        lower = self._gamma2.rsample(shape).reshape(self._extended_shape(shape))
        tiny = finfo(upper.dtype).tiny
        return (upper / lower.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        constant = lgamma(half1 + half2) - lgamma(half1) - lgamma(half2)
        rise = half1 * ratio.log() + (half1 - 1) * value.log()
        return constant + rise - (half1 + half2) * (ratio * value).log1p()


__all__ = ["FisherSnedecor"]
