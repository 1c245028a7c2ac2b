"""Kumaraswamy's distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.distributions.transforms import AffineTransform, PowerTransform
from wengert.distributions.uniform import Uniform
from wengert.distributions.utils import broadcast_all, euler_constant
from wengert.ops.special import digamma, lgamma
from wengert.tensor.creation import full_like


class Kumaraswamy(TransformedDistribution):
    """Numbers in [0, 1], much as by the beta distribution, with a simple distribution function.

    >>> from wengert.distributions import Kumaraswamy
    >>> Kumaraswamy(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _batched = {"concentration1": 0, "concentration0": 0}

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            full_like(self.concentration0, 0),
            full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms: Any = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Any:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (lgamma(a) + lgamma(b) - lgamma(a + b)).exp()

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return mode.masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self) -> Any:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Any:
        rise, fall = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = digamma(self.concentration0 + 1) + euler_constant
        logs = self.concentration1.log() + self.concentration0.log()
        return fall + rise * harmonic - logs


__all__ = ["Kumaraswamy"]
