"""Reverse mode inside another transform, where nodes save and walks carry tracers.

Outside other transforms a derivative records on Tensors themselves. Inside a `vmap` or a
forward mode it records on its own tracers instead: the nodes are the same, but they save
values of the levels further out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.autograd.custom.transforms import apply_in_reverse_mode
from wengert.autograd.history import rebase_history
from wengert.autograd.transforms.levels import Level
from wengert.core.tensor import Tensor, Tracer, leaf_of, mode, shape_of
from wengert.ops.publish import recorded
from wengert.ops.variadic import output_of, record


class Graded(Tracer):
    """A value with a place in the graph of a derivative inside another transform."""

    __slots__ = ()

    @property
    def _array(self) -> Any:
        return self.value._array

    @_array.setter
    def _array(self, value: Any) -> None:
        self._replace_memory(value)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return f"GradTracer(depth={self.level.depth}, value={self.value!r})"


class GradLevel(Level):
    """A derivative inside another transform."""

    what = "grad"
    kind = Graded

    def source(self, value: Tensor) -> Graded:
        """A tracer with respect to which the derivative is taken."""
        tracer: Graded = self.tracer(value)
        tracer._edge = leaf_of(tracer)
        return tracer

    def edge(self, value: Any) -> Any:
        """The node of a value in this level's graph."""
        return value._edge if self.owns(value) else None

    def _result(self, value: Any, node: Any) -> Any:
        tracer = self.tracer(value)
        tracer._edge = node
        return tracer

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """The user's `forward` on the values, with `backward` recorded."""
        self.check_running()
        return apply_in_reverse_mode(self, function, args)

    def apply(self, op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """Compute further out, and record here."""
        self.check_running()
        if op.reference is not None:
            return op.reference(*inputs, **params)
        values, edges = [], {}
        for i, x in zip(op.inputs, inputs, strict=True):
            if isinstance(x, Graded) and x.level is self:
                values.append(x.value)
                if op.rules[i] is not None and x._edge is not None:
                    edges[i] = x._edge
            else:
                values.append(x)
        out = op(values, params)
        if not edges or mode.site is None:
            return self._result(out, None) if op.view else out
        needed = {name for i in edges for name in op.wants[i]}
        saves = [op.read(n, values, params, out) if n in needed else None for n in op.keeps]
        input_edges = [edges.get(i) for i in op.differentiable]
        node = recorded(op, mode.where, input_edges, saves, shape_of(out))
        return self._result(out, node)

    def apply_list(self, op: Any, inputs: Sequence[Any], params: tuple[Any, ...]) -> Any:
        """Compute further out, and record here."""
        self.check_running()
        out = op.function([self.lower(x) for x in inputs], *params)
        edges = tuple(self.edge(x) for x in inputs)
        if mode.site is None or not any(edges):
            return out
        node = record(op.kind, edges, tuple(out.shape), mode.where)
        _, node.kept = op.forward([_outline(x) for x in inputs], *params)
        return self._result(out, node)

    def apply_several(self, op: Any, input: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """Compute further out, and record here."""
        self.check_running()
        outs = op.function(self.lower(input), *params)
        edge = self.edge(input)
        edges: list[Any] = [None] * len(outs)
        if mode.site is not None and edge is not None:
            node = record(op.whole, (edge,), tuple(input.shape), mode.where)
            _, node.kept = op.forward(_outline(input), *params)
            node.shapes = [tuple(out.shape) for out in outs]
            edges = [output_of(op.part, node, k, n) for k, n in enumerate(node.shapes)]
        return tuple([self._result(out, e) for out, e in zip(outs, edges, strict=True)])

    def take(self, target: Any, tangent: Any = None) -> tuple[Any, list[Any]]:
        """As in any level; without a history so far."""
        root, views = super().take(target)
        for tensor in (root, *views):
            tensor._edge = None
        return root, views

    def adopt(self, target: Any, result: Any) -> None:
        """As in any level, including the history."""
        super().adopt(target, result)
        target._edge = result._edge

    def cut(self, target: Any) -> None:
        """As in any level, and remove it from this level's graph."""
        super().cut(target)
        target._edge = None

    def write(self, target: Any, result: Any, put: Callable[[Any, Any], None]) -> None:
        """Write the value further out; every view of the memory gets its new history."""
        self.check_running()
        if not self.owns(target):
            if mode.site is None:
                put(target, self.lower(result))
                return
            self.take(target)
        put(target.value, self.lower(result))
        if mode.site is not None:
            rebase_history(target, self.edge(result))


def _outline(value: Any) -> np.ndarray:
    """Zeros in the shape of a value, with the memory of one element: only for shape inference."""
    return np.broadcast_to(np.zeros((), value._array.dtype), tuple(value.shape))
