"""Cauchy's distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.tensor.creation import empty, full


class Cauchy(Distribution):
    """The ratio of two normal numbers, times `scale`, around `loc`; it has no mean.

    >>> from wengert.distributions import Cauchy
    >>> Cauchy(1.0, 2.0).mode
    tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = {"loc": 0, "scale": 0}

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return full(self._extended_shape(), math.nan, dtype=self.loc.dtype)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return full(self._extended_shape(), math.inf, dtype=self.loc.dtype)

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_()
        return self.loc + drawn * self.scale

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        tails = ((value - self.loc) / self.scale).pow(2).log1p()
        return -math.log(math.pi) - self.scale.log() - tails

    def cdf(self, value: Any) -> Any:
        self._check_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()


__all__ = ["Cauchy"]
