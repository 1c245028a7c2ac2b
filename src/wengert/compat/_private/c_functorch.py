"""``torch._C._functorch``: whether a tensor stands for a batch, or for another."""

from __future__ import annotations

from wengert.autograd.transforms.batched import Batched
from wengert.core.tensor import Tensor


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for one of many, inside of `vmap`."""
    return isinstance(tensor, Batched)


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """False: there is one kind of `vmap`."""
    return False


__all__ = ["is_batchedtensor", "is_legacy_batchedtensor"]
