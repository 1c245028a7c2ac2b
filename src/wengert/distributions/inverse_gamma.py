"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.gamma import Gamma
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.distributions.transforms import PowerTransform
from wengert.ops.special import digamma, lgamma
from wengert.tensor.creation import ones


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma number.

    >>> from wengert.distributions import InverseGamma
    >>> InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma
    _batched = {}

    def __init__(
        self,
        concentration: Tensor | float,
        rate: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        reciprocal = PowerTransform(-ones((), dtype=base.rate.dtype))
        super().__init__(base, reciprocal, validate_args=validate_args)

    @property
    def concentration(self) -> Any:
        """The shape of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """The rate of the gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        return (self.rate / (self.concentration - 1)).masked_fill(self.concentration <= 1, math.inf)

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        a = self.concentration
        variance = self.rate.square() / ((a - 1).square() * (a - 2))
        return variance.masked_fill(a <= 2, math.inf)

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + lgamma(a) - (1 + a) * digamma(a)


__all__ = ["InverseGamma"]
