"""Gradients with a graph: ``create_graph=True``.

The rules are called as operations of the run, so that what they give can be differentiated with
the rest. That is done where the operations before are deferred; else the engine does it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, new, wrap
from wengert.ops import operands
from wengert.ops.numbers import number_as_array
from wengert.ops.op import Op
from wengert.replay.deferred import Deferred
from wengert.replay.run import Run
from wengert.replay.trace import BackwardEntry, Entry, OpEntry, Ref, producers


def gradients_with_graph(
    run: Run, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Sequence[Tensor]
) -> tuple[Any, ...] | None:
    """The gradients of values of a run, which have a place in its graph; None if not here."""
    if run.recording or run.settled or not run.steps or run.record.exact:
        return None
    asked = run._asked(roots, seeds)
    if asked is None or not run._aims(asked, inputs) or not run._is_all_current():
        return None
    passed, path = asked.passed or frozenset(), run.entry.path()
    walk = _Walk(run, path, passed)
    if not walk.is_plain() or not walk.hold():
        return None
    cotangents: dict[Ref, Any] = {}
    for root, seed in zip(roots, seeds, strict=True):
        outline = root._outline
        if seed is None:
            seed = wrap(np.ones(outline.shape, outline.dtype))
        walk.add(cotangents, Ref("value", run.place_of(root)), seed)
    return tuple(walk.gradients(cotangents, asked.targets))


class _Walk:
    """A walk over the operations of a run.

    Attributes:
        passed: what it passes.
        tensors: those of the places and inputs that rules read, which it holds.
    """

    def __init__(self, run: Run, path: list[Entry], passed: frozenset[Ref]) -> None:
        self.run, self.path, self.passed = run, path, passed
        self.makers = producers(path)
        self.tensors: dict[Ref, Any] = {}

    def places(self) -> list[int]:
        """The values that it passes, the newest first."""
        return sorted([r.index for r in self.passed if r.kind == "value"], reverse=True)

    def is_plain(self) -> bool:
        """Whether rules are functions of operands and results, and their nodes are all there."""
        entries = [self.makers[place] for place in self.places()]
        if not all(
            isinstance(e, OpEntry) and isinstance(e.op, Op) and not (e.op.shared or e.op.aux)
            for e in entries
        ):
            return False
        released = [e for e in self.path if isinstance(e, BackwardEntry) and e.releases]
        return not any(e.sends(ref) and ref.index in e.reach.places
                       for e in released for ref in self.passed if ref.kind == "value")  # fmt: skip

    def hold(self) -> bool:
        """Make tensors of all that rules read: the first new operation computes what has some."""
        for place in self.places():
            entry = self.makers[place]
            assert isinstance(entry, OpEntry)
            for name in self._sent(entry):
                for read in entry.op.takes[name]:
                    source, key = entry.op.sources[read]
                    ref = entry.refs[entry.op.inputs[key]] if source == "input" else None
                    if source == "out":
                        ref = Ref("value", place)
                    if ref is not None and not self._held(ref):
                        return False
        return True

    def _sent(self, entry: OpEntry) -> list[str]:
        """The operands that an operation sends gradients to."""
        return [n for n in entry.op.differentiable if entry.refs[n] in self.passed]

    def _held(self, ref: Ref) -> bool:
        if ref not in self.tensors and ref.kind in ("value", "input"):
            found = self._value(ref.index) if ref.kind == "value" else self._input(ref.index)
            if found is None:
                return False
            self.tensors[ref] = found
        return True

    def _value(self, place: int) -> Any:
        run, entry = self.run, self.makers[place]
        found = run.outputs[place]()
        if found is None:
            source = None
            if isinstance(entry, OpEntry) and entry.shows:
                ref = entry.refs[entry.op.inputs[0]]
                if ref is None or not self._held(ref):
                    return None
                source = self.tensors[ref]
            found = new(Deferred)
            found._pending = run, place, entry.outlines[place - entry.first], source
            run.outputs[place] = weakref.ref(found)
            run.held += [place] if place < run.spare else []
        elif run.place_of(found) != place:
            return None  # it has been written to since
        return found

    def _input(self, slot: int) -> Any:
        run = self.run
        found = run.tensors[slot]()
        if found is None and run.edges[slot] is None:
            found = wrap(run.originals[slot])
            run.tensors[slot] = weakref.ref(found)
            run.slots[id(found)] = slot
        return found

    def add(self, cotangents: dict[Ref, Any], ref: Ref, gradient: Any) -> None:
        """Add a gradient to those of a value or an input."""
        earlier = cotangents.get(ref)
        cotangents[ref] = gradient if earlier is None else earlier + gradient

    def gradients(self, cotangents: dict[Ref, Any], targets: Sequence[Ref]) -> list[Any]:
        """The gradients of targets, from cotangents of the roots."""
        for place in self.places():
            where = Ref("value", place)
            g = cotangents.get(where)
            if g is None:
                continue
            entry = self.makers[place]
            assert isinstance(entry, OpEntry)
            for name in self._sent(entry):
                ref, rule = entry.refs[name], entry.op.rules[name]
                assert ref is not None
                assert rule is not None
                gradient = rule(g, *[self._read(entry, place, n) for n in entry.op.takes[name]])
                shape = self._shape(ref)
                if gradient._outline.shape != shape:
                    gradient = operands.sum_to(gradient, shape)
                self.add(cotangents, ref, gradient)
        return [cotangents[ref] for ref in targets]

    def _shape(self, ref: Ref) -> tuple[int, ...]:
        if ref.kind == "input":
            shape: tuple[int, ...] = self.run.tensors[ref.index]()._outline.shape
            return shape
        entry = self.makers[ref.index]
        return entry.outlines[ref.index - entry.first].shape

    def _read(self, entry: OpEntry, place: int, name: str) -> Any:
        """What a rule reads by a name."""
        source, key = entry.op.sources[name]
        if source == "out":
            return self.tensors[Ref("value", place)]
        if source == "param":
            return entry.params[key]
        ref = entry.refs[entry.op.inputs[key]]
        if ref is None:
            return None
        if source == "shape":
            return self._shape(ref) if ref.kind in ("value", "input") else ()
        if ref.kind in ("value", "input"):
            return self.tensors[ref]
        number = ref.index if ref.kind == "constant" else self.run.numbers[ref.index]
        return number_as_array(number, entry.outlines[0].dtype)
