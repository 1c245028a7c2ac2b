"""Weibull's distribution."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.exponential import Exponential
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.distributions.transforms import AffineTransform, PowerTransform
from wengert.distributions.utils import broadcast_all, euler_constant
from wengert.ops.special import lgamma
from wengert.tensor.creation import ones_like


class Weibull(TransformedDistribution):
    """The time to a failure whose rate goes with the power `concentration` - 1 of time.

    >>> from wengert.distributions import Weibull
    >>> Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _batched = {"scale": 0, "concentration": 0, "concentration_reciprocal": 0}

    def __init__(
        self,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms: Any = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.scale * lgamma(1 + self.concentration_reciprocal).exp()

    @property
    def mode(self) -> Any:
        ratio = (self.concentration - 1) / self.concentration
        return self.scale * ratio**self.concentration_reciprocal

    @property
    def variance(self) -> Any:
        reciprocal = self.concentration_reciprocal
        moments = lgamma(1 + 2 * reciprocal).exp() - (2 * lgamma(1 + reciprocal)).exp()
        return self.scale.pow(2) * moments

    def entropy(self) -> Any:
        reciprocal = self.concentration_reciprocal
        return euler_constant * (1 - reciprocal) + (self.scale * reciprocal).log() + 1


__all__ = ["Weibull"]
