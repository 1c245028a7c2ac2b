"""Why outputs do not depend on an input, or on nothing at all; computed only for errors."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence

import numpy as np

from wengert.autograd import naming
from wengert.autograd.gc_queries import cuts_of, live_tensors_and_nodes
from wengert.core.cut_log import Escape, escapes
from wengert.core.tensor import Cut, Leaf, Node, Tensor, memory_of, nodes_below

Facts = list[tuple[str, str]]
Reason = tuple[list[tuple[str, str]], str]
_LATEST = 3


def of_unused(node: Node, roots: Sequence[Node]) -> Reason:
    """The lines of code that show why no path leads from the roots to an input, and a sentence."""
    planned = nodes_below(roots)
    tensors, nodes = live_tensors_and_nodes(gc.get_objects())
    return (
        _made_of(node, planned)
        or _copied(node, planned)
        or _cut_off(node, tensors)
        or _used_elsewhere(node, nodes)
        or _unknown(tensors)
    )


def _made_of(node: Node, planned: list[Node]) -> Reason | None:
    """Diagnose an input computed from something the outputs were computed from as well."""
    planned_set = set(planned)
    common = [n for n in nodes_below([node]) if n in planned_set]
    if not common:
        return None
    latest = max(common, key=lambda n: (type(n) is not Leaf, n.seq))
    return [("made of", naming.origin(latest))], (
        "The outputs were computed from what it was made of, not from it."
    )


def _cut_off(node: Node, tensors: Sequence[Tensor]) -> Reason | None:
    facts = describe_cuts(cut for cut in cuts_of(tensors) if _comes_from(cut, node))
    return (facts, _USED) if facts else None


_USED = "Its values were used without its graph there, perhaps for the outputs."


def on_purpose(cut: Cut) -> bool:
    """Whether a call, not an operation without a derivative, cut off values that are now gone."""
    collected = cut.node is not None and cut.node() is None
    return collected and cut.what.endswith(("()", ".data"))


def describe_cuts(cuts: Iterable[Cut]) -> Facts:
    """Describe the latest of the lines that cut off values."""
    return [("cut off by", text) for text in dict.fromkeys(map(naming.describe_call, cuts))][
        -_LATEST:
    ]


def _unknown(tensors: Sequence[Tensor]) -> Reason:
    facts = describe_cuts(filter(on_purpose, cuts_of(tensors)))
    where = ": perhaps it was cut off there" if facts else ""
    return facts, f"Nothing that is alive was computed from it{where}."


def _comes_from(cut: Cut, node: Node) -> bool:
    """Whether a cut value was computed from a node, as far as its graph still exists."""
    source = None if cut.node is None else cut.node()
    return source is not None and any(n is node for n in nodes_below([source]))


def _copied(node: Node, planned: list[Node]) -> Reason | None:
    """Diagnose outputs computed from another leaf with the same values."""
    own = node.tensor() if type(node) is Leaf else None
    if own is None:
        return None
    for leaf in planned:
        other = leaf.tensor() if type(leaf) is Leaf else None
        if other is not None and _alike(own, other):
            return [("equals", naming.origin(leaf))], (
                "The outputs were computed from another leaf, which has the same values: perhaps"
                " a copy."
            )
    return None


def _alike(a: Tensor, b: Tensor) -> bool:
    """Whether tensors share memory, or have the same values (not all one number)."""
    x, y = a._array, b._array
    if x.shape != y.shape:
        return False
    if np.may_share_memory(x, y):
        return True
    varied = x.size > 1 and bool((x != x.flat[0]).any())
    return varied and bool(np.array_equal(x, y.astype(x.dtype)))


def _used_elsewhere(node: Node, nodes: Sequence[Node]) -> Reason | None:
    uses = [n for n in nodes if any(edge is node for edge in n.edges)]
    if not uses:
        return None
    return describe_uses(uses), "It was used, but not for these outputs."


def describe_uses(uses: Sequence[Node]) -> Facts:
    """Describe the latest of the operations that used a value."""
    return [("used by", naming.describe_node(use)) for use in uses[-_LATEST:]]


def escape_of(tensor: Tensor) -> tuple[str, Facts, str] | None:
    """A sentence, the line and a remedy, if a tensor's values left a graph."""
    array = memory_of(tensor)
    for escape in reversed(escapes):
        if not _is_of(array, escape):
            continue
        if array.size == 1:
            text = "its value is a number that was taken out of a graph"
            remedy = "compute with the tensor itself, not with its number"
        else:
            text = "its values were taken out of a graph"
            remedy = "compute with the tensor itself, and with its own operations"
        return text, [("taken by", naming.describe_call(Cut(*escape.cut)))], remedy
    return None


def _is_of(array: np.ndarray, escape: Escape) -> bool:
    """Whether an array has values that left a graph; common ones, such as zeros, do not count."""
    memory = escape.memory()
    if memory is not None and memory.size and np.may_share_memory(memory, array):
        return True
    if array.size != escape.size or not escape.first:
        return False
    first = np.asarray(escape.first)
    plain = first.size == 1 and first.dtype.kind in "fiub" and float(first[0]).is_integer()
    telling = not plain if first.size == 1 else bool((first != first[0]).any())
    return telling and bool((array.flat[: first.size] == first.astype(array.dtype)).all())


def latest_escape() -> Facts:
    """The latest line at which several values left a graph; their later use is unknown."""
    for escape in reversed(escapes):
        if escape.size > 1:
            return [("perhaps cut by", naming.describe_call(Cut(*escape.cut)))]
    return []
