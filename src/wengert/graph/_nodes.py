"""The nodes of graphs, and the tensors that are alive: what all who look at graphs ask first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert._core import Leaf, Node, Tensor
from wengert.autograd._engine import by_seq
from wengert.graph._memory import held_by


def is_released(node: Node) -> bool:
    """Whether a backward call has let go of what a node saved."""
    state = node.state
    return type(node) is not Leaf and state is not None and state.released is not None


def below(roots: Sequence[Node]) -> list[Node]:
    """Nodes and all that are below them, each behind those of its inputs."""
    found: dict[int, Node] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += [edge for edge in node.edges if edge is not None]
    # A leaf is made when it is first used, and nodes that only stand for one output of the
    # operation below them are younger than it.
    return sorted(found.values(), key=by_seq)


def alive(objects: Sequence[Any]) -> tuple[list[Tensor], list[Node]]:
    """The tensors and the operations, oldest first, among objects; none is asked for its class."""
    kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, (Tensor, Node))}
    found = [thing for thing in objects if type(thing) in kinds]
    tensors = [thing for thing in found if issubclass(type(thing), Tensor)]
    operations = [n for n in found if issubclass(type(n), Node) and type(n) is not Leaf]
    # One that another thread is just making has no number yet: it is in no graph.
    nodes = [node for node in operations if hasattr(node, "seq")]
    return tensors, sorted(nodes, key=by_seq)


def bytes_of(operations: Sequence[Node]) -> int:
    """The bytes that operations keep, each storage once, those of their leaves apart."""
    leaves = {id(e): e for node in operations for e in node.edges if type(e) is Leaf}
    return held_by([*operations, *leaves.values()]).graph


def edge_of(tensor: Tensor) -> Node | None:
    """The node of a tensor, past whatever its class does with attributes."""
    try:
        edge: Node | None = _EDGE.__get__(tensor)
    except AttributeError:  # a tracer has none of its own
        return None
    return edge


_EDGE = Tensor.__dict__["_edge"]
