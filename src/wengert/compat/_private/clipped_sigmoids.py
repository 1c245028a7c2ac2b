"""Private names of ``torch.distributions.transforms``."""

from __future__ import annotations

from wengert.core.info import finfo
from wengert.core.tensor import Tensor


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, short of 0 and 1."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)


__all__ = ["_clipped_sigmoid"]
