"""What the structure of a tree answers, as PyTorch's."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import pytest

import wengert
from wengert.utils import _pytree

Pair = namedtuple("Pair", "x y")
TREE = {"a": [1, 2, (3,)], "b": 4, "c": Pair(1, None), "d": OrderedDict(z=1), "e": ()}
BELOW = {"a": [[1], {"k": 2}, (3,)], "b": 4, "c": Pair(1, (0, 2)), "d": {"z": [1]}, "e": ()}


def described(spec: Any) -> Any:
    numbers = spec.num_nodes, spec.num_leaves, spec.num_children, spec.is_leaf()
    return [numbers, spec.type, [described(child) for child in spec.children()]]


@pytest.mark.torch
def test_structures_describe_themselves(torch: Any) -> None:
    theirs = torch.utils._pytree.tree_structure(TREE)
    ours = _pytree.tree_structure(TREE)
    assert described(ours) == described(theirs)
    assert ours.child(0).num_leaves == 3
    assert ours.unflatten(range(7)) == theirs.unflatten(range(7))
    assert ours.flatten_up_to(BELOW) == theirs.flatten_up_to(BELOW)


@pytest.mark.torch
@pytest.mark.parametrize("tree", [
    [1], {**BELOW, "a": [1, 2]}, {**BELOW, "a": (1, 2, (3,))}, {"a": 1}, {**BELOW, "q": 1},
], ids=str)  # fmt: skip
def test_another_tree_is_refused(tree: Any, torch: Any) -> None:
    for module in (wengert.utils._pytree, torch.utils._pytree):
        with pytest.raises(ValueError, match=r"^Node (type|arity|keys) mismatch"):
            module.tree_structure(TREE).flatten_up_to(tree)


def test_leaves_are_counted() -> None:
    spec = _pytree.tree_structure([1, 2])
    for build in (spec.unflatten, lambda leaves: _pytree.tree_unflatten(leaves, spec)):
        with pytest.raises(ValueError, match="has length 1, expected 2 for list"):
            build([1])


@pytest.mark.torch
def test_maps_take_what_further_trees_have_in_the_places_of_leaves(torch: Any) -> None:
    def mapped(module: Any) -> Any:
        return module.tree_map(lambda a, b, c: (a, b, c), TREE, BELOW, TREE)

    assert mapped(_pytree) == mapped(torch.utils._pytree)
