"""Basic questions about nodes: released or not, which leaves, how many bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wengert.core.tensor import Leaf, Node, Tensor
from wengert.graph.memory import bytes_in, owners_of, owners_of_leaves


def is_released(node: Node) -> bool:
    """Whether a backward call has let go of what a node saved."""
    state = node.state
    return type(node) is not Leaf and state is not None and state.released is not None


def saved_bytes(operations: Sequence[Node]) -> int:
    """The bytes that operations keep, each storage once, those of their leaves apart."""
    return bytes_in(storages_of(operations).values())


def storages_of(operations: Sequence[Node]) -> dict[int, np.ndarray]:
    """The arrays that own what operations keep, by their ids, without those of their leaves."""
    own = owners_of_leaves(leaves_of(operations))
    return {key: base for key, base in owners_of(operations).items() if key not in own}


def leaves_of(operations: Iterable[Node]) -> list[Node]:
    """The leaves that operations were computed from."""
    return list({id(e): e for node in operations for e in node.edges if type(e) is Leaf}.values())


def raw_edge(tensor: Tensor) -> Node | None:
    """The node of a tensor, bypassing the attribute access of its class."""
    try:
        edge: Node | None = _EDGE.__get__(tensor)
    except AttributeError:  # a tracer has none of its own
        return None
    return edge


_EDGE = Tensor.__dict__["_edge"]
