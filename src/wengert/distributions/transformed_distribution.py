"""Distributions of transformed random variables."""

from __future__ import annotations

import math
from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.size import Size
from wengert.distributions import constraints
from wengert.distributions._numbers import sum_rightmost
from wengert.distributions.distribution import Distribution
from wengert.distributions.independent import Independent
from wengert.distributions.transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """The distribution of ``t(x)`` where x has the base distribution; several t in a list.

    >>> import wengert
    >>> from wengert.distributions import Normal, TransformedDistribution, transforms
    >>> d = TransformedDistribution(Normal(0.0, 1.0), [transforms.ExpTransform()])
    >>> d.log_prob(wengert.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints = {}
    _batched = {}

    def __init__(
        self,
        base_distribution: Any,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(
            isinstance(t, Transform) for t in self.transforms
        ):
            raise ValueError(
                f"transforms must be a Transform or list of Transforms, but was {transforms}"
            )
        composed = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = len(base_distribution.event_shape)
        if len(shape) < composed.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least"
                f" {composed.domain.event_dim}, but got {tuple(shape)}."
            )
        image = composed.forward_shape(shape)
        needed = composed.inverse_shape(image)
        if shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - events])
        more = composed.domain.event_dim - events
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        change = composed.codomain.event_dim - composed.domain.event_dim
        event_dim = max(composed.codomain.event_dim, events + change)
        cut = len(image) - event_dim
        super().__init__(Size(image[:cut]), Size(image[cut:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        shape = new.batch_shape + new.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        cut = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[:cut])
        new.transforms = self.transforms
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        result = self.transforms[-1].codomain
        more = len(self.event_shape) - result.event_dim
        return constraints.independent(result, more) if more > 0 else result

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape: Any = ()) -> Any:
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        dims = len(self.event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            change = transform.log_abs_det_jacobian(x, value)
            total = total - sum_rightmost(change, dims - transform.domain.event_dim)
            value = x
        inner = self.base_dist.log_prob(value)
        return total + sum_rightmost(inner, dims - len(self.base_dist.event_shape))

    def _orient(self, probability: Any) -> Any:
        """A probability, or its complement where the transforms together fall."""
        sign = math.prod(t.sign for t in self.transforms)
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        self.base_dist._check_sample(value)
        return self._orient(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        value = self.base_dist.icdf(self._orient(value))
        for transform in self.transforms:
            value = transform(value)
        return value


__all__ = ["TransformedDistribution"]
