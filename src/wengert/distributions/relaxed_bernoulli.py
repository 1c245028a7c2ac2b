"""Bernoulli's distribution relaxed to numbers between 0 and 1."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._probabilities import Odds
from wengert.distributions.distribution import Distribution
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.distributions.transforms import SigmoidTransform
from wengert.distributions.utils import broadcast_all, clamp_probs
from wengert.tensor.random import rand


class LogitRelaxedBernoulli(Odds, Distribution):
    """The logits of `RelaxedBernoulli`: a logistic number over the temperature.

    >>> import wengert
    >>> from wengert.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(wengert.tensor(0.5), probs=0.5).log_prob(wengert.tensor(0.0))
    tensor(-2.0794)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True
    _batched = {"probs": 0, "logits": 0}
    _shared = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(self._take(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype))
        odds = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value * self.temperature
        return self.temperature.log() + distance - 2 * distance.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that a low `temperature` drives to 0 and 1; they have gradients.

    >>> import wengert
    >>> from wengert.distributions import RelaxedBernoulli
    >>> RelaxedBernoulli(wengert.tensor(0.5), probs=0.5).support
    Interval(lower_bound=0.0, upper_bound=1.0)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli
    _batched = {}

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The logarithms of the odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self.base_dist.probs


__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]
