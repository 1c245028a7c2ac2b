"""Trees with paths: against PyTorch's."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

import wengert
from wengert.utils import _pytree, _tree_paths

Pair = namedtuple("Pair", "x y")


def tree(torch: Any) -> Any:
    return {
        "a": [1, (2, Pair(3, 4))], "b": OrderedDict(q=5), "c": defaultdict(int, z=1),
        "d": deque([7], maxlen=3), "e": torch.return_types.max((8, 9)), 3: [], "f": None,
    }  # fmt: skip


def told(torch: Any, flat: Any, paths: Any) -> list[Any]:
    whole = tree(torch)
    found, spec = paths.tree_flatten_with_path(whole)
    assert paths.tree_leaves_with_path(whole) == found
    assert all(paths.key_get(whole, path) == leaf for path, leaf in found)
    again = flat.tree_unflatten([leaf for _, leaf in found], spec)
    outer = paths.tree_leaves_with_path(whole, is_leaf=lambda x: isinstance(x, list))
    mapped = paths.tree_map_with_path(
        lambda path, x, y: (paths.keystr(path), x, y), [1, {"k": 2}], [10, {"k": 20}]
    )
    return [
        [(repr(path), paths.keystr(path), leaf) for path, leaf in found], repr(again),
        [(paths.keystr(path), leaf) for path, leaf in outer], mapped,
        paths.arg_tree_leaves(1, [2], k=3), list(paths.tree_iter([1, [2]])),
        paths.tree_all_only(int, lambda x: x > 0, [1, "a"]),
        paths.tree_any_only(int, lambda x: x > 1, [1, "a"]),
    ]  # fmt: skip


@pytest.mark.torch
def test_as_pytorch(torch: Any) -> None:
    from torch.utils import _pytree as theirs

    assert told(wengert, _pytree, _tree_paths) == told(torch, theirs, theirs)


@pytest.mark.torch
def test_dataclasses(torch: Any) -> None:
    from torch.utils import _pytree as theirs

    def told(flat: Any, paths: Any) -> list[Any]:
        @dataclasses.dataclass
        class Both:
            a: Any
            b: Any = 2

        @dataclasses.dataclass
        class Some:
            a: Any
            b: Any = None
            c: Any = 3

        paths.register_dataclass(Both)
        paths.register_dataclass(Some, field_names=["a"], drop_field_names=["b", "c"])
        found = []
        for value in (Both(1), Both(1, None), Some([1], 5, 6)):
            leaves = paths.tree_leaves_with_path(value)
            mapped = flat.tree_map(lambda x: x + 1, value)
            found += [repr(leaves), dataclasses.astuple(mapped)]
        with pytest.raises(ValueError, match="field"):
            paths.register_dataclass(dataclasses.make_dataclass("More", ["x"]), field_names=["y"])
        return found

    assert told(_pytree, _tree_paths) == told(theirs, theirs)


def test_containers_without_keys() -> None:
    class Box:
        def __init__(self, value: Any) -> None:
            self.value = value

    _pytree.register_pytree_node(Box, lambda b: ([b.value], None), lambda v, _: Box(*v))
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
        _tree_paths.tree_flatten_with_path(Box(1))
