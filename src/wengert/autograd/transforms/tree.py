"""Nested tuples, lists and dicts of tensors, taken apart and put together again."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple


class Node(NamedTuple):
    """How containers of a class that somebody registered come apart and together."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, Any], Any]


registry: dict[type, Node] = {}


class Spec(NamedTuple):
    """The structure around leaves: kind of container (None for a leaf), keys and children.

    `context` is what a registered class keeps about itself.
    """

    kind: Any
    keys: tuple[Any, ...] = ()
    children_specs: tuple[Spec, ...] = ()
    context: Any = None

    @property
    def type(self) -> Any:
        """The kind of container, as PyTorch names it: all named tuples are of one."""
        return namedtuple if hasattr(self.kind, "_fields") else self.kind

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(c.num_leaves for c in self.children_specs)

    @property
    def num_nodes(self) -> int:
        """The number of leaves and containers."""
        return 1 + sum(c.num_nodes for c in self.children_specs)

    @property
    def num_children(self) -> int:
        """The number of items."""
        return len(self.children_specs)

    def children(self) -> list[Spec]:
        """The structures of the items."""
        return list(self.children_specs)

    def child(self, index: int) -> Spec:
        """The structure of an item."""
        return self.children_specs[index]

    def is_leaf(self) -> bool:
        """Whether it is no container."""
        return self.kind is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves; ValueError unless they are as many as here."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)}, expected"
                f" {self.num_leaves} for {self}"
            )
        return unflatten_tree(values, self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What a tree has in the places of the leaves; ValueError where it is another tree."""
        if self.kind is None:
            return [tree]
        items = self._items_of(tree)
        if len(items) != len(self.children_specs):
            raise ValueError(
                f"Node arity mismatch; expected {len(self.children_specs)}, but got {len(items)}."
            )
        parts = zip(self.children_specs, items, strict=True)
        return [leaf for child, item in parts for leaf in child.flatten_up_to(item)]

    def _items_of(self, tree: Any) -> list[Any]:
        mapping = issubclass(self.kind, dict) and self.kind not in registry
        if type(tree) is not self.kind and not (mapping and isinstance(tree, dict)):
            raise ValueError(f"Node type mismatch; expected {self.kind}, but got {type(tree)}.")
        if not mapping:
            return list(registry[self.kind].flatten(tree)[0] if self.kind in registry else tree)
        if set(tree) != set(self.keys):
            raise ValueError(
                f"Node keys mismatch; missing key(s): {set(self.keys) - set(tree)}; extra key(s):"
                f" {set(tree) - set(self.keys)}."
            )
        return [tree[key] for key in self.keys]

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        items = [str(c) for c in self.children_specs]
        if self.keys:
            items = [f"{k!r}: {c}" for k, c in zip(self.keys, items, strict=True)]
        return f"{self.kind.__name__}({', '.join(items)})"


LEAF = Spec(None)


def flatten_tree(tree: Any) -> tuple[list[Any], Spec]:
    """The leaves in order, and the structure; dicts in insertion order, None is a leaf."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Spec:
    node = registry.get(type(tree))
    if node is not None:
        items, context = node.flatten(tree)
        return Spec(type(tree), (), tuple([_flatten(v, leaves) for v in items]), context)
    if isinstance(tree, dict):
        children = tuple([_flatten(v, leaves) for v in tree.values()])
        return Spec(type(tree), tuple(tree), children)
    if isinstance(tree, (tuple, list)):
        return Spec(type(tree), (), tuple([_flatten(v, leaves) for v in tree]))
    leaves.append(tree)
    return LEAF


def unflatten_tree(leaves: Sequence[Any], spec: Spec) -> Any:
    """The tree of that structure with these leaves."""
    return _build(iter(leaves), spec)


def _build(leaves: Any, spec: Spec) -> Any:
    if spec.kind is None:
        return next(leaves)
    items = [_build(leaves, child) for child in spec.children_specs]
    node = registry.get(spec.kind)
    if node is not None:
        return node.unflatten(items, spec.context)
    if issubclass(spec.kind, dict):
        mapping = spec.kind()
        mapping.update(zip(spec.keys, items, strict=True))
        return mapping
    if hasattr(spec.kind, "_fields"):
        return spec.kind(*items)
    return spec.kind(items)


def map_leaves(function: Callable[..., Any], tree: Any) -> Any:
    """The tree with a function applied to each leaf."""
    leaves, spec = flatten_tree(tree)
    return unflatten_tree([function(x) for x in leaves], spec)


def broadcast_prefix(prefix: Any, spec: Spec) -> list[Any] | None:
    """The leaves of a tree prefix, each repeated for its subtree; None if it is not a prefix.

    A None or a number in the prefix applies to everything below it.
    """
    if spec.kind is None:
        return None if isinstance(prefix, (tuple, list, dict)) else [prefix]
    if spec.kind in registry:
        if type(prefix) is not spec.kind:
            return None if isinstance(prefix, (tuple, list, dict)) else [prefix] * spec.num_leaves
        items = list(registry[spec.kind].flatten(prefix)[0])
        return _prefixes(items, spec) if len(items) == len(spec.children_specs) else None
    if not isinstance(prefix, (tuple, list, dict)):
        return [prefix] * spec.num_leaves
    if isinstance(prefix, dict) != issubclass(spec.kind, dict):
        return None
    if len(prefix) != len(spec.children_specs):
        return None
    if isinstance(prefix, dict):
        if set(prefix) != set(spec.keys):
            return None
        return _prefixes([prefix[k] for k in spec.keys], spec)
    return _prefixes(prefix, spec)


def _prefixes(items: Sequence[Any], spec: Spec) -> list[Any] | None:
    leaves: list[Any] = []
    for item, child in zip(items, spec.children_specs, strict=True):
        below = broadcast_prefix(item, child)
        if below is None:
            return None
        leaves += below
    return leaves
