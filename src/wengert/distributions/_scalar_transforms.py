"""Transforms of single numbers."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.info import finfo
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._numbers import sum_rightmost
from wengert.distributions._transform import Plain, Transform, with_event_dim
from wengert.distributions.utils import broadcast_all
from wengert.ops.activation import softplus
from wengert.ops.broadcasting import broadcast_shapes
from wengert.ops.exponential import sigmoid
from wengert.tensor.creation import zeros_like


class ExpTransform(Plain):
    """``y = exp(x)``.

    >>> import wengert
    >>> from wengert.distributions.transforms import ExpTransform
    >>> ExpTransform()(wengert.zeros(1))
    tensor([1.])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """``y = x ** exponent`` of positive numbers.

    >>> import wengert
    >>> from wengert.distributions.transforms import PowerTransform
    >>> PowerTransform(wengert.tensor(2.0))(wengert.tensor([3.0]))
    tensor([9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)


def kept_inside(probability: Tensor) -> Tensor:
    """A number kept off 0 and 1, where the logit is infinite."""
    info = finfo(probability.dtype)
    return probability.clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(Plain):
    """``y = 1 / (1 + exp(-x))``.

    >>> import wengert
    >>> from wengert.distributions.transforms import SigmoidTransform
    >>> SigmoidTransform()(wengert.zeros(1))
    tensor([0.5000])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def _call(self, x: Any) -> Any:
        return kept_inside(sigmoid(x))

    def _inverse(self, y: Any) -> Any:
        y = kept_inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Plain):
    """``y = log(1 + exp(x))``.

    >>> import wengert
    >>> from wengert.distributions.transforms import SoftplusTransform
    >>> SoftplusTransform()(wengert.zeros(1))
    tensor([0.6931])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(Plain):
    """``y = tanh(x)``.

    >>> import wengert
    >>> from wengert.distributions.transforms import TanhTransform
    >>> TanhTransform()(wengert.zeros(1))
    tensor([0.])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        # log(1 - tanh(x) ** 2), where the square would round to 1
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Plain):
    """``y = abs(x)``; its inverse is the identity.

    >>> import wengert
    >>> from wengert.distributions.transforms import AbsTransform
    >>> AbsTransform()(wengert.tensor([-2.0]))
    tensor([2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``.

    >>> import wengert
    >>> from wengert.distributions.transforms import AffineTransform
    >>> AffineTransform(1.0, 2.0)(wengert.tensor([3.0]))
    tensor([7.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> Any:
        return with_event_dim(constraints.real, self._event_dim)

    @property
    def codomain(self) -> Any:
        return with_event_dim(constraints.real, self._event_dim)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _equal(self.loc, other.loc)
            and _equal(self.scale, other.scale)
        )

    __hash__ = Transform.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, Tensor):
            change = self.scale.abs().log()
        else:
            change = zeros_like(x) + math.log(abs(self.scale))
        if not self.event_dim:
            return change.expand(broadcast_shapes(change.shape, x.shape))
        each = change.expand(broadcast_shapes(change.shape, x.shape))
        return sum_rightmost(each, self.event_dim)

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, *(getattr(p, "shape", ()) for p in (self.loc, self.scale)))

    def inverse_shape(self, shape: Any) -> Any:
        return self.forward_shape(shape)


def _equal(a: Any, b: Any) -> bool:
    """Whether two numbers or tensors are the same."""
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else bool(same)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution of single numbers.

    >>> import wengert
    >>> from wengert.distributions import Normal
    >>> from wengert.distributions.transforms import CumulativeDistributionTransform
    >>> CumulativeDistributionTransform(Normal(0.0, 1.0))(wengert.zeros(1))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


__all__ = [
    "AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform",
    "PowerTransform", "SigmoidTransform", "SoftplusTransform", "TanhTransform",
]  # fmt: skip
