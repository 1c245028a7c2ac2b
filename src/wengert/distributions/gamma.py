"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from wengert.core.info import finfo
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.utils import broadcast_all
from wengert.ops.exponential import xlogy
from wengert.ops.gamma import igamma
from wengert.ops.special import digamma, lgamma
from wengert.tensor.creation import tensor
from wengert.tensor.random_counts import standard_gamma


class Gamma(ExponentialFamily):
    """Gamma with shape `concentration` and `rate`.

    Samples are differentiable in the concentration too, implicitly: as it changes, each stays at
    its quantile.

    >>> from wengert.distributions import Gamma
    >>> Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"concentration": 0, "rate": 0}

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # beside the graph: no slope is lost
        return value

    def log_prob(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            value = tensor(value, dtype=self.mean.dtype)
        self._check_sample(value)
        return (
            xlogy(self.concentration, self.rate)
            + xlogy(self.concentration - 1, value)
            - self.rate * value
            - lgamma(self.concentration)
        )

    def cdf(self, value: Any) -> Any:
        self._check_sample(value)
        return igamma(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        shape = self.concentration
        return shape - self.rate.log() + lgamma(shape) + (1.0 - shape) * digamma(shape)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return lgamma(x + 1) - (x + 1) * (-y).log()


__all__ = ["Gamma"]
