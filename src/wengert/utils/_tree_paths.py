"""The rest of ``torch.utils._pytree``: where each leaf of a tree is, and trees of dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wengert.autograd.transforms.tree import Spec as TreeSpec
from wengert.ops.results import Results
from wengert.utils._pytree import (
    SUPPORTED_NODES,
    GetAttrKey,
    MappingKey,
    SequenceKey,
    _is_leaf,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map_,
    tree_unflatten,
)

KeyEntry = MappingKey | SequenceKey | GetAttrKey
KeyPath = tuple[KeyEntry, ...]
IsLeaf = Callable[[Any], bool] | None


def keystr(kp: KeyPath) -> str:
    """A path as text, such as ``['a'][0].x``.

    >>> from wengert.utils._pytree import MappingKey, SequenceKey
    >>> from wengert.utils._tree_paths import keystr
    >>> keystr((MappingKey("a"), SequenceKey(0)))
    "['a'][0]"
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What is at a path in a tree."""
    for key in kp:
        obj = key.get(obj)
    return obj


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves in order, each with its path, and the structure.

    ValueError for a container whose class was registered without `flatten_with_keys_fn`.

    >>> from wengert.utils._tree_paths import tree_flatten_with_path
    >>> tree_flatten_with_path({"a": [1]})[0]
    [((MappingKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    return tree_leaves_with_path(tree, is_leaf), tree_flatten(tree, is_leaf)[1]


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves in order, each with its path."""
    return list(_walk((), tree, is_leaf))


def _walk(path: KeyPath, tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if _is_leaf(tree, is_leaf):
        yield path, tree
        return
    for key, child in _children(tree):
        yield from _walk((*path, key), child, is_leaf)


def _children(tree: Any) -> Iterable[tuple[KeyEntry, Any]]:
    """What is in a container, each with its place."""
    node = SUPPORTED_NODES.get(type(tree))
    if node is not None and node.flatten_with_keys_fn is not None:
        children: Iterable[tuple[KeyEntry, Any]] = node.flatten_with_keys_fn(tree)[0]
        return children
    if isinstance(tree, dict):
        return [(MappingKey(k), v) for k, v in tree.items()]
    if isinstance(tree, tuple) and hasattr(tree, "_fields") and not isinstance(tree, Results):
        return [(GetAttrKey(name), getattr(tree, name)) for name in tree._fields]
    if isinstance(tree, tuple | list):
        return [(SequenceKey(i), v) for i, v in enumerate(tree)]
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a"
        " flatten_with_keys_fn argument to register_pytree_node."
    )


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """The tree with ``func(path, leaf, ...)`` of its leaves, and of those of further trees.

    >>> from wengert.utils._tree_paths import keystr, tree_map_with_path
    >>> tree_map_with_path(lambda path, x: keystr(path) * x, {"a": 2})
    {'a': "['a']['a']"}
    """
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [*zip(*found, strict=True)] or [(), ()]
    rows = zip(*columns, *(spec.flatten_up_to(other) for other in rests), strict=True)
    return tree_unflatten([func(*row) for row in rows], spec)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves in order, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves among the arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """The tree itself, when a function was called with each of its leaves of a type."""
    kind = type_or_types_or_pred
    chosen = kind if callable(kind) and not isinstance(kind, type) else _of_type(kind)
    return tree_map_(lambda x: func(x) if chosen(x) else x, tree, is_leaf=is_leaf)


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None
) -> bool:
    """Whether something holds for every leaf of a type."""
    return all(pred(x) for x in filter(_of_type(type_or_types), tree_leaves(tree, is_leaf)))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None
) -> bool:
    """Whether something holds for some leaf of a type."""
    return any(pred(x) for x in filter(_of_type(type_or_types), tree_leaves(tree, is_leaf)))


def _of_type(kind: Any) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, kind)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Take instances of a dataclass apart into their fields from now on.

    Args:
        cls: the dataclass.
        field_names: the fields that count; by default those that its constructor takes.
        drop_field_names: those that do not, and have a default.
        serialized_type_name: accepted; structures are not written to files.

    ValueError for names that are not those of the constructor's fields.
    """
    if not dataclasses.is_dataclass(cls):
        raise ValueError(f"field_names must be specified with all fields: {cls} is no dataclass")
    fields = [f.name for f in dataclasses.fields(cls) if f.init]
    dropped = drop_field_names or []
    names = [n for n in fields if n not in dropped] if field_names is None else field_names
    if {*names, *dropped} != {*fields}:
        raise ValueError(
            f"register_dataclass({cls.__name__}): field_names and drop_field_names together must"
            f" be the fields {fields}, but are {names} and {dropped}"
        )

    def flatten(value: Any) -> tuple[list[Any], Any]:
        present = [n for n in names if getattr(value, n) is not None]
        absent = [n for n in names if getattr(value, n) is None]
        return [getattr(value, n) for n in present], [present, absent]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(value: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
        values, context = flatten(value)
        return list(zip(map(GetAttrKey, context[0]), values, strict=True)), context

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )  # fmt: skip
