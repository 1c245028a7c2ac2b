"""``torch._C._functorch``: whether a tensor stands for a batch, or for another."""

from __future__ import annotations

from typing import Any

from wengert.autograd.transforms.batched import Batched
from wengert.autograd.transforms.graded import Graded
from wengert.core.tensor import Tensor
from wengert.platform.absences import refusing


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for one of many, inside of `vmap`."""
    return isinstance(tensor, Batched)


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether a tensor is differentiated inside of `grad` or `vjp`."""
    return isinstance(tensor, Graded)


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """False: there is one kind of `vmap`."""
    return False


def vmap_internal(name: str) -> Any:
    """A function from inside PyTorch's vmap: calling it raises NotImplementedError."""
    text = f"torch._C._functorch.{name}(): wengert's vmap is implemented differently"
    return refusing(name, __name__, NotImplementedError, text)


_add_batch_dim = vmap_internal("_add_batch_dim")
_remove_batch_dim = vmap_internal("_remove_batch_dim")
get_unwrapped = vmap_internal("get_unwrapped")

__all__ = [
    "_add_batch_dim",
    "_remove_batch_dim",
    "get_unwrapped",
    "is_batchedtensor",
    "is_gradtrackingtensor",
    "is_legacy_batchedtensor",
]
