"""Gumbel's distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.info import finfo
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.distributions.transforms import AffineTransform, ExpTransform
from wengert.distributions.uniform import Uniform
from wengert.distributions.utils import broadcast_all, euler_constant
from wengert.tensor.creation import full_like, ones_like


class Gumbel(TransformedDistribution):
    """The largest of many numbers: ``loc - scale * log(-log(u))`` of a uniform u.

    >>> from wengert.distributions import Gumbel
    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _batched = {"loc": 0, "scale": 0}

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = finfo(self.loc.dtype)
        low, high = full_like(self.loc, info.tiny), full_like(self.loc, 1 - info.eps)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        base = Uniform(low, high, validate_args=validate_args)
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)


__all__ = ["Gumbel"]
