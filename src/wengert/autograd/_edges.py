"""Places in a graph that have no tensor: where gradients are asked for, or start from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from wengert._core import Leaf, Node, Tensor, below
from wengert.autograd._functions.function import FunctionNode
from wengert.ops._variadic import Output, SeveralNode, output_of


class GradientEdge(NamedTuple):
    """A place in the graph: an output of a node. `backward` and `grad` take it for a tensor.

    >>> import wengert
    >>> from wengert.autograd.graph import get_gradient_edge
    >>> x = wengert.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> edge, loss = get_gradient_edge(y), y.sum()
    >>> del y
    >>> wengert.autograd.grad(loss, edge)
    (tensor([1., 1.]),)
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def edge_of_node(node: Node) -> GradientEdge:
    """The place that a tensor's node is."""
    whole, index = node.output()
    return GradientEdge(whole, index, None if whole is node else node)


def references_of(roots: Iterable[Tensor | GradientEdge]) -> Counter[int]:
    """How often the roots of a walk refer to a node themselves, by the node's id."""
    distinct = {id(root): root for root in roots}.values()
    held = [r if isinstance(r, GradientEdge) else (r._edge,) for r in distinct]
    return Counter(id(node) for nodes in held for node in nodes if isinstance(node, Node))


def node_at(edge: GradientEdge, roots: list[Node]) -> Node:
    """The node of an edge, as the walk knows it: an output of several has a node of its own.

    It is looked for below the roots; where it is not, it gets a new one.
    """
    node, index, token = edge
    if not isinstance(node, Node):
        raise TypeError(f"GradientEdge: expected a node, but got {type(node).__name__}")
    if isinstance(token, Output) and token.output() == (node, index):
        return token
    part, shapes = _outputs(node)
    if not 0 <= index < len(shapes):
        raise IndexError(
            f"GradientEdge: output_nr {index} is out of range for {node.name()}, which has"
            f" {len(shapes)} output(s)"
        )
    if part is None:
        return node
    return _find(node, index, roots) or output_of(part, node, index, shapes[index])


def _outputs(node: Node) -> tuple[type[Output] | None, list[tuple[int, ...]]]:
    """The class of the nodes of the outputs, if they have some of their own, and their shapes."""
    if isinstance(node, SeveralNode):
        return node.part, node.shapes
    if isinstance(node, FunctionNode) and len(node.shapes) > 1:
        return node.part, [() if one is None else one[0] for one in node.shapes]
    return None, [node.shape]


def _find(node: Node, index: int, roots: list[Node]) -> Node | None:
    """The node of one output, found from its consumers."""
    outputs = (n for n in below(roots) if isinstance(n, Output))
    return next((n for n in outputs if n.output() == (node, index)), None)


def dtype_below(node: Node) -> np.dtype[Any]:
    """The dtype of the leaves below a node, for a gradient that starts there."""
    leaves = [n.variable for n in below([node]) if isinstance(n, Leaf)]
    dtypes = [leaf._array.dtype for leaf in leaves if leaf is not None]
    return np.result_type(*dtypes) if dtypes else np.dtype(np.float32)
