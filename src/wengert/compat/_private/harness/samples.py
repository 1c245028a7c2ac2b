"""``torch.testing._internal.common_methods_invocations``: what of it is no record of operations."""

from __future__ import annotations

from typing import Any

import wengert
from wengert import Tensor


def mask_not_all_zeros(shape: Any) -> Tensor:
    """Random booleans, at least one of which is true."""
    if not all(shape):
        raise AssertionError(f"a mask of shape {tuple(shape)} has no elements")
    while True:
        mask = wengert.randn(shape).gt(0)
        if mask.any():
            return mask


__all__ = ["mask_not_all_zeros"]
