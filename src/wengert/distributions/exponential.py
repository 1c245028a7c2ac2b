"""The exponential distribution."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.utils import broadcast_all
from wengert.tensor.creation import empty, zeros_like


class Exponential(ExponentialFamily):
    """The time to an event that comes at this `rate`.

    >>> from wengert.distributions import Exponential
    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"rate": 0}

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        return zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_()
        return drawn / self.rate

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        self._check_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:
        return -(-x).log()


__all__ = ["Exponential"]
