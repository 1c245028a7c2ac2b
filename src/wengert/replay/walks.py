"""Walks of a run: backwards and gradients that are as on record are deferred like operations."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from wengert.autograd.counters import are_walks_wanted
from wengert.autograd.onward import Onward
from wengert.core.tensor import Leaf, Tensor, caller, getframe, mode, new, tick
from wengert.replay.checkpoints import Checkpoint, has_recomputed, recompute
from wengert.replay.counting import count_backward
from wengert.replay.deferred import Deferred, Outline, set_class
from wengert.replay.emitting import dense_strides
from wengert.replay.operands import Operands, UnseenError, among
from wengert.replay.rules import Step
from wengert.replay.state import computing_at_once, shows_exposed, unusual
from wengert.replay.trace import (
    BackwardEntry,
    Entry,
    Input,
    OpEntry,
    Reach,
    Ref,
    input_of,
    inputs_of,
    nobody,
    outline_of,
    producers,
    reached,
)


class Asked:
    """A walk that somebody asks for, in terms of the run.

    Attributes:
        roots: the places where it begins; `keys` are those of its cotangents.
        fresh: what the run has not met before: cotangents, then gradients to add to.
        reach: what is below the roots.
        targets: what it gives the gradients of.
        passed: what lies between; None if that is all below the roots.
    """

    def __init__(
        self, roots: tuple[int, ...], keys: tuple[Any, ...], fresh: list[Tensor], reach: Reach
    ) -> None:
        self.roots, self.keys, self.fresh, self.reach = roots, keys, fresh, reach
        self.targets: tuple[Ref, ...] = ()
        self.passed: frozenset[Ref] | None = None

    def inputs(self) -> tuple[Input, ...]:
        """The inputs of the run that it brings."""
        return tuple(map(input_of, self.fresh))

    def key(self) -> tuple[Any, ...]:
        """What it is compared by."""
        return self.roots, self.keys, self.targets, self.inputs()


class Walks(Operands):
    """What a run does of `backward` and `autograd.grad`.

    Attributes:
        onward: by the number of a step, how that backward goes on outside of the run.
        peeked: how many instructions were computed for checks alone.
        checkpoints: those that it has met, and `saver` of the one that it is in.
        again: those whose functions run again for a backward, with what these calls collect, and
            `running` the last of these.
        expected: which of them a backward is going to let run again, while it is recorded; None
            if it does otherwise.
    """

    entry: Entry
    settled: bool
    lock: Any
    steps: list[Step]
    outputs: list[Any]
    saver: Any

    def __init__(self) -> None:
        super().__init__()
        self.onward: dict[int, Onward] = {}
        self.peeked = 0
        self.checkpoints: list[Checkpoint] = []
        self.again: list[tuple[Checkpoint, Any]] = []
        self.saver = None
        self.running: Any = None
        self.expected: list[tuple[int, int | None]] | None = []

    def backward(  # noqa: C901 (each frame between it and its caller is counted)
        self, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Sequence[Tensor] | None,
        retain: bool, impl: Callable[[], Any],
    ) -> Any:  # fmt: skip
        """A backward from values of the run, with these cotangents, to all leaves or to some."""
        line = caller(getframe(2))
        if self.takes_walk(roots, seeds, inputs, retain, impl, line):
            return None
        if inputs is None and not retain and self._is_as_last(roots, seeds, line):
            with self.lock:
                if self.settled:
                    return impl()
                child: Any = self.entry.hot
                self.entry = child
                self._defer_gradients(child, (mode.site, line, tick()))
            return None
        asked = self._asked(roots, seeds)
        added = None
        if asked is not None and self._aims(asked, inputs) and recompute(self, asked):
            added = self._added(asked)
        if asked is None or added is None or not self._is_all_current():
            return impl()
        met = len(self.tensors)
        key = ("backward", *asked.key(), inputs is None, retain, added, *line)
        child = None if self.recording else self._next_walk(key)
        if child is None:
            self._leave_record()
            impl()
            if not has_recomputed(self):
                return None
            if met != len(self.tensors):  # those that functions have met that ran again
                added = _behind(added, met, len(self.tensors) - met)
                key = ("backward", *asked.key(), inputs is None, retain, added, *line)
            self._record_backward(self.walk(asked, line, not retain, added), key, asked.fresh)
            return None
        assert isinstance(child, BackwardEntry)
        onward = self._onward(child, retain)
        if child.onward and onward is None:
            return impl()
        with self.lock:
            if self.settled:
                return impl()
            self._bind(asked.fresh, [])
            self.entry = child
            self.again = []
            if onward is not None:
                self.onward[len(self.steps)] = onward
            cotangents = self._defer_gradients(child, (mode.site, line, tick()))
        if onward is not None:
            self.settle()
            with computing_at_once():
                onward.go([x._array for x in cotangents])
        return None

    def takes_walk(
        self, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Any, retain: bool,
        impl: Callable[[], Any], line: Any,
    ) -> bool:  # fmt: skip
        """Whether a backward was seen to in another way."""
        return False

    def _is_as_last(self, roots: Sequence[Tensor], seeds: Sequence[Any], line: Any) -> bool:
        """Whether a backward to all leaves is the one that came next when the run was here last."""
        child = self.entry.hot
        if type(child) is not BackwardEntry or not child.simple or self.recording or self.settled:
            return False
        seen = unusual() or are_walks_wanted() or mode.site is None
        if seen or (child.code, child.lasti) != line:
            return False
        if len(roots) != len(child.roots) or any([seed is not None for seed in seeds]):
            return False
        if any([self.place_of(root) != k for root, k in zip(roots, child.roots, strict=True)]):
            return False
        assert child.added is not None
        for ref, before in zip(child.targets, child.added, strict=True):
            if not self._is_quiet(ref.index):
                return False
            gradient = getattr(self.tensors[ref.index](), "_grad", None)
            if gradient is None or before is None:
                if gradient is not before:
                    return False
            elif self.place_of(gradient) != before:
                return False
        return self._is_all_current()

    def gradients(
        self, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Sequence[Tensor],
        retain: bool, impl: Callable[[], Any],
    ) -> Any:  # fmt: skip
        """The gradients of values of the run with respect to inputs and others of its values."""
        asked = self._asked(roots, seeds)
        if asked is None or not self._aims(asked, inputs) or not self._is_all_current():
            return impl()
        if not recompute(self, asked):
            return impl()
        line = caller(getframe(2))
        key = ("grad", *asked.key(), retain, *line)
        child = None if self.recording else self._next_walk(key)
        if child is None:
            self._leave_record()
            found = impl()
            if has_recomputed(self) and self.has_room() and all(type(g) is Tensor for g in found):
                entry = self.walk(asked, line, not retain, None)
                self._bind(asked.fresh, [])
                outlines = [outline_of(g._array, False) for g in found]
                self._record_walk(entry, key, outlines, found)
            return found
        with self.lock:
            if self.settled:
                return impl()
            self._bind(asked.fresh, [])
            self.entry, self.again = child, []
            self.steps.append((mode.site, line, tick()))
            count_backward(child)
            return tuple([self._deferred(outline, None) for outline in child.outlines])

    def _next_walk(self, key: Any) -> Any:
        """The entry of a walk that comes next; None if that is not on record."""
        hot = self.entry.hot
        if type(hot) is BackwardEntry and hot.key == key:  # to hash it takes longer
            return hot
        child = self.entry.children.get(key)
        if child is not None:
            self.entry.hot = child
        return child

    def _aims(self, asked: Asked, inputs: Sequence[Tensor] | None) -> bool:
        """Find what a walk is to give the gradients of; False if the record cannot hold it."""
        reach = asked.reach
        if inputs is None:
            asked.targets = reach.all
        else:
            asked.targets = self._targets(inputs)
            if len({*asked.targets}) < len(asked.targets) or not self._stays(asked):
                return False
            asked.passed = reach.way_to(asked.targets, self.entry.path)
            if not asked.passed:
                return False
        for ref in asked.targets:
            if reach.is_leaf(ref) and not self._is_quiet(ref.index):
                return False
        return bool(asked.targets)

    def _asked(self, roots: Sequence[Tensor], seeds: Sequence[Any]) -> Asked | None:
        """Where a walk begins, and what is below; None if the record cannot hold it."""
        places, keys, fresh = list[int](), list[Any](), list[Tensor]()
        if unusual() or are_walks_wanted() or mode.site is None:
            return None
        for root, seed in zip(roots, seeds, strict=True):
            place = self.place_of(root)
            if place is None:
                return None
            places.append(place)
            if seed is None:
                if root._outline.size != 1:
                    return None
                keys.append(None)
                continue
            if type(seed) not in (Tensor, Deferred) or not _is_alike(seed, root):
                return None
            try:
                keys.append(self._operand(seed, fresh))
            except UnseenError:
                return None
        if [self.place_of(root) for root in roots] != places:
            return None  # a cotangent of another run has let this one be computed
        reach = self.reach(tuple(places))
        return None if reach is None else Asked(tuple(places), tuple(keys), fresh, reach)

    def reach(self, roots: tuple[int, ...]) -> Reach | None:
        """What is below some places; None if they are in no graph of operations."""
        reaches = self.entry.reaches
        if reaches is None:
            reaches = self.entry.reaches = {}
        if roots not in reaches:
            path = self.entry.path()
            by_place = producers(path)
            known = all(
                isinstance(e := by_place[k], OpEntry) and e.outlines[k - e.first].requires_grad
                for k in roots
            )
            reaches[roots] = reached(path, roots) if known else None
        return reaches[roots]

    def walk(
        self, asked: Asked, line: Any, releases: bool, added: tuple[int | None, ...] | None
    ) -> BackwardEntry:
        """The entry of a walk that was computed."""
        known, seeds = len(self.tensors), list[Ref | None]()
        for key in asked.keys:
            if type(key) is Input:
                seeds.append(Ref("input", known))
                known += 1
            elif type(key) is int:
                seeds.append(Ref("value", key))
            else:
                seeds.append(None if key is None else Ref("input", key[1]))
        entry = BackwardEntry(
            self.entry, line, asked.roots, tuple(seeds), asked.targets, asked.reach, releases
        )
        entry.inputs, entry.passed, entry.added = asked.inputs(), asked.passed, added
        if added is not None:
            inner = [k for k, ref in enumerate(entry.targets) if not asked.reach.is_leaf(ref)]
            entry.onward = tuple(inner)
        return entry

    def _targets(self, inputs: Sequence[Tensor]) -> tuple[Ref, ...]:
        """What tensors are in terms of the run; none, if one of them is unknown."""
        targets = list[Ref]()
        for x in inputs:
            place = self.place_of(x)
            slot = self.slots.get(id(x)) if place is None else None
            if slot is not None and self._tensor(slot) is x:
                targets.append(Ref("input", slot))
            elif place is not None and x.requires_grad:
                targets.append(Ref("value", place))
            else:
                return ()
        return tuple(targets)

    def _stays(self, asked: Asked) -> bool:
        """Whether a walk to some targets finds them on record: not beyond inner nodes."""
        slots = {ref.index for ref in asked.targets if ref.kind == "input"}
        inner = asked.reach.inner
        return not inner or not slots or (len(inner) == 1 and slots == inner)

    def _onward(self, walk: BackwardEntry, retain: bool) -> Onward | None:
        """How a backward goes on at inner nodes of the graph; None if it does not, or may fail."""
        if not walk.onward:
            return None
        onward = Onward([self.edges[walk.targets[k].index] for k in walk.onward], retain)
        return onward if onward.is_free() else None

    def _is_quiet(self, slot: int) -> bool:
        """Whether nobody listens at a leaf, and it is the one that the run has met."""
        tensor = self.tensors[slot]()
        if tensor is None or (type(tensor) is Deferred and tensor._pending[1] >= 0):
            return False  # it is gone, or to be written to
        return is_quiet(tensor, tensor._edge if self.recording else self.edges[slot])

    def _tensor(self, slot: int) -> Any:
        """The tensor that is an input; None if it is gone."""
        return self.tensors[slot]()

    def _added(self, asked: Asked) -> tuple[int | None, ...] | None:
        """What `BackwardEntry.added` says of targets; gradients from outside are fresh inputs.

        None if there is one that somebody else may look at, or that is not in the leaf's form.
        """
        added, fresh = list[int | None](), asked.fresh
        is_leaf = asked.reach.is_leaf
        for ref in asked.targets:
            if not is_leaf(ref):
                if asked.passed is not None or self.record.exact:
                    return None  # gradients of both parts would be added one after the other
                added.append(None)
                continue
            leaf = self.tensors[ref.index]()
            gradient = getattr(leaf, "_grad", None)
            if gradient is None:
                added.append(None)
                continue
            if type(gradient) not in (Tensor, Deferred):
                return None
            place = self.place_of(gradient)
            if place is None:
                known = id(gradient) in self.slots or among(gradient, fresh)
                if known or not _takes_sums(gradient, leaf):
                    return None
                place = ~(len(self.tensors) + len(fresh))
                fresh.append(gradient)
            added.append(place)
        return tuple(added)

    def _record_backward(self, entry: BackwardEntry, key: Any, fresh: list[Tensor]) -> None:
        assert entry.added is not None
        tensors = [
            None if k in entry.onward else getattr(self._tensor(ref.index), "_grad", None)
            for k, ref in enumerate(entry.targets)
        ]
        found = [g for k, g in enumerate(tensors) if k not in entry.onward]
        if not self.has_room() or not all(type(g) is Tensor for g in found):
            return
        inputs = inputs_of(self.entry.path())
        self._bind(fresh, [])
        for k, before in enumerate(entry.added):
            if before is not None and (before < 0 or before in self.updates):
                self.updates[entry.first + k] = None
        outlines = [
            _dense_outline(inputs[ref.index]) if g is None else outline_of(g._array, False)
            for ref, g in zip(entry.targets, tensors, strict=True)
        ]
        entry.simple = (
            not (entry.onward or entry.inputs or any(entry.seeds))
            and entry.passed is None and entry.releases
        )  # fmt: skip
        self._record_walk(entry, key, outlines, tensors)
        if entry.onward:
            self.settled = True  # as it is when the record is followed

    def _record_walk(
        self, entry: BackwardEntry, key: Any, outlines: list[Outline], gradients: Sequence[Any]
    ) -> None:
        entry.outlines, entry.key = tuple(outlines), key
        self.grow(entry, key)
        for g in gradients:
            if g is None:
                self.outputs.append(nobody)
            else:
                self._keep(g)

    def _defer_gradients(self, entry: BackwardEntry, step: Step) -> list[Deferred]:
        """Give leaves their gradients; those of inner nodes are the result."""
        self.steps.append(step)
        count_backward(entry)
        assert entry.added is not None
        inner, onward, tensors = list[Deferred](), entry.onward, self.tensors
        targets = zip(entry.targets, entry.outlines, entry.added, strict=True)
        for k, ((_, slot), outline, before) in enumerate(targets):
            if onward and k in onward:
                inner.append(self._deferred(outline, None))
                continue
            if before is None:
                tensors[slot]()._grad = self._deferred(outline, None)
                continue
            place, gradient = len(self.outputs), tensors[slot]()._grad
            if before < 0:
                self.updates[place] = self.originals[~before]
                set_class(gradient, Deferred)
            else:
                self.outputs[before] = nobody
                if before in self.updates:
                    self.updates[place] = self.updates.pop(before)
            gradient._pending = (self, place, outline, None)
            self.outputs.append(weakref.ref(gradient))
        return inner

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

    def has_room(self) -> bool:
        raise NotImplementedError

    def grow(self, entry: Entry, key: Any) -> None:
        raise NotImplementedError

    def _keep(self, tensor: Tensor) -> None:
        raise NotImplementedError


def is_quiet(tensor: Any, met: Any) -> bool:
    """Whether nobody listens at a leaf, and its edge is the one that the run has met."""
    edge = tensor._edge
    if type(edge) is not Leaf or met is not edge:
        return False
    return edge.state is None and edge.open and edge.tensor() is tensor


def _behind(added: tuple[int | None, ...], met: int, more: int) -> tuple[int | None, ...]:
    """What is told of gradients from outside, which a run met behind so many more inputs."""
    return tuple([k if k is None or k > ~met else k - more for k in added])


def _is_alike(seed: Tensor, root: Tensor) -> bool:
    """Whether a cotangent is in the form of its root."""
    return seed._outline.shape == root._outline.shape and seed._outline.dtype == root._outline.dtype


def _dense_outline(one: Input) -> Outline:
    """That of a gradient of an input."""
    steps = tuple([s * one.dtype.itemsize for s in dense_strides(one.shape)])
    return Outline(one.shape, steps, one.dtype, False)


def _takes_sums(gradient: Tensor, leaf: Tensor) -> bool:
    """Whether nobody else sees what is added to a gradient, and its form is that of its leaf."""
    if type(gradient) is Deferred or gradient._edge is not None or shows_exposed(gradient):
        return False
    into, like = gradient._array, leaf._array
    same = into.shape == like.shape and into.dtype == like.dtype
    return same and bool(into.flags.c_contiguous and into.flags.writeable)
