"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert._core import Tensor
from wengert.distributions import constraints
from wengert.distributions._probabilities import Odds
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.utils import broadcast_all, clamp_probs
from wengert.ops.loss import binary_cross_entropy_with_logits
from wengert.ops.selection import where
from wengert.tensor._creation import ones_like
from wengert.tensor._random import rand


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

    def _regular(self) -> Any:
        """Where the formulas hold."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _kept_off(self) -> Any:
        """The probabilities, moved to where the formulas hold."""
        return where(self._regular(), self.probs, self._lims[0] * ones_like(self.probs))

    def _log_norm(self) -> Any:
        """The logarithm of the density's constant: 2 atanh(1 - 2 p) / (1 - 2 p)."""
        p = self._kept_off()
        log_odds = ((-p).log1p() - p.log()).abs().log()
        exact = log_odds - (1 - 2 * p).abs().log()
        square = (self.probs - 0.5).pow(2)
        return where(
            self._regular(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        )

    @property
    def mean(self) -> Any:
        p, x = self._kept_off(), self.probs - 0.5
        exact = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        return where(self._regular(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Any:
        p, square = self._kept_off(), (self.probs - 0.5).pow(2)
        log_odds = (-p).log1p() - p.log()
        exact = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / log_odds.pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square
        return where(self._regular(), exact, series)

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        loss = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_norm() - loss

    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        p = self._kept_off()
        exact = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        return where(self._regular(), exact, value).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        p = self._kept_off()
        exact = ((-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return where(self._regular(), exact, value)

    def entropy(self) -> Any:
        failure, success = (-self.probs).log1p(), self.probs.log()
        return self.mean * (failure - success) - self._log_norm() - failure

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        """log((exp(x) - 1) / x)."""
        regular = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        off = where(regular, x, (self._lims[0] - 0.5) * ones_like(x))
        exact = off.expm1().abs().log() - off.abs().log()
        return where(regular, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)


__all__ = ["ContinuousBernoulli"]
