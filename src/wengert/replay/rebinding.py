"""In-place operations of compiled functions: a value that nobody else has is replaced by the next.

Where a graph has saved what would be overwritten, or a view shows it, the operation writes to
memory, as in eager mode.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from wengert.core.storage import write_count
from wengert.core.tensor import Tensor, mode, tensors
from wengert.ops.indexed import basic_written
from wengert.ops.op import Op
from wengert.ops.subscript import basic
from wengert.replay.deferred import Deferred, set_class
from wengert.replay.rules import ListForm
from wengert.replay.run import Run, current_run
from wengert.replay.state import active, asking, shows_exposed
from wengert.replay.storing import ELEMENTWISE, is_unseen, may_store, note_store, refuses, store
from wengert.replay.trace import CheckpointEntry, Entry, OpEntry, Ref, nobody, outline_of

# What part of a value a view shows, as a basic key.
_KEYS: dict[str, Any] = {
    "basic": lambda rank, key: key,
    "select": lambda rank, dim, index: ((slice(None),) * (dim % rank)) + (index, ...),
}


class Rebinding:
    """One in-place operation on a value of a run."""

    __slots__ = ("place", "run")

    at_once = False

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


class Storing(Rebinding):
    """One in-place operation on memory that stays the tensor's: see `replay.storing`."""

    __slots__ = ("by", "group")

    def __init__(self, run: Run, place: int | None, group: list[Any]) -> None:
        super().__init__(run, place)
        self.group, self.by = group, "copy_"

    def compute(self, function: Any, target: Tensor, args: Any, options: Any) -> Any:
        """The operation, out of place."""
        self.by = f"{function.__name__.strip('_')}_"
        return function(target, *args, **options)

    def rebound(self, target: Tensor, result: Tensor) -> bool:
        """Whether the target now stands for the deferred result; if not, it is written to."""
        run, after = self.run, result._pending if type(result) is Deferred else None
        if type(after) is not tuple or after[0] is not run or after[3] is not None:
            return False
        outline = after[2]
        before = target._outline if type(target) is Deferred else outline_of(target._array, False)
        if outline.requires_grad or before[:3] != outline[:3]:
            return False
        with run.lock:
            if run.settled:
                return False
            store(run, self.place, self.group, after, self.by)
        return True

    def written(self, target: Tensor, result: Tensor) -> None:
        """Note in the record that the target has got the elements of a result."""
        run = self.run
        reference, after = run.recorded.get(id(result), (nobody, 0))
        if run.recording and not run.settled and reference() is result and result is not target:
            del run.recorded[id(result)]
            note_store(run, self.place, self.group, after, self.by)


class Part(Rebinding):
    """One in-place operation on a view of a value: the value and the view get the next ones.

    Attributes:
        source: the tensor that the view shows, and `key` which part of it.
    """

    __slots__ = ("key", "source")

    def __init__(self, run: Run, place: int, source: Tensor, key: tuple[Any, ...]) -> None:
        super().__init__(run, place)
        self.source, self.key = source, key

    def rebound(self, target: Tensor, result: Tensor) -> bool:
        """Whether the two now stand for deferred results; if not, the target is written to."""
        run, source = self.run, self.source
        if type(target) is not Deferred or type(result) is not Deferred:
            return False
        shown, found = target._outline, result._outline
        if found.requires_grad or (shown.shape, shown.dtype) != (found.shape, found.dtype):
            return False
        whole = basic_written(source, result, self.key)
        part = basic(whole, self.key)
        pairs = (source, whole), (target, part)
        with run.lock:
            if run.settled or any(type(x) is not Deferred for pair in pairs for x in pair):
                return False
            if any(a._outline != b._outline for a, b in pairs):
                return False
            for (tensor, new), shows in zip(pairs, (None, source), strict=True):
                before = run.place_of(tensor)
                assert before is not None
                _, place, outline, _ = new._pending  # type: ignore[attr-defined]
                tensor._pending = run, place, outline, shows  # type: ignore[attr-defined]
                run.outputs[place], run.outputs[before] = weakref.ref(tensor), nobody
                if shows is None:
                    run.writes[place] = run.writes.pop(before, 0) + 1
        return True

    def written(self, target: Tensor, result: Tensor) -> None:
        """Note in the record that the two have got the elements of results."""
        run = self.run
        if not run.recording or run.settled or run.place_of(result) is None:
            return
        whole = basic_written(self.source, result, self.key)
        part = basic(whole, self.key)
        for tensor, new in ((self.source, whole), (target, part)):
            before, place = run.place_of(tensor), run.place_of(new)
            if before is None or place is None:
                return
            run.recorded[id(tensor)] = weakref.ref(tensor), place
            run.outputs[place], run.outputs[before] = weakref.ref(tensor), nobody
            del run.recorded[id(new)]


class AtOnce:
    """An in-place operation on memory that is there: a deferred result would be read at once."""

    __slots__ = ()

    at_once = True

    def call(self, method: Any, target: Tensor, args: Any, options: Any) -> Any:
        """The operation, as in eager mode."""
        before = active.set_busy(True)
        try:
            return method(target, *args, **options)
        finally:
            active.set_busy(before)


_at_once = AtOnce()
_NO_OPTIONS: dict[str, Any] = {}


def rebinding(
    target: Tensor, by: Any, args: Any = (), options: Any = _NO_OPTIONS
) -> Rebinding | AtOnce | None:  # fmt: skip
    """How a compiled function does an in-place operation, by a name; None outside of one."""
    if not asking or active.busy or (run := current_run()) is None:
        return None
    if run.saver is not None:
        return _at_once if type(target) in tensors else None
    place = run.place_of(target)
    if place is None:
        return _of_outside(run, target, by, _reads_value(run, args, options))
    if place in run.stores:
        free = by in ELEMENTWISE and is_unseen(run, Ref("value", place)) and not refuses(target)
        return Storing(run, place, run.stores[place].alive()) if free else None
    if place in run.updates or (mode.site is None and target.requires_grad):
        return None  # what the value is then has the graph of what it was
    shown = _shown_of(run.entry, place)
    if shown is None or any(run.outputs[k]() is not None for k in shown.views):
        return None
    if shown.source is None:
        return Rebinding(run, place)
    source = run.outputs[shown.source]()
    if source is None or run.place_of(source) != shown.source:
        return None
    return Part(run, place, source, shown.key)


def _of_outside(run: Run, target: Tensor, by: Any, reads: bool) -> Rebinding | AtOnce | None:
    """The same of a tensor that is no value of a run, with arguments some of which are."""
    if reads and type(target) is Tensor and _is_alone(target):
        return Adopting(run)
    if by in ELEMENTWISE and (group := may_store(run, target)) is not None:
        return Storing(run, None, group)
    return _at_once if type(target) in tensors else None


def _reads_value(run: Run, args: Any, options: Any) -> bool:
    """Whether a value of the run is among arguments."""
    return any([run.place_of(x) is not None for x in (*args, *options.values())])


class Shown(NamedTuple):
    """How a value may be replaced, if nobody has the views at some places.

    Attributes:
        source: the place of the value of which it is a view, if it is one, and `key` of what part.
    """

    views: tuple[int, ...]
    source: int | None = None
    key: tuple[Any, ...] = ()


def _is_alone(target: Tensor) -> bool:
    """Whether a tensor is in no graph, and nobody else has its memory."""
    is_shown = getattr(target, "_root", None) is not None or hasattr(target, "_views")
    if target._edge is not None or is_shown:
        return False
    return type(target._array) is np.ndarray and not shows_exposed(target)


def _shown_of(entry: Entry, place: int) -> Shown | None:
    """How a value may be replaced; None if a graph has saved it, or what it is a view of."""
    if entry.replaceable is None:
        entry.replaceable = {}
    if place not in entry.replaceable:
        part = _as_part(entry, place)
        entry.replaceable[place] = part or _as_whole(entry.since(place), place)
    return entry.replaceable[place]


def _as_whole(path: list[Entry], place: int) -> Shown | None:
    """The same of a value that is no view; the path begins with its maker."""
    maker = path[0]
    if isinstance(maker, OpEntry):
        is_new = isinstance(maker.op, Op | ListForm) and not maker.op.view
        if not is_new or _saves(maker):
            return None
    views = _shown(path, place)
    return None if views is None else Shown(views)


def _as_part(entry: Entry, place: int) -> Shown | None:
    """The same of a basic view, without a graph, of a value that may be replaced."""
    maker = entry.since(place)[0]
    if not isinstance(maker, OpEntry) or maker.op.name not in _KEYS or maker.records:
        return None
    ref = maker.refs["input"]
    if ref is None or ref.kind != "value":
        return None
    path = entry.since(ref.index)
    whole, source = _as_whole(path, ref.index), path[0]
    outline = source.outlines[ref.index - source.first]
    if whole is None or outline.requires_grad:
        return None
    key = _KEYS[maker.op.name](outline.ndim, **maker.params)
    return Shown(tuple([k for k in whole.views if k != place]), ref.index, key)


def _shown(path: list[Entry], place: int) -> tuple[int, ...] | None:
    """The places of views of a value, and of views of these; None if a graph has saved one.

    The path is what came since the value: readers come after what they read.
    """
    found, places = list[int](), {place}
    for e in path:
        if isinstance(e, CheckpointEntry) and any(place in places for _, place in e.given):
            return None
        if not isinstance(e, OpEntry) or not (names := _read(e, places)):
            continue
        if e.op.view:
            if _saves(e):
                return None
            views = range(e.first, e.first + len(e.outlines))
            found += views
            places.update(views)
        if _keeps(e, names):
            return None
    return tuple(found)


def _saves(maker: OpEntry) -> bool:
    """Whether an operation's node saves its result."""
    return maker.records and isinstance(maker.op, Op) and "out" in maker.op.keeps


def _read(entry: OpEntry, places: set[int]) -> list[str]:
    """The operands of an operation that are values at some places."""
    refs = entry.refs.items()
    return [n for n, r in refs if r and r.kind == "value" and r.index in places]


def _keeps(entry: OpEntry, names: list[str]) -> bool:
    """Whether an operation's node saves an operand of some names."""
    op: Any = entry.op
    return entry.records and isinstance(op, Op) and any(n in op.keeps for n in names)
