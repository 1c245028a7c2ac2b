"""Bernoulli's distribution: 0 or 1."""

from __future__ import annotations

import math
from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._probabilities import Odds
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.utils import broadcast_all
from wengert.ops.activation import logsigmoid
from wengert.ops.loss import binary_cross_entropy_with_logits
from wengert.tensor.random import bernoulli
from wengert.tensor.ranges import arange


class Bernoulli(Odds, ExponentialFamily):
    """1 with probability `probs`, else 0.

    >>> import wengert
    >>> from wengert.distributions import Bernoulli
    >>> Bernoulli(wengert.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _batched = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._take(probs, logits), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return mode.masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        values = arange(2, dtype=self._param.dtype).reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        return -logsigmoid(-x)


__all__ = ["Bernoulli"]
