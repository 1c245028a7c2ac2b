"""The tensors of a run's values and inputs, which rules read that are called as its operations.

Where a run follows its record, those that nobody has any more are made again, deferred. Where it
records, their elements are there: nodes have saved what rules read.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd.engine import Walk
from wengert.core.storage import write_after
from wengert.core.tensor import Tensor, new, wrap
from wengert.ops.indexed import EAGER
from wengert.ops.op import REGISTRY, Op
from wengert.replay.deferred import Deferred
from wengert.replay.rules import ListForm, SeveralForm
from wengert.replay.run import Run
from wengert.replay.state import shows_exposed
from wengert.replay.trace import Entry, Input, OpEntry, Ref, inputs_of, producers


class Way:
    """What a walk passes whose rules are called as operations.

    Attributes:
        passed: the values and inputs.
        makers: the entry of each place; `inputs` are those of the path.
        places: the values that it passes, the newest first.
        reads: what rules read: by an entry, its place, and a name.
    """

    def __init__(self, path: list[Entry], passed: frozenset[Ref]) -> None:
        self.passed = passed
        self.makers = producers(path)
        self.inputs: list[Input] = inputs_of(path)
        self.places = sorted([r.index for r in passed if r.kind == "value"], reverse=True)
        self.reads = list[tuple[OpEntry, int, str]]()
        self._shapes = [o.shape for entry in path for o in entry.outlines]

    def maker(self, place: int) -> OpEntry:
        """The operation of a place."""
        entry = self.makers[place]
        assert isinstance(entry, OpEntry)
        return entry

    def sent(self, entry: OpEntry) -> list[str]:
        """The operands that an operation sends gradients to."""
        return [n for n in entry.op.differentiable if entry.refs[n] in self.passed]

    def shape(self, ref: Ref) -> tuple[int, ...]:
        """The shape of a value or an input."""
        of_input = ref.kind == "input"
        return self.inputs[ref.index].shape if of_input else self._shapes[ref.index]


class Held:
    """What rules of a run's operations read: tensors, which are held.

    Attributes:
        nodes: the nodes of places, where the run records.
        tensors: those of the places and inputs.
    """

    def __init__(self, run: Run, way: Way) -> None:
        self.run, self.way = run, way
        self.nodes: dict[int, Any] = {}
        self.tensors: dict[Ref, Any] = {}

    def reach(self, roots: Sequence[Tensor]) -> bool:
        """Find the nodes that the walk passes; whether all are as the operations have left them."""
        passed = self.way.passed
        for root in roots:
            self.nodes[self.run.place_of(root) or 0] = root._edge
        for place in self.way.places:
            entry, node = self.way.maker(place), self.nodes.get(place)
            if not _is_node_of(entry, node):
                return False
            for name in entry.op.differentiable:
                ref, edge = entry.refs[name], _edge_of(entry, node, name)
                if ref is None or edge is None:
                    continue
                if ref.kind == "value" and self.nodes.setdefault(ref.index, edge) is not edge:
                    return False
                if ref.kind == "input" and ref in passed:
                    tensor = self.run.tensors[ref.index]()
                    if tensor is None or tensor._edge is not edge:
                        return False
        return True

    def may_walk(self, roots: Sequence[Tensor], targets: Sequence[Ref]) -> bool:
        """Whether the engine would walk from roots to some targets, and nobody would see it."""
        walk = Walk("grad()", True, True)
        walk.plan(tuple([edge for root in roots if (edge := root._edge) is not None]))
        walk.restrict({
            self.nodes[ref.index] if ref.kind == "value" else self.run.tensors[ref.index]()._edge
            for ref in targets
        })  # fmt: skip
        if any(node in walk.pending for node in walk.stateful_nodes):
            return False
        try:
            walk.check()
        except RuntimeError:  # it is to raise that
            return False
        return True

    def hold(self, entry: OpEntry, place: int, read: str) -> bool:
        """Make a tensor of what a rule reads by a name, if it is to be one."""
        source, key = entry.op.sources[read]
        ref = entry.refs[entry.op.inputs[key]] if source == "input" else None
        if source == "out":
            ref = Ref("value", place)
        if ref is None or ref in self.tensors or ref.kind not in ("value", "input"):
            return True
        if self.run.recording:
            found = self._saved(ref, self.nodes.get(place), read, source == "out")
        else:
            found = self._value(ref.index) if ref.kind == "value" else self._input(ref.index)
        if found is None:
            return False
        self.tensors[ref] = found
        return True

    def _value(self, place: int) -> Any:
        """The tensor of a value that is deferred."""
        run, entry = self.run, self.way.makers[place]
        found = run.outputs[place]()
        if found is None:
            source = None
            if isinstance(entry, OpEntry) and entry.shows:
                ref = entry.refs[entry.op.inputs[0]]
                if ref is None or ref.kind not in ("value", "input"):
                    return None
                if ref not in self.tensors:
                    of = self._value if ref.kind == "value" else self._input
                    self.tensors[ref] = of(ref.index)
                source = self.tensors[ref]
                if source is None:
                    return None
            found = new(Deferred)
            found._pending = run, place, entry.outlines[place - entry.first], source
            run.outputs[place] = weakref.ref(found)
            run.held += [place] if place < run.spare else []
        elif run.place_of(found) != place:
            return None  # it has been written to since
        return found

    def _input(self, slot: int) -> Any:
        """The tensor of an input, or the array that is one."""
        run = self.run
        found = run.tensors[slot]()
        if found is None and run.edges[slot] is None:
            found = wrap(run.originals[slot])
            run.tensors[slot] = weakref.ref(found)
            run.slots[id(found)] = slot
        elif type(found) is Deferred and found._pending[1] >= 0:
            return None  # it has been written to since
        return found

    def _saved(self, ref: Ref, node: Any, read: str, is_out: bool) -> Any:
        """The tensor of what a node has saved, which is a value or an input of the run."""
        run, array = self.run, getattr(node, f"s_{read}", None)
        is_value = ref.kind == "value"
        edge = node if is_out else getattr(node, f"e_{read}", None)
        known = (run.outputs if is_value else run.tensors)[ref.index]()
        if not is_value and not self.way.inputs[ref.index].is_tensor:
            return array
        if array is None and isinstance(known, Tensor) and self._is_as_read(known, node, is_value):
            array = known._array  # the node has saved something else of it
        if type(array) is not np.ndarray:
            return None
        if known is not None and known._array is array and known._edge is edge:
            return known if not is_value or run.place_of(known) == ref.index else None
        if known is not None and not is_value:
            return None
        found = wrap(array, edge)
        if is_value:
            run.recorded[id(found)] = weakref.ref(found), ref.index
        else:
            run.tensors[ref.index] = weakref.ref(found)
            run.slots[id(found)] = ref.index
        return found

    def _is_as_read(self, tensor: Tensor, node: Any, is_value: bool) -> bool:
        """Whether nobody can have written to a tensor since a node was made."""
        exposed = self.run.shown if is_value else shows_exposed(tensor)
        return not exposed and write_after(tensor._array, node.seq) is None


def _is_node_of(entry: OpEntry, node: Any) -> bool:
    """Whether a node is one that an operation makes."""
    op: Any = entry.op
    if isinstance(op, ListForm):
        return isinstance(node, op.op.kind)
    if isinstance(op, SeveralForm):
        return isinstance(node, op.op.whole.part)
    if not isinstance(op, Op):
        return False
    eager = REGISTRY[EAGER[op.name]] if op.name in EAGER else op
    return type(node) is eager.node


def _edge_of(entry: OpEntry, node: Any, name: str) -> Any:
    """Where an operation's node leads to for an operand."""
    op: Any = entry.op
    if isinstance(op, ListForm):
        return node.edges[op.inputs.index(name)] if node.edges else None
    if isinstance(op, SeveralForm):
        return node.edges[0].edges[0] if node.edges and node.edges[0].edges else None
    return getattr(node, f"e_{name}", None)
