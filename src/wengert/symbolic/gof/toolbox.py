"""``theano.gof.toolbox``: what can be attached to a graph to follow its changes."""

from __future__ import annotations

from functools import partial
from typing import Any

from wengert.symbolic.gof.fg import AlreadyThere as AlreadyThere
from wengert.symbolic.gof.fg import FunctionGraph
from wengert.symbolic.modes import BadOptimization as BadOptimization


class Feature:
    """What is told of the changes of a graph that it is attached to."""

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """It is attached; raises `AlreadyThere` where one of its kind is."""

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """It is removed."""

    def on_import(self, fgraph: FunctionGraph, node: Any, reason: Any) -> None:
        """A node is there."""

    def on_prune(self, fgraph: FunctionGraph, node: Any, reason: Any) -> None:
        """A node is no longer needed."""

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, r: Any, new_r: Any, reason: Any = None
    ) -> None:
        """A node (or "output") reads another variable at a place."""


class ReplaceValidate(Feature):
    """Gives a graph ``replace_validate(r, new)`` and ``replace_all_validate(pairs)``.

    >>> from wengert.symbolic import gof
    >>> from wengert.symbolic import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> graph = gof.FunctionGraph([x, y], [x * y / y], clone=False)
    >>> graph.attach_feature(gof.toolbox.ReplaceValidate())
    >>> graph.replace_validate(graph.outputs[0], x)
    >>> graph
    [x]
    """

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Add the methods."""
        if hasattr(fgraph, "replace_validate"):
            raise AlreadyThere("ReplaceValidate feature is already present")
        methods: Any = fgraph
        methods.replace_validate = fgraph.replace
        methods.replace_all_validate = fgraph.replace_all

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Remove the methods."""
        methods: Any = fgraph
        del methods.replace_validate, methods.replace_all_validate


class NodeFinder(Feature):
    """Gives a graph ``get_nodes(op)``, the nodes of an operation."""

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Add the method."""
        if hasattr(fgraph, "get_nodes"):
            raise AlreadyThere("NodeFinder is already present")
        methods: Any = fgraph
        methods.get_nodes = partial(self.query, fgraph)

    def query(self, fgraph: FunctionGraph, op: Any) -> list[Any]:
        """The nodes, in an order in which they can run."""
        return [node for node in fgraph.toposort() if node.op == op]
