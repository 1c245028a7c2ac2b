"""``theano.gof.link``: what makes a function of a graph, by the names that programs pass to modes.

All of them run a graph in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.symbolic.containers import Container as Container
from wengert.symbolic.graph import Apply
from wengert.symbolic.programs.assembly import Program


class Linker:
    """Makes functions of graphs.

    >>> from wengert.symbolic import gof
    >>> from wengert.symbolic import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> f = gof.PerformLinker().accept(gof.FunctionGraph([x, y], [x * y + 1])).make_function()
    >>> f(2.0, 3.0)
    array(7.)
    """

    def __init__(self, allow_gc: bool | None = None, **options: Any) -> None:
        self.allow_gc, self.fgraph = allow_gc, None

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> Any:
        """A linker for a graph."""
        linker = type(self)(self.allow_gc)
        linker.fgraph = fgraph
        return linker

    def make_thunk(self, **options: Any) -> tuple[Callable[[], None], list[Any], list[Any]]:
        """A function without arguments, and the containers it reads and writes."""
        graph: Any = self.fgraph
        program = Program(graph.inputs, graph.outputs, self.watch)
        inputs = [Container(v) for v in graph.inputs]
        outputs = [Container(v) for v in graph.outputs]

        def run() -> None:
            results = program.of_any(*[c.storage[0] for c in inputs])
            for container, value in zip(outputs, results, strict=True):
                container.storage[0] = value

        return run, inputs, outputs

    def make_function(self, unpack_single: bool = True, **options: Any) -> Callable[..., Any]:
        """A function of the values of inputs: gives a list, or the value of the only output."""
        run, inputs, outputs = self.make_thunk()

        def call(*values: Any) -> Any:
            if len(values) != len(inputs):
                raise TypeError(
                    f"Function call takes exactly {len(inputs)} arguments ({len(values)} given)"
                )
            for container, value in zip(inputs, values, strict=True):
                container.data = value
            run()
            results = [c.data for c in outputs]
            return results[0] if unpack_single and len(results) == 1 else results

        return call

    watch: Callable[[Apply, Callable[..., Any], Any], Any] | None = None


class PerformLinker(Linker):
    """Runs `perform`."""


class CLinker(Linker):
    """Would compile C; runs the same."""


class OpWiseCLinker(Linker):
    """Would compile C for each operation; runs the same."""


class DualLinker(Linker):
    """Would run C and Python and compare; there is one way to run here."""


LocalLinker = Linker


class WrapLinker(Linker):
    """Has a function run the nodes: ``wrapper(position, node, thunk)``.

    Args:
        linkers: accepted.
        wrapper: called for each node, with a thunk that computes it and has the lists `inputs` and
            `outputs` of cells.
    """

    def __init__(self, linkers: Any, wrapper: Any = None) -> None:
        super().__init__()
        self.wrapper = wrapper
        self._numbers: dict[Apply, int] = {}  # in the order in which nodes first run
        self.watch = self._wrapped

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> Any:
        """A linker for a graph."""
        linker = type(self)([], self.wrapper)
        linker.fgraph = fgraph
        linker._numbers = {node: k for k, node in enumerate(fgraph.toposort())}
        return linker

    def _wrapped(self, node: Apply, compute: Callable[..., Any], inputs: Any) -> Any:
        thunk = NodeThunk(compute, inputs, node.nout)
        self.wrapper(self._numbers.setdefault(node, len(self._numbers)), node, thunk)
        values = [cell[0] for cell in thunk.outputs]
        return values[0] if node.nout == 1 else tuple(values)


class NodeThunk:
    """The computation of a node: calling it fills `outputs`."""

    def __init__(self, compute: Callable[..., Any], inputs: Any, count: int) -> None:
        self._compute = compute
        self.inputs = [[v] for v in inputs]
        self.outputs: list[list[Any]] = [[None] for _ in range(count)]

    def __call__(self) -> None:
        values = self._compute(*[cell[0] for cell in self.inputs])
        for cell, value in zip(
            self.outputs, values if len(self.outputs) > 1 else (values,), strict=True
        ):
            cell[0] = np.asarray(value) if isinstance(value, np.generic) else value


__all__ = [
    "CLinker",
    "Container",
    "DualLinker",
    "Linker",
    "LocalLinker",
    "NodeThunk",
    "OpWiseCLinker",
    "PerformLinker",
    "WrapLinker",
]
