"""Derivatives of functions of tensors, nested in any order: the basis of `wengert.func`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from wengert.autograd.edges import in_dtype
from wengert.autograd.engine import Walk
from wengert.autograd.grad_mode import inference_mode
from wengert.autograd.transforms.graded import GradLevel
from wengert.autograd.transforms.levels import transform_stack
from wengert.core.tensor import Leaf, Tensor, Tracer, leaf_of, mode, wrap
from wengert.ops.shape import view_as
from wengert.ops.zeros import zeros_matching


class FunctionGraph:
    """The graph of one call of a function, with respect to its inputs.

    Where no other transform runs it is recorded on Tensors, as ever; inside of one on the
    tracers of a level of its own.
    """

    def __init__(self) -> None:
        self.level: GradLevel | None = GradLevel() if transform_stack.levels else None
        self.outer = mode.site is not None
        self.inputs: list[Any] = []

    def run(self, function: Callable[..., Any], primals: Sequence[Any]) -> Any:
        """Call a function of tensors and record its operations."""
        with self.level or nullcontext(), inference_mode(False):
            self.inputs = [self._input(x) for x in primals]
            transform_stack.recordings += 1
            try:
                return function(*self.inputs)
            finally:
                transform_stack.recordings -= 1
                for x in self.inputs:
                    if type(x._edge) is Leaf:
                        x._edge.open = False

    def _input(self, x: Any) -> Any:
        if self.level is not None:
            return self.level.source(x)
        if x._edge is not None and self.outer:
            return view_as(x, x)
        fresh = x.detach() if isinstance(x, Tracer) else wrap(x._array)
        fresh._edge = leaf_of(fresh)
        return fresh

    def value(self, output: Any) -> Any:
        """An output as seen from outside."""
        if self.level is not None:
            return self.level.lower(output)
        if self.outer and output._edge is not None and self._reaches_out([output._edge]):
            return output
        return output.detach() if isinstance(output, Tracer) else wrap(output._array)

    def _reaches_out(self, edges: Sequence[Any]) -> bool:
        """Whether these nodes lead to anything differentiable besides the inputs."""
        own = {x._edge for x in self.inputs}
        visited = set(edges)
        todo = [e for e in visited if e not in own]
        while todo:
            node = todo.pop()
            if type(node) is Leaf and node.open:
                return True
            for e in node.edges:
                if e is not None and e not in visited:
                    visited.add(e)
                    if e not in own:
                        todo.append(e)
        # The inputs themselves, if they belong to an outer graph.
        return any(type(e) is not Leaf for e in own & visited)

    def pull(self, outputs: Sequence[Any], cotangents: Sequence[Any], retain: bool) -> list[Any]:
        """The gradients of the inputs, zeros where the outputs do not depend on them."""
        pairs = [
            (edge, g if g._array.dtype == y._array.dtype else in_dtype(i, g, y._array.dtype))
            for i, (y, g) in enumerate(zip(outputs, map(_beside, cotangents, outputs), strict=True))
            if (edge := self._edge(y))
        ]
        gradients: dict[Any, Any] = {}
        if pairs:
            gradients = self._walk(pairs, retain)
        return [
            zeros_matching(x) if (g := gradients.get(self._edge(x))) is None else g
            for x in self.inputs
        ]

    def _edge(self, value: Any) -> Any:
        return value._edge if self.level is None else self.level.edge(value)

    def _walk(self, pairs: list[tuple[Any, Any]], retain: bool) -> dict[Any, Any]:
        edges = [e for e, _ in pairs]
        deeper = self.level is None and mode.site is not None and (
            any(g._edge is not None for _, g in pairs) or self._reaches_out(edges)
        )  # fmt: skip
        walk = Walk("grad()", retain or deeper, deeper)
        walk.lifts = any(_is_memoryless(g) for _, g in pairs)
        tensors = self.level is not None or deeper or any(isinstance(g, Tracer) for _, g in pairs)
        seeds = [g if tensors else g._array for _, g in pairs]
        walk.go(tuple(edges), seeds, {self._edge(x) for x in self.inputs})
        return {e: g if isinstance(g, Tensor) else wrap(g) for e, g in walk.final.items()}


def _is_memoryless(value: Any) -> bool:
    return isinstance(value, Tracer) and bool(value.level.memoryless)


def _beside(g: Any, output: Any) -> Any:
    """A cotangent without elements for an output without elements."""
    if _is_memoryless(output) and not isinstance(g, Tracer):
        return output.level.tracer(g)
    return g


def apply_transpose(function: Callable[[Any], Any], like: Any, value: Any) -> Any:
    """The transpose of a linear function of one tensor (shaped as `like`), applied to a value."""
    graph = FunctionGraph()
    output = graph.run(function, [zeros_matching(like)])
    return graph.pull([output], [value], retain=False)[0]
