"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.utils import broadcast_all
from wengert.ops.exponential import xlogy
from wengert.ops.special import lgamma
from wengert.tensor.random import poisson


class Poisson(ExponentialFamily):
    """How many events come in a unit of time, at this `rate`.

    >>> import wengert
    >>> from wengert.distributions import Poisson
    >>> Poisson(2.0).log_prob(wengert.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _batched = {"rate": 0}

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def mode(self) -> Any:
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return xlogy(value, rate) - rate - lgamma(value + 1)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Any) -> Any:
        return x.exp()


__all__ = ["Poisson"]
