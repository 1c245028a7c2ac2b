"""The absolute values of what is symmetric around 0."""

from __future__ import annotations

import math
from typing import Any

from wengert.distributions import constraints
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.ops.masking import where
from wengert.tensor.creation import zeros_like


class Half(TransformedDistribution):
    """The absolute value of a number of a symmetric distribution, the base."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any

    @property
    def scale(self) -> Any:
        """The scale of the symmetric distribution."""
        return self.base_dist.scale

    @property
    def mode(self) -> Any:
        return zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return where(value >= 0, log_prob, -math.inf)

    def cdf(self, value: Any) -> Any:
        self._check_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
