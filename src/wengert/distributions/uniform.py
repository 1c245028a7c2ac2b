"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.tensor.random import rand


class Uniform(Distribution):
    """Uniform in [low, high).

    >>> import wengert
    >>> from wengert.distributions import Uniform
    >>> Uniform(0.0, 4.0).cdf(wengert.tensor(1.0))
    tensor(0.2500)
    """

    has_rsample = True
    _batched = {"low": 0, "high": 0}

    def __init__(
        self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        return math.nan * self.high

    @property
    def stddev(self) -> Any:
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Any:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        inside = (self.low.le(value) & self.high.gt(value)).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        self._check_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


__all__ = ["Uniform"]
