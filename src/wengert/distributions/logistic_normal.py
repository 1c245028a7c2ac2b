"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.independent import Independent
from wengert.distributions.normal import Normal
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.distributions.transforms import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """Points of a simplex, by breaking a stick at logits that are normal.

    >>> import wengert
    >>> from wengert.distributions import LogisticNormal
    >>> LogisticNormal(wengert.zeros(3), 1.0).sample().shape
    torch.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent
    _batched = {}

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Any:
        """The means of the logits."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviations of the logits."""
        return self.base_dist.base_dist.scale


__all__ = ["LogisticNormal"]
