"""``torch.utils._pytree``: nested tuples, lists and dicts, taken apart and put together."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from wengert.autograd.transforms.tree import LEAF as LEAF
from wengert.autograd.transforms.tree import Node, flatten_tree, registry, unflatten_tree
from wengert.autograd.transforms.tree import Spec as TreeSpec

PyTree = Any
Context = Any


class NodeDef(NamedTuple):
    """How containers of a class come apart and together."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Any, Any], Any]
    flatten_with_keys_fn: Any = None


class MappingKey(NamedTuple):
    """Where a value is in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The value there."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """Where a value is in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The value there."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """Where a value is in an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The value there."""
        return getattr(obj, self.name)


def LeafSpec() -> TreeSpec:  # noqa: N802 (PyTorch's name)
    """The structure of a leaf."""
    return LEAF


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: list[Any]) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def _list_flatten(d: list[Any]) -> tuple[list[Any], None]:
    return d, None


def _list_flatten_with_keys(d: list[Any]) -> tuple[list[tuple[SequenceKey, Any]], None]:
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


def _list_unflatten(values: Iterable[Any], context: None) -> list[Any]:
    return list(values)


SUPPORTED_NODES: dict[type, NodeDef] = {
    dict: NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    OrderedDict: NodeDef(
        OrderedDict, _dict_flatten, lambda v, c: OrderedDict(_dict_unflatten(v, c))
    ),
    list: NodeDef(list, _list_flatten, _list_unflatten, _list_flatten_with_keys),
    tuple: NodeDef(tuple, lambda d: (list(d), None), lambda v, c: tuple(v)),
}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Say how containers of a class come apart and together; ValueError the second time.

    The options about files are accepted, without effect: structures are not written to any.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    registry[cls] = Node(flatten_fn, unflatten_fn)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)  # type: ignore[arg-type]


_register_pytree_node = register_pytree_node

register_pytree_node(
    deque,
    lambda d: (list(d), d.maxlen),
    lambda values, maxlen: deque(values, maxlen=maxlen),
    flatten_with_keys_fn=_list_flatten_with_keys,
)
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), (d.default_factory, list(d))),
    lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    flatten_with_keys_fn=_dict_flatten_with_keys,
)


def _get_node_type(tree: Any) -> Any:
    """The class by which a container is known."""
    return type(tree)


def _is_leaf(tree: Any, is_leaf: Any = None) -> bool:
    if is_leaf is not None and is_leaf(tree):
        return True
    return type(tree) not in registry and not isinstance(tree, tuple | list | dict)


tree_is_leaf = _is_leaf


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the structure; `is_leaf` says what not to take apart."""
    if is_leaf is None:
        return flatten_tree(tree)
    leaves: list[Any] = []
    return leaves, _flatten_until(tree, is_leaf, leaves)


def _flatten_until(tree: Any, is_leaf: Any, leaves: list[Any]) -> TreeSpec:
    if _is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LEAF
    context = None
    if type(tree) in registry:
        items, context = registry[type(tree)].flatten(tree)
    else:
        items = tree.values() if isinstance(tree, dict) else tree
    keys = tuple(tree) if isinstance(tree, dict) and type(tree) not in registry else ()
    children = tuple([_flatten_until(item, is_leaf, leaves) for item in items])
    return TreeSpec(type(tree), keys, children, context)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of that structure with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree with a function applied to its leaves, and to those of further trees beside."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(other) for other in rests)]
    return unflatten_tree([func(*row) for row in zip(*columns, strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree itself, when a function was called with each of its leaves."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kind: Any, func: Callable[..., Any], tree: Any, is_leaf: Any = None) -> Any:
    """The tree with a function applied to its leaves of a type."""
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree, is_leaf=is_leaf)


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether something holds for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether something holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))
