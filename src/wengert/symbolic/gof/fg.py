"""``theano.gof.fg``: the nodes between some inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.symbolic.gof.graph import clone as _clone
from wengert.symbolic.graph import ancestors, replaced, toposort
from wengert.symbolic.programs.assembly import MissingInputError as MissingInputError


class FunctionGraph:
    """A graph with its inputs and outputs, such as ``f.maker.fgraph`` of a function.

    Attributes:
        inputs, outputs: variables, copies of those given unless `clone` is False.
        variables, apply_nodes: what lies between them.

    Raises `MissingInputError` if the outputs need anything else.

    >>> from wengert.symbolic import gof
    >>> from wengert.symbolic import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> [str(node.op) for node in gof.FunctionGraph([x, y], [x * y + 1]).toposort()]
    ['Elemwise{mul,no_inplace}', 'Elemwise{add,no_inplace}']
    """

    def __init__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], features: Any = None,
        clone: bool = True, update_mapping: Any = None,
    ) -> None:  # fmt: skip
        self.inputs, self.outputs = list(inputs), list(outputs)
        known = set(self.inputs)
        for v in ancestors(self.outputs, known):
            if v.owner is None and v not in known and not hasattr(v, "data"):
                raise MissingInputError(f"Undeclared input: {v} is not among {self.inputs}")
        if clone:
            self.inputs, self.outputs = _clone(self.inputs, self.outputs)

    @property
    def variables(self) -> set[Any]:
        """All variables."""
        return {*self.inputs, *ancestors(self.outputs, self.inputs)}

    @property
    def apply_nodes(self) -> set[Any]:
        """All nodes."""
        return set(self.toposort())

    def toposort(self) -> list[Any]:
        """The nodes, in an order in which they can run."""
        return toposort(self.outputs, self.inputs)

    def replace(self, r: Any, new_r: Any, reason: Any = None, verbose: Any = None) -> None:
        """Put a variable in the place of another."""
        self.outputs = replaced(self.outputs, {r: r.type.filter_variable(new_r)})

    def replace_all(self, pairs: Any, reason: Any = None) -> None:
        """Put variables in the places of others."""
        for r, new_r in pairs:
            self.replace(r, new_r)

    def clients(self, r: Any) -> list[tuple[Any, int]]:
        """The nodes that read a variable, and at which place; "output" for the graph's outputs."""
        readers: list[tuple[Any, int]] = [
            (node, k) for node in self.toposort() for k, x in enumerate(node.inputs) if x is r
        ]
        return readers + [("output", k) for k, v in enumerate(self.outputs) if v is r]

    def clone(self) -> FunctionGraph:
        """A copy."""
        return FunctionGraph(self.inputs, self.outputs)
