"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._probabilities import Odds
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
)
from wengert.ops.activation import softplus
from wengert.ops.broadcasting import broadcast_tensors
from wengert.ops.loss import binary_cross_entropy_with_logits
from wengert.ops.masking import where
from wengert.tensor.creation import ones_like
from wengert.tensor.random import rand


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers in [0, 1] whose density goes with ``probs**x * (1 - probs)**(1 - x)``.

    Between `lims`, around 1/2, where its formulas are 0/0, Taylor series stand for them.

    >>> import wengert
    >>> from wengert.distributions import ContinuousBernoulli
    >>> ContinuousBernoulli(probs=wengert.tensor(0.5)).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"probs": 0, "logits": 0}
    _shared = ("_lims",)

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        shape = self._take(probs, logits)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities, kept off 0 and 1; everything else is computed with the logits."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _regular(self) -> Any:
        """Where the formulas hold."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _logits_off_zero(self) -> Any:
        """The logits, moved to where the formulas hold."""
        low = math.log(self._lims[0] / (1 - self._lims[0]))
        return where(self._regular(), self.logits, low)

    def _log_norm(self) -> Any:
        """The logarithm of the density's constant: x / tanh(x / 2) of the logits x."""
        x = self._logits_off_zero().abs()
        exact = x.log() - (x / 2).tanh().log()
        square = (self.probs - 0.5).pow(2)
        return where(
            self._regular(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        )

    @property
    def mean(self) -> Any:
        x, near = self._logits_off_zero(), self.probs - 0.5
        size = x.abs()
        lower = 1 / size + (-size).exp() / (-size).expm1()  # of probabilities below 1/2
        exact = where(x > 0, 1 - lower, lower)
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * near.pow(2)) * near
        return where(self._regular(), exact, series)

    @property
    def variance(self) -> Any:
        x, square = self._logits_off_zero().abs(), (self.probs - 0.5).pow(2)
        exact = x.pow(-2) - (-x).exp() / (-x).expm1().pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square
        return where(self._regular(), exact, series)

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        loss = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_norm() - loss

    def cdf(self, value: Any) -> Any:
        self._check_sample(value)
        x = self._logits_off_zero()
        size, value = broadcast_tensors(x.abs(), value.clamp(0, 1))
        lower = (-size * where(x > 0, 1 - value, value)).expm1() / (-size).expm1()
        return where(self._regular(), where(x > 0, 1 - lower, lower), value)

    def icdf(self, value: Any) -> Any:
        x = self._logits_off_zero()
        size, probability = broadcast_tensors(x.abs(), where(x > 0, 1 - value, value))
        level = where(probability < 1, probability, 0.5)
        few, many = level * (-size).expm1(), 1 - level + level * (-size).exp()
        log_rest = where(level < 0.5, few.log1p(), many.log())
        lower = where(probability < 1, -log_rest / size, probability)
        return where(self._regular(), where(x > 0, 1 - lower, lower), value)

    def entropy(self) -> Any:
        x = self._logits_off_zero().abs()
        exact = 1 + x * (-x).exp() / (-x).expm1() + softplus(-x) - self._log_norm()
        logits = self.logits
        near = softplus(logits) - self.mean * logits - self._log_norm()
        return where(self._regular(), exact, near)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        """log((exp(x) - 1) / x)."""
        regular = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        off = where(regular, x, (self._lims[0] - 0.5) * ones_like(x))
        size = off.abs()
        exact = off.clamp(min=0) + (-(-size).expm1()).log() - size.log()
        return where(regular, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)


__all__ = ["ContinuousBernoulli"]
