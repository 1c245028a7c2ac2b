"""``torch.fx._compatibility``: how PyTorch marks what it will not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that gives back what it is given."""
    return lambda value: value


__all__ = ["compatibility"]
