"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._probabilities import Odds, probs_or_logits
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.ops.activation import logsigmoid
from wengert.ops.special import lgamma
from wengert.tensor.random_counts import binomial
from wengert.tensor.ranges import arange


class Binomial(Odds, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs`.

    >>> import wengert
    >>> from wengert.distributions import Binomial
    >>> Binomial(4, wengert.tensor([0.0, 0.5])).mean
    tensor([0., 2.])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _batched = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.total_count, value = broadcast_all(total_count, probs_or_logits(probs, logits))
        self.total_count = self.total_count.type_as(value)
        shape = self._take(*((value, None) if logits is None else (None, value)))
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        n = self.total_count
        choices = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        return value * self.logits + n * logsigmoid(-self.logits) + choices

    def entropy(self) -> Any:
        if not self.total_count.min() == self.total_count.max():
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `entropy`: got total_count from"
                f" {self.total_count.min()} to {self.total_count.max()}"
            )
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        largest: Any = self.total_count.max()
        total = int(largest)
        if not self.total_count.min() == total:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`: got total_count"
                f" from {self.total_count.min()} to {total}"
            )
        values = arange(1 + total, dtype=self._param.dtype)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


__all__ = ["Binomial"]
