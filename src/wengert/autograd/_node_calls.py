"""Calling a node: applying its derivative to gradients, outside any walk."""

from __future__ import annotations

from typing import Any

from wengert.autograd._backward import backward
from wengert.autograd.edges import GradientEdge, in_dtype, kind_of_outputs, node_at, node_dtype
from wengert.autograd.engine import Walk, lift_to_tensor
from wengert.autograd.hooks import as_hook_argument
from wengert.core.tensor import Leaf, Node, Tensor, concrete, identity_lift, mode
from wengert.ops.broadcasting import expand
from wengert.ops.variadic import Partial


def _derivative(self: Node, *grad_outputs: Tensor | None) -> Any:
    """The result of calling a node."""
    node = self.output()[0]
    _, shapes = kind_of_outputs(node)
    if len(grad_outputs) != len(shapes):
        raise TypeError(
            f"expected {len(shapes)} arguments, got {len(grad_outputs)} instead: {node.name()}"
            " takes a gradient for each of its outputs"
        )
    for i, g in enumerate(grad_outputs):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"argument {i} is not a Variable: it is {type(g).__name__}")
    cotangents = {
        i: _fitted(node, i, g, shape)
        for i, (g, shape) in enumerate(zip(grad_outputs, shapes, strict=True))
        if g is not None
    }
    recorded = mode.site is not None
    if isinstance(node, Leaf):
        for g in cotangents.values():
            backward(GradientEdge(node, 0), g, create_graph=recorded)
        return ()
    grads = _pulled(node, cotangents, recorded) if cotangents else (None,) * len(node.edges)
    return grads[0] if len(grads) == 1 else grads


def _fitted(node: Node, index: int, g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient in the shape and dtype of an output."""
    dtype = node_dtype(node_at(GradientEdge(node, index), []))
    g = g if g._array.dtype == dtype else in_dtype(index, g, dtype)
    return g if g._array.shape == shape else expand(g, shape)


def _pulled(node: Node, cotangents: dict[int, Tensor], recorded: bool) -> tuple[Any, ...]:
    walk = Walk("grad_fn()", True, recorded)
    walk.roots, walk.order = (node,), [node]
    walk.pending = dict.fromkeys([node])
    walk.stateful_nodes = [] if node.state is None else [node]
    walk.check()
    values = {
        i: g._array if type(g) in concrete and not recorded else g for i, g in cotangents.items()
    }
    g: Any = values.get(0)
    if kind_of_outputs(node)[0] is not None:
        g = Partial(0, None)
        g.parts = values
    input_nodes = {e for e in node.edges if e is not None}
    grads = node.pullback_to(g, input_nodes, lift_to_tensor if recorded else identity_lift)
    return tuple([as_hook_argument(ge) for ge in grads])


Node._derivative = _derivative
