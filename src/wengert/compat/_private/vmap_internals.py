"""``torch._functorch.vmap``: what packages replace to have `vmap` take classes of their own.

`vmap` does not look here: it takes such classes as the registry of trees says.
"""

from __future__ import annotations

from typing import Any

from wengert.autograd.transforms.tree import Spec, broadcast_prefix
from wengert.autograd.transforms.vmap import function_name
from wengert.compat._private.c_functorch import vmap_internal
from wengert.core.tensor import Tensor as Tensor

_add_batch_dim = vmap_internal("_add_batch_dim")
_maybe_remove_batch_dim = vmap_internal("_maybe_remove_batch_dim")
_get_name = function_name


def _broadcast_to_and_flatten(tree: Any, treespec: Spec, is_leaf: Any = None) -> list[Any] | None:
    """The leaves of a tree's prefix, repeated for what is below; None if it is no prefix."""
    return broadcast_prefix(tree, treespec)


__all__ = [
    "Tensor",
    "_add_batch_dim",
    "_broadcast_to_and_flatten",
    "_get_name",
    "_maybe_remove_batch_dim",
]
