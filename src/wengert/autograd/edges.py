"""Places in a graph without a tensor, where gradients are requested or start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.custom.node import FunctionNode
from wengert.autograd.grad_mode import enable_grad
from wengert.core.dtypes import inexact, of_numpy
from wengert.core.messages import more
from wengert.core.tensor import Leaf, Node, Tensor, memory_of, nodes_below
from wengert.ops.operands import cast
from wengert.ops.variadic import Output, SeveralNode, output_of


class GradientEdge(NamedTuple):
    """A place in the graph: an output of a node. `backward` and `grad` accept it as a tensor.

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
    """The place of a tensor's node."""
    operation, index = node.output()
    return GradientEdge(operation, index, None if operation is node else node)


def references_of(roots: Iterable[Tensor | GradientEdge]) -> Counter[int]:
    """How many references the roots of a walk themselves hold to a node, by the node's id."""
    distinct = {id(root): root for root in roots}.values()
    held = [r if isinstance(r, GradientEdge) else (r._edge,) for r in distinct]
    return Counter(id(node) for nodes in held for node in nodes if isinstance(node, Node))


def node_at(edge: GradientEdge, roots: list[Node]) -> Node:
    """The node of an edge as the walk sees it: each of several outputs has its own node.

    It is searched for below the roots and created if absent.
    """
    node, index, token = edge
    if not isinstance(node, Node):
        raise TypeError(f"GradientEdge: expected a node, but got {type(node).__name__}")
    if isinstance(token, Output) and token.output() == (node, index):
        return token
    output_class, shapes = kind_of_outputs(node)
    if not 0 <= index < len(shapes):
        raise IndexError(
            f"GradientEdge: output_nr {index} is out of range for {node.name()}, which has"
            f" {len(shapes)} output(s)"
        )
    if output_class is None:
        return node
    return _find(node, index, roots) or output_of(output_class, node, index, shapes[index])


def kind_of_outputs(node: Node) -> tuple[type[Output] | None, list[tuple[int, ...]]]:
    """The class of the outputs' own nodes, if they have any, and the outputs' shapes."""
    if isinstance(node, SeveralNode):
        return node.part, node.shapes
    if isinstance(node, FunctionNode) and len(node.shapes) > 1:
        return node.part, [() if one is None else one[0] for one in node.shapes]
    return None, [node.shape]


def _find(node: Node, index: int, roots: list[Node]) -> Node | None:
    """The node of one output, found from its consumers."""
    outputs = (n for n in nodes_below(roots) if isinstance(n, Output))
    return next((n for n in outputs if n.output() == (node, index)), None)


_OUTPUT = -1  # whose value is in a slot, in `Node.saved`
# Operations whose result is real where their input may be complex, and the other way round.
_REAL = frozenset({
    "_angle", "_eigvalsh", "_eigvalsh_with_vectors", "_imag", "_nonzero_norm", "_real", "_split",
    "_svdvals", "_svdvals_with_vectors", "_var", "abs", "half_to_real",
})  # fmt: skip
_COMPLEX = frozenset({"_complex", "_join", "_r2c", "real_to_half"})


def node_dtype(node: Node) -> np.dtype[Any]:
    """The dtype of a node's result. Nodes do not store it; saved values and edges determine it.

    A gradient that starts there without a tensor must have it: compiled rules read raw memory.
    """
    visited, todo = {node}, [(node, "")]
    while todo:
        current, kind = todo.pop()
        kind = kind or _kind_of(current)
        dtype = _dtype_from_node(current)
        if dtype is not None:
            return _as_kind(dtype, kind)
        below = [e for e in reversed(current.edges) if e is not None and e not in visited]
        visited.update(below)
        todo += [(e, kind) for e in below]
    return np.dtype(np.float32)


def _kind_of(node: Node) -> str:
    """The kind of a node's result, "f" or "c", if it may differ from that of its input."""
    name = getattr(getattr(node, "op", None), "name", "")
    return "f" if name in _REAL else "c" if name in _COMPLEX else ""


def _dtype_from_node(node: Node) -> np.dtype[Any] | None:
    """The dtype of a node's memory, as far as the node itself knows it."""
    if isinstance(node, Leaf):
        return None if node.variable is None else node.variable._array.dtype
    operation, index = node.output()
    if isinstance(operation, FunctionNode):
        described = operation.shapes[index]
        return None if described is None else described[1]
    to = getattr(node, "s_to", None)  # of a conversion
    if isinstance(to, np.dtype):
        return to
    for slot, owner in sorted(node.saved, key=lambda saved: saved[1] != _OUTPUT):
        slot_value = getattr(node, slot)
        for value in slot_value if type(slot_value) is list else (slot_value,):
            array = memory_of(value) if isinstance(value, Tensor) else value
            if owner is not None and getattr(array, "dtype", None) in inexact:
                return np.dtype(array.dtype)
    return None


def _as_kind(dtype: np.dtype[Any], kind: str) -> np.dtype[Any]:
    """The real or complex dtype of the same precision."""
    torch_dtype = of_numpy[dtype]
    return (
        torch_dtype.to_complex()
        if kind == "c"
        else torch_dtype.to_real()
        if kind == "f"
        else torch_dtype
    ).np


def in_dtype(i: int, g: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """A cotangent in the dtype of its root."""
    own_dtype = g._array.dtype
    if (own_dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same"
            f" dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {of_numpy[own_dtype]} and"
            f" output[{i}] has a dtype of {of_numpy[dtype]}.\n{more('gradient-shape')}"
        )
    with enable_grad():
        return cast(g, dtype)
