"""``torch.utils.data._utils.pin_memory``: batches in memory that a device reads fast."""

from __future__ import annotations

from typing import Any

from wengert.autograd.transforms.tree import map_leaves


def pinned(data: Any, device: Any = None) -> Any:
    """The batch with all that has a `pin_memory` pinned; tensors refuse without a device."""
    return map_leaves(lambda x: x.pin_memory() if hasattr(x, "pin_memory") else x, data)


pin_memory = pinned

__all__ = ["pin_memory"]
