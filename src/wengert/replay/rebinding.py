"""In-place operations of compiled functions: a value that nobody else has is replaced by the next.

Where a graph has saved what would be overwritten, or a view shows it, the operation writes to
memory, as in eager mode.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from wengert.core.storage import write_count
from wengert.core.tensor import Tensor, tensors
from wengert.ops.op import Op
from wengert.replay.deferred import Deferred, set_class
from wengert.replay.rules import ListForm
from wengert.replay.run import Run
from wengert.replay.state import active, asking, computing_at_once, shows_exposed
from wengert.replay.trace import Entry, OpEntry, producers
from wengert.replay.walks import nobody


class Rebinding:
    """One in-place operation on a value of a run."""

    __slots__ = ("place", "run")

    def __init__(self, run: Run, place: int | None) -> None:
        self.run, self.place = run, place

    def compute(self, function: Any, target: Tensor, args: Any, options: Any) -> Any:
        """The operation, out of place."""
        return function(target, *args, **options)

    def rebound(self, target: Tensor, result: Tensor) -> bool:
        """Whether the target now stands for the deferred result; if not, it is written to."""
        run = self.run
        if type(target) is not Deferred or type(result) is not Deferred:
            return False
        before, after = target._pending, result._pending
        if type(after) is not tuple or after[0] is not run or after[3] is not None:
            return False
        if before[2][:3] != after[2][:3]:  # another shape, layout or dtype
            return False
        with run.lock:
            if run.settled:
                return False
            assert self.place is not None
            target._pending = after
            run.writes[after[1]] = run.writes.pop(self.place, 0) + 1
            run.outputs[after[1]] = weakref.ref(target)
            run.outputs[self.place] = nobody
        return True

    def written(self, target: Tensor, result: Tensor) -> None:
        """Note in the record that the target has got the elements of a result."""
        run = self.run
        reference, place = run.recorded.get(id(result), (nobody, 0))
        if not run.recording or run.settled or reference() is not result or result is target:
            return
        del run.recorded[id(result)]
        run.recorded[id(target)] = weakref.ref(target), place
        run.outputs[place] = weakref.ref(target)
        if self.place is not None:
            run.outputs[self.place] = nobody


class Adopting(Rebinding):
    """One in-place operation, with a value of a run, on a tensor that is its memory's only owner.

    As in ``torch.zeros(n).index_add_(0, index, x)``: the tensor has that memory no longer.
    """

    __slots__ = ()

    def __init__(self, run: Run) -> None:
        super().__init__(run, None)

    def compute(self, function: Any, target: Tensor, args: Any, options: Any) -> Any:
        """The operation, out of place."""
        if any(self.run.place_of(x) is not None for x in (*args, *options.values())):
            return function(target, *args, **options)
        return _at_once.compute(function, target, args, options)

    def rebound(self, target: Tensor, result: Tensor) -> bool:
        """Whether the target now stands for the deferred result; if not, it is written to."""
        run, after = self.run, result._pending if type(result) is Deferred else None
        if type(target) is not Tensor or type(after) is not tuple or after[0] is not run:
            return False
        array, outline = target._array, after[2]
        if (array.shape, array.strides, array.dtype) != outline[:3] or after[3] is not None:
            return False
        with run.lock:
            if run.settled:
                return False
            slot = run.slots.pop(id(target), None)
            if slot is not None:
                run.tensors[slot] = nobody  # the memory is the run's input, the tensor a value
            run.writes[after[1]] = write_count(array) + 1
            set_class(target, Deferred)
            target._pending = after  # type: ignore[attr-defined]
            run.outputs[after[1]] = weakref.ref(target)
        return True


class AtOnce:
    """An in-place operation on memory that is there: a deferred result would be read at once."""

    __slots__ = ()

    def compute(self, function: Any, target: Tensor, args: Any, options: Any) -> Any:
        """The operation, out of place."""
        with computing_at_once():
            return function(target, *args, **options)

    def rebound(self, target: Tensor, result: Tensor) -> bool:
        """No: the target is written to."""
        return False

    def written(self, target: Tensor, result: Tensor) -> None:
        """Nothing to note."""


_at_once = AtOnce()


def rebinding(target: Tensor) -> Rebinding | AtOnce | None:
    """How a compiled function does an in-place operation; None outside of one."""
    run = active.run
    if not asking or run is None or run.settled or active.busy:
        return None
    place = run.place_of(target)
    if place is None:
        if type(target) is Tensor and _is_alone(target):
            return Adopting(run)
        return _at_once if type(target) in tensors else None
    if place in run.updates or not _is_replaceable(run.entry, place):
        return None
    return Rebinding(run, place)


def _is_alone(target: Tensor) -> bool:
    """Whether a tensor is in no graph, and nobody else has its memory."""
    is_shown = getattr(target, "_root", None) is not None or hasattr(target, "_views")
    if target._edge is not None or is_shown:
        return False
    return type(target._array) is np.ndarray and not shows_exposed(target)


def _is_replaceable(entry: Entry, place: int) -> bool:
    """Whether no view shows a value, and no graph has saved it."""
    if entry.replaceable is None:
        entry.replaceable = {}
    found = entry.replaceable.get(place)
    if found is None:
        path = entry.path()
        maker = producers(path)[place]
        kept = isinstance(maker, OpEntry) and (
            not isinstance(maker.op, Op | ListForm)
            or maker.op.view
            or (maker.records and isinstance(maker.op, Op) and "out" in maker.op.keeps)
        )
        readers = [e for e in path if isinstance(e, OpEntry) and _reads(e, place)]
        found = entry.replaceable[place] = not kept and not any(_keeps(e, place) for e in readers)
    return found


def _reads(entry: OpEntry, place: int) -> bool:
    return any(r and r.kind == "value" and r.index == place for r in entry.refs.values())


def _keeps(entry: OpEntry, place: int) -> bool:
    """Whether an operation's results show an operand, or its node saves it."""
    op: Any = entry.op
    if op.view or not isinstance(op, Op | ListForm):
        return True
    if isinstance(op, ListForm) or not entry.records:
        return False
    names = [n for n, r in entry.refs.items() if r and r.kind == "value" and r.index == place]
    return any(n in op.keeps for n in names)
