"""Nodes that refuse any walk: the graph below them was not recorded, or is gone."""

from __future__ import annotations

from collections.abc import Callable

from wengert.core.tensor import Node, NodeState, new


class Refused(Node):
    """Marks an unknown dependency: a walk that reaches it is refused."""

    __slots__ = ()

    public_name = "(not recorded)"


def refusal_node(node: Node, edges: tuple[Node | None, ...], why: Callable[[], Exception]) -> Node:
    """A node over `edges` at which a walk raises what `why` returns, made by the line of `node`."""
    stop = new(Refused)
    stop.seq, stop.edges, stop.shape = node.seq, edges, ()
    stop.code, stop.lasti, stop.site = node.code, node.lasti, node.site
    stop.state = NodeState()
    stop.state.refusal = why
    return stop
