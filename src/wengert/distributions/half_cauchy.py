"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.distributions._halves import Half
from wengert.distributions.cauchy import Cauchy
from wengert.distributions.transforms import AbsTransform
from wengert.tensor.creation import full_like


class HalfCauchy(Half):
    """The absolute value of a number of Cauchy's distribution of this `scale`.

    >>> from wengert.distributions import HalfCauchy
    >>> HalfCauchy(1.0).mean
    tensor(inf)
    """

    _batched = {}

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(
            Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args
        )

    @property
    def mean(self) -> Any:
        return full_like(self.scale, math.inf)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance


__all__ = ["HalfCauchy"]
