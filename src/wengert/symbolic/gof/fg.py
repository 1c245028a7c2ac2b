"""``theano.gof.fg``: the nodes between some inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.symbolic.gof.graph import as_string
from wengert.symbolic.gof.graph import clone as _clone
from wengert.symbolic.graph import ancestors, toposort
from wengert.symbolic.programs.assembly import MissingInputError as MissingInputError


class AlreadyThere(Exception):  # noqa: N818
    """A graph has such a feature already."""


class InconsistencyError(Exception):
    """A graph cannot be what a feature of it is asked to accept."""


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
        self._features: list[Any] = []
        self._note_clients()
        for feature in features or ():
            self.attach_feature(feature)

    def _note_clients(self) -> None:
        """Give each variable its `clients`."""
        for v in self.variables:
            v.clients = []
        for node in self.toposort():
            for k, x in enumerate(node.inputs):
                x.clients.append((node, k))
        for k, v in enumerate(self.outputs):
            v.clients.append(("output", k))

    def attach_feature(self, feature: Any) -> None:
        """Have a feature follow changes, and add what it adds to the graph."""
        try:
            getattr(feature, "on_attach", lambda graph: None)(self)
        except AlreadyThere:
            return
        self._features.append(feature)
        for node in self.toposort():
            self._tell("on_import", node, "attached")

    def remove_feature(self, feature: Any) -> None:
        """Undo `attach_feature`."""
        if feature in self._features:
            self._features.remove(feature)
            getattr(feature, "on_detach", lambda graph: None)(self)

    def _tell(self, event: str, *what: Any) -> None:
        for feature in self._features:
            getattr(feature, event, lambda *_: None)(self, *what)

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
        """Put a variable in the place of another, in the nodes that read it."""
        new = r.type.filter_variable(new_r)
        before = self.apply_nodes
        for node, k in self.clients(r):
            if node == "output":
                self.outputs[k] = new
            else:
                node.inputs[k] = new
            self._tell("on_change_input", node, k, r, new, reason)
        self._note_clients()
        after = self.apply_nodes
        for node in before - after:
            self._tell("on_prune", node, reason)
        for node in after - before:
            self._tell("on_import", node, reason)

    def replace_all(self, pairs: Any, reason: Any = None) -> None:
        """Put variables in the places of others."""
        for r, new_r in pairs:
            self.replace(r, new_r, reason)

    def clients(self, r: Any) -> list[tuple[Any, int]]:
        """The nodes that read a variable, and at which place; "output" for the graph's outputs."""
        return list(getattr(r, "clients", ()))

    def __str__(self) -> str:
        return f"[{', '.join(as_string(self.inputs, self.outputs))}]"

    __repr__ = __str__

    def clone(self) -> FunctionGraph:
        """A copy."""
        return FunctionGraph(self.inputs, self.outputs)
