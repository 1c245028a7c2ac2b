"""The generalised Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.info import finfo
from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.ops.masking import where
from wengert.tensor.creation import ones_like
from wengert.tensor.random import rand


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold `loc`: Pareto's, exponential or bounded, as `concentration`.

    >>> from wengert.distributions import GeneralizedPareto
    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _batched = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        upper = where(self.concentration < 0, end, math.inf)
        return constraints.interval(self.loc, upper)

    def _flat(self) -> Any:
        """Where the concentration is 0 but for rounding: the exponential distribution."""
        k = self.concentration
        eps = finfo(k.dtype if k.is_floating_point() else None).eps
        return k.abs() < eps**0.5 * 0.1

    def _safe(self) -> Any:
        return self.concentration.masked_fill(self._flat(), 1.0)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of more than `value`."""
        self._check_sample(value)
        z = (value - self.loc) / self.scale
        power = -(self._safe() * z).log1p() / self._safe()
        return where(self._flat(), -z, power)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        z = (value - self.loc) / self.scale
        power = 1 / self._safe() + ones_like(z)
        power = where(power == 0, power, power * (self._safe() * z).log1p())
        return -where(self._flat(), z, power) - self.scale.log()

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of at most `value`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        log_rest = (-value).log1p()
        power = (-self._safe() * log_rest).expm1() / self._safe()
        return self.loc + self.scale * where(self._flat(), -log_rest, power)

    @property
    def mean(self) -> Any:
        mean = self.loc + self.scale / (1 - self.concentration)
        return mean.masked_fill(self.concentration >= 1, math.inf)

    @property
    def variance(self) -> Any:
        k = self.concentration
        variance = self.scale.pow(2) / ((1 - k).pow(2) * (1 - 2 * k))
        return variance.masked_fill(k >= 0.5, math.inf)

    def entropy(self) -> Any:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Any:
        return self.loc


__all__ = ["GeneralizedPareto"]
