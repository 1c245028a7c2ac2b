"""Walks of a run: backwards and gradients that are as on record are deferred like operations."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from wengert.autograd.engine import observers
from wengert.core.tensor import Leaf, Tensor, caller, getframe, mode, new, tick
from wengert.replay.deferred import Deferred, Outline, set_class
from wengert.replay.operands import Operands
from wengert.replay.rules import Step
from wengert.replay.state import shows_exposed, unusual
from wengert.replay.trace import (
    LEAF,
    BackwardEntry,
    Entry,
    OpEntry,
    input_of,
    inputs_of,
    outline_of,
    producers,
    reached,
)


class Walks(Operands):
    """What a run does of `backward` and `autograd.grad`."""

    entry: Entry
    settled: bool
    lock: Any
    steps: list[Step]
    outputs: list[Any]

    def backward(self, root: Tensor, retain: bool, impl: Callable[[], Any]) -> Any:
        """A backward from one of the run's values."""
        place = self.place_of(root)
        if place is None or unusual() or observers or mode.site is None:
            return impl()
        leaves = self._leaves(place)
        if not leaves or not all(map(self._is_quiet, leaves)):
            return impl()
        fresh: list[Tensor] = []
        added = self._added(leaves, fresh)
        if added is None or not self._is_all_current():
            return impl()
        line, inputs = caller(getframe(2)), tuple(map(input_of, fresh))
        key = ("backward", place, retain, leaves, added, inputs, *line)
        child = None if self.recording else self.entry.children.get(key)
        if child is None:
            self._leave_record()
            impl()
            entry = BackwardEntry(self.entry, line, place, leaves, added, not retain)
            entry.inputs = inputs
            self._record_backward(entry, key, fresh)
            return None
        assert isinstance(child, BackwardEntry)
        with self.lock:
            if self.settled:
                return impl()
            self._bind(fresh, [])
            self.entry = child
            self._defer_gradients(child, (mode.site, line, tick()))
        return None

    def gradients(
        self, root: Tensor, inputs: Sequence[Tensor], retain: bool, impl: Callable[[], Any]
    ) -> Any:
        """The gradients of one of the run's values with respect to leaves that it has met."""
        place = self.place_of(root)
        if place is None or unusual() or observers or mode.site is None:
            return impl()
        leaves, wanted = self._leaves(place), tuple([self.slots.get(id(x), -1) for x in inputs])
        usual = len(set(wanted)) == len(wanted) and leaves and {*leaves}.issuperset(wanted)
        # A walk to some of the leaves releases only what it passes.
        if not usual or not (retain or {*leaves} == {*wanted}):
            return impl()
        if not all(self._tensor(k) is x for k, x in zip(wanted, inputs, strict=True)):
            return impl()
        if not all(map(self._is_quiet, leaves)) or not self._is_all_current():
            return impl()
        line = caller(getframe(2))
        key = ("grad", place, retain, wanted, *line)
        child = None if self.recording else self.entry.children.get(key)
        if child is None:
            self._leave_record()
            found = impl()
            if self._has_room() and all(type(g) is Tensor for g in found):
                entry = BackwardEntry(self.entry, line, place, wanted, None, not retain)
                self._record_walk(entry, key, found)
            return found
        with self.lock:
            if self.settled:
                return impl()
            self.entry = child
            self.steps.append((mode.site, line, tick()))
            return tuple([self._deferred(outline, None) for outline in child.outlines])

    def _leaves(self, place: int) -> tuple[int, ...]:
        """The inputs that a backward from a place arrives at; none, if some are no leaves."""
        leaves = self.entry.arrivals.get(place)
        if leaves is None:
            path = self.entry.path()
            inputs, leaves = inputs_of(path), ()
            source = producers(path)[place]
            of_graph = source.outlines[place - source.first].requires_grad
            if isinstance(source, OpEntry) and of_graph:
                leaves = tuple(reached(path, place))
            if any(inputs[k].grad != LEAF for k in leaves):
                leaves = ()
            self.entry.arrivals[place] = leaves
        return leaves

    def _is_quiet(self, slot: int) -> bool:
        """Whether nobody listens at a leaf, and it is the one that the run has met."""
        tensor = self._tensor(slot)
        edge = None if tensor is None else tensor._edge
        if type(edge) is not Leaf or not (self.recording or self.edges[slot] is edge):
            return False
        return edge.state is None and edge.open and edge.tensor() is tensor

    def _tensor(self, slot: int) -> Any:
        """The tensor that is an input; None if it is gone."""
        return self.tensors[slot]()

    def _added(self, leaves: Sequence[int], fresh: list[Tensor]) -> tuple[int | None, ...] | None:
        """What `BackwardEntry.added` says of leaves; `fresh` are gradients from outside.

        None if there is one that somebody else may look at, or that is not in the leaf's form.
        """
        added: list[int | None] = []
        for slot in leaves:
            leaf = self._tensor(slot)
            gradient = getattr(leaf, "_grad", None)
            if gradient is None:
                added.append(None)
                continue
            if type(gradient) not in (Tensor, Deferred):
                return None
            place = self.place_of(gradient)
            if place is None:
                if id(gradient) in self.slots or not _takes_sums(gradient, leaf):
                    return None
                place = ~(len(self.tensors) + len(fresh))
                fresh.append(gradient)
            added.append(place)
        return tuple(added)

    def _record_backward(self, entry: BackwardEntry, key: Any, fresh: list[Tensor]) -> None:
        assert entry.added is not None
        gradients = [getattr(self._tensor(k), "_grad", None) for k in entry.leaves]
        if not self._has_room() or not all(type(g) is Tensor for g in gradients):
            return
        self._bind(fresh, [])
        for k, before in enumerate(entry.added):
            if before is not None and (before < 0 or before in self.updates):
                self.updates[entry.first + k] = None
        self._record_walk(entry, key, gradients)

    def _record_walk(self, entry: BackwardEntry, key: Any, gradients: Sequence[Any]) -> None:
        entry.outlines = tuple([outline_of(g._array, False) for g in gradients])
        self._grow(entry, key)
        for g in gradients:
            self._keep(g)

    def _defer_gradients(self, entry: BackwardEntry, step: Step) -> None:
        self.steps.append(step)
        assert entry.added is not None
        for slot, outline, before in zip(entry.leaves, entry.outlines, entry.added, strict=True):
            place = len(self.outputs)
            if before is None:
                gradient: Any = new(Deferred)
                self._tensor(slot)._grad = gradient
            else:
                gradient = self._tensor(slot)._grad
                if before < 0:
                    self.updates[place] = self.originals[~before]
                    set_class(gradient, Deferred)
                else:
                    self.outputs[before] = nobody
                    if before in self.updates:
                        self.updates[place] = self.updates.pop(before)
            gradient._pending = (self, place, outline, None)
            self.outputs.append(weakref.ref(gradient))

    def _deferred(self, outline: Outline, source: Any) -> Deferred:
        """The tensor of the next place."""
        result = new(Deferred)
        outputs = self.outputs
        result._pending = self, len(outputs), outline, source
        outputs.append(weakref.ref(result))
        return result

    def settle(self) -> None:
        """Compute what was deferred."""
        raise NotImplementedError

    def _leave_record(self) -> None:
        raise NotImplementedError

    def _has_room(self) -> bool:
        raise NotImplementedError

    def _grow(self, entry: Entry, key: Any) -> None:
        raise NotImplementedError

    def _keep(self, tensor: Tensor) -> None:
        raise NotImplementedError


def nobody() -> None:
    """The reference of a place whose tensor stands for a later one."""
    return


def _takes_sums(gradient: Tensor, leaf: Tensor) -> bool:
    """Whether nobody else sees what is added to a gradient, and its form is that of its leaf."""
    if type(gradient) is Deferred or gradient._edge is not None or shows_exposed(gradient):
        return False
    into, like = gradient._array, leaf._array
    same = into.shape == like.shape and into.dtype == like.dtype
    return same and bool(into.flags.c_contiguous and into.flags.writeable)
