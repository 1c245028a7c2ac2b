"""Laplace's distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.info import finfo
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.tensor.creation import empty


class Laplace(Distribution):
    """Exponential in the distance from `loc`, on both sides.

    >>> from wengert.distributions import Laplace
    >>> Laplace(0.0, 1.0).variance
    tensor(2.)
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
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = empty(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        u = drawn.uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        self._check_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()


__all__ = ["Laplace"]
