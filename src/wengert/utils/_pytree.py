"""``torch.utils._pytree``: nested tuples, lists and dicts, taken apart and put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wengert.autograd.transforms.tree import LEAF as LEAF
from wengert.autograd.transforms.tree import Spec as TreeSpec
from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the structure."""
    return flatten_tree(tree)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of that structure with these leaves."""
    return unflatten_tree(list(leaves), treespec)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves in order."""
    return flatten_tree(tree)[0]


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The structure."""
    return flatten_tree(tree)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree with a function applied to its leaves, and to those of further trees beside."""
    leaves, spec = flatten_tree(tree)
    columns = [leaves, *(flatten_tree(other)[0] for other in rests)]
    return unflatten_tree([func(*row) for row in zip(*columns, strict=True)], spec)


def tree_map_only(kind: Any, func: Callable[..., Any], tree: Any, is_leaf: Any = None) -> Any:
    """The tree with a function applied to its leaves of a type."""
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree)


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether something holds for some leaf."""
    return any(map(pred, flatten_tree(tree)[0]))


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether something holds for every leaf."""
    return all(map(pred, flatten_tree(tree)[0]))
