"""Private names of ``torch.distributions.utils``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.tensor import Tensor
from wengert.tensor.random import randn


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Standard normal numbers."""
    return randn(tuple(shape), dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last dimensions, as many as `dim` says."""
    return value if dim == 0 else value.flatten(-dim).sum(-1)


__all__ = ["_standard_normal", "_sum_rightmost"]
