"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._probabilities import Odds, probs_or_logits
from wengert.distributions.distribution import Distribution
from wengert.distributions.gamma import Gamma
from wengert.distributions.utils import broadcast_all
from wengert.ops.activation import logsigmoid
from wengert.ops.exponential import sigmoid
from wengert.ops.special import lgamma
from wengert.tensor.random import poisson


class NegativeBinomial(Odds, Distribution):
    """How many trials succeed, each with probability `probs`, before `total_count` fail.

    >>> import wengert
    >>> from wengert.distributions import NegativeBinomial
    >>> NegativeBinomial(3, wengert.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _batched = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.total_count, value = broadcast_all(total_count, probs_or_logits(probs, logits))
        self.total_count = self.total_count.type_as(value)
        shape = self._take(*((value, None) if logits is None else (None, value)))
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.mean / sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return poisson(rates.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        n = self.total_count
        powers = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        choices = lgamma(n + value) - lgamma(1.0 + value) - lgamma(n)
        return powers + choices.masked_fill(n + value == 0.0, 0.0)


__all__ = ["NegativeBinomial"]
