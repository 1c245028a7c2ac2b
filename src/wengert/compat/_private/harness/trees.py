"""Containers of values: what is in them, and the same containers of something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.autograd.transforms.tree import flatten_tree, unflatten_tree


def leaves_of(tree: Any) -> list[Any]:
    """The values in a container and in those that it holds."""
    values: list[Any] = flatten_tree(tree)[0]
    return values


def mapped(f: Callable[[Any], Any], tree: Any) -> Any:
    """The container with what `f` makes of each value."""
    values, spec = flatten_tree(tree)
    return unflatten_tree([f(value) for value in values], spec)


__all__ = ["leaves_of", "mapped"]
