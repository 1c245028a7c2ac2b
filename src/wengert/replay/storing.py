"""In-place operations on memory that is there: parameters, averages of them, momenta.

The program of the run computes what the memory is to hold, and writes it there once everything has
been computed that reads what it held before. Until then its tensors are a deferred value: a
parameter, and what its `data` has given.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.exposure import is_exposed
from wengert.core.storage import add_writes, clock, stamp_at
from wengert.core.tensor import Leaf, Tensor, cut_at, inferences, mode, new, tensors, tick, wrap
from wengert.ops.op import Op
from wengert.replay.deferred import Deferred, Outline, Pending, restored, set_class
from wengert.replay.state import active, asking
from wengert.replay.trace import BackwardEntry, Entry, OpEntry, Ref, nobody

if TYPE_CHECKING:
    from wengert.replay.run import Run

# Operations that write to all elements, of which each depends on those in its place.
ELEMENTWISE = frozenset({
    "add", "_add", "sub", "_sub", "mul", "div", "lerp", "addcmul", "addcdiv", "clamp", "clamp_min",
    "clamp_max", "copy",
})  # fmt: skip
# Bytes that are written to as fast as it takes to defer that.
_SMALL = 1 << 16
# What the writes of a run may hold until it is computed.
_MOST_BYTES = 1 << 26


class Store:
    """What is to be written to memory.

    Attributes:
        tensors: those with that memory, weakly, and their classes.
        count: how many operations have written, the last of them `by` a name, on a `line`, at a
            `time`.
    """

    __slots__ = ("by", "count", "line", "tensors", "time")

    def __init__(
        self, tensors: list[tuple[Any, type]], count: int, by: str, line: tuple[CodeType, int]
    ) -> None:
        self.tensors, self.count, self.by, self.line = tensors, count, by, line
        # Whoever looks whether memory is written to sees it now.
        self.time = clock.newest = tick()

    def told(self) -> tuple[Any, ...]:
        """What a call that does the same has to do."""
        return self.by, self.line, self.count

    def alive(self) -> list[Any]:
        """The tensors that are alive."""
        return [x for of, _ in self.tensors if (x := of()) is not None]

    def first(self) -> Any:
        """The first of them; None if there is none."""
        return next((x for of, _ in self.tensors if (x := of()) is not None), None)

    def kind_of(self, tensor: Any) -> type:
        """The class of one of them."""
        return next(kind for of, kind in self.tensors if of() is tensor)

    def then(self, by: str, line: tuple[CodeType, int]) -> Store:
        """The next write to the same memory."""
        return Store(self.tensors, self.count + 1, by, line)


def may_store(run: Run, target: Tensor) -> list[Any] | None:
    """The tensors with a tensor's memory, if a write to that can wait for the program; else None.

    Nobody else sees it, and no graph that may still be walked has saved it.
    """
    known = type(target) in tensors and type(target) is not Deferred
    if not known or not active.inside or run.record.exact or inferences:
        return None
    array = target._array
    if type(array) is not np.ndarray or not array.flags.writeable or refuses(target):
        return None
    begins = run.entry is run.start and run.start is not run.record.root
    if begins and array.nbytes <= _SMALL:
        return None  # nothing waits for it
    if run.stored + array.nbytes > _MOST_BYTES:
        return None
    group = _sharing(array) if active.sharing else None
    held = run.holds.get(id(array), ())
    if is_exposed(array, 2 * len(held) + (len(group) - 1 if group else 0)):
        return None
    for slot in held:
        if run.arrays[slot] is not array or not is_unseen(run, Ref("input", slot)):
            return None
    group = group or [target]
    return group if all(map(_may_change, group)) else None


def is_own(x: Any) -> bool:
    """Whether a tensor's memory is its own, so that nobody else sees that it changes."""
    if type(x) is Deferred or type(x) not in tensors:
        return False
    array = x._array
    return bool(array.flags.writeable) and not is_exposed(array) and _may_change(x)


def restamp(array: np.ndarray, by: str, line: tuple[CodeType, int], count: int) -> None:
    """Note writes that have just been made."""
    stamp_at(array, tick(), by, *line)
    if count > 1:
        add_writes(array, count - 1)


def refuses(target: Tensor) -> bool:
    """Whether a write to a tensor is an error: to a leaf, where operations are recorded."""
    return mode.site is not None and bool(target.requires_grad)


def _may_change(tensor: Any) -> bool:
    """Whether a tensor is in no graph, or a leaf, and neither a view nor seen by one."""
    edge = tensor._edge
    if (edge is not None and type(edge) is not Leaf) or getattr(tensor, "_root", None) is not None:
        return False
    return not any(view() is not None for view in getattr(tensor, "_views", ()))


def _sharing(array: np.ndarray) -> list[Any]:
    """The tensors that are known to have a memory, the first of which `data` was asked of."""
    known = [x for of in active.sharing.get(id(array), ()) if (x := of()) is not None]
    return [x for x in known if type(x) is not Deferred and x._array is array]


def known_holders(run: Any, array: np.ndarray) -> int:
    """How many references to an array are those of a run, and of tensors beyond the first."""
    held = run.holds.get(id(array), ())
    copied = sum(run.arrays[slot] is not array for slot in held)
    return 2 * len(held) - copied + max(len(_sharing(array)) - 1, 0)


def shared(tensor: Any, what: str) -> Any:
    """A tensor with the memory of another, out of its graph; None if that is got as ever."""
    if not asking or active.busy or not active.inside or inferences:
        return None
    run = active.run
    if run is None:
        return None
    place = None if run.settled else run.place_of(tensor)
    if place is not None:
        made = run.stores.get(place)
        if made is None:
            return None
        if run.recording:
            result = _alias(tensor, what)
            run.recorded[id(result)] = weakref.ref(result), place
        else:
            result = new(Deferred)
            outline = tensor._pending[2]._replace(requires_grad=False)
            result._pending = run, place, outline, None
        made.tensors.append((weakref.ref(result), Tensor))
        return result
    if type(tensor) not in tensors or type(tensor) is Deferred:
        return None
    array = tensor._array
    if type(array) is not np.ndarray:
        return None
    result = _alias(tensor, what)
    known = _sharing(array)
    if all(x is not tensor for x in known):
        known.append(tensor)
    active.sharing[id(array)] = [*map(weakref.ref, known), weakref.ref(result)]
    return result


def _alias(tensor: Tensor, what: str) -> Tensor:
    result = wrap(tensor._array)
    result._cut = cut_at(what, tensor)
    return result


def is_unseen(run: Run, ref: Ref) -> bool:
    """Whether no view of an operand is alive, and no graph has saved it but released ones."""
    entry = run.entry
    if entry.storable is None:
        entry.storable = {}
    if ref not in entry.storable:
        entry.storable[ref] = _views_of(entry.path(), ref)
    views = entry.storable[ref]
    return views is not None and all(run.outputs[k]() is None for k in views)


def _views_of(path: list[Entry], ref: Ref) -> Sequence[int] | None:
    """The places of an operand's views, and of views of these; None if a graph has saved one."""
    found, waiting = list[int](), [ref]
    while waiting:
        one = waiting.pop()
        for k, e in enumerate(path):
            if not isinstance(e, OpEntry):
                continue
            names = [n for n, r in e.refs.items() if r == one]
            if not names:
                continue
            saves = e.records and isinstance(e.op, Op) and any(n in e.op.keeps for n in names)
            if saves and not _is_released(path[k:], e):
                return None
            if e.op.view:
                views = [e.first + n for n in range(len(e.outlines))]
                found += views
                waiting += [Ref("value", place) for place in views]
    return tuple(found)


def _is_released(later: list[Entry], entry: OpEntry) -> bool:
    """Whether a backward has released an operation's node."""
    ref = Ref("value", entry.first)
    return any(
        isinstance(e, BackwardEntry) and e.releases and e.sends(ref)
        and entry.first in e.reach.places
        for e in later
    )  # fmt: skip


def store(run: Run, place: int | None, group: list[Any], after: Pending, by: str) -> None:
    """Let tensors, which have been at a place or share their memory, stand for a deferred value."""
    at, outline = after[1], after[2]
    leaf: Outline | None = None
    memory = group[0]._array if place is None else run.updates.pop(place)
    known = clock.newest == run.newest
    made = _next(run, place, group, by, (run.entry.code, run.entry.lasti))
    if known:
        run.newest = made.time
    for x in group:
        shown = outline
        if x.requires_grad:
            shown = leaf = leaf or outline._replace(requires_grad=True)
        if place is None:
            set_class(x, Deferred)
        x._pending = run, at, shown, None
    _take(run, at, made, memory)


def note_store(run: Run, place: int | None, group: list[Any], after: int, by: str) -> None:
    """The same where the run records: the tensors have the elements of a value already."""
    made = _next(run, place, group, by, (run.entry.code, run.entry.lasti))
    if place is not None:
        run.updates.pop(place, None)
    for x in made.alive():
        run.recorded[id(x)] = weakref.ref(x), after
    _take(run, after, made, None)


def _next(run: Run, place: int | None, group: list[Any], by: str, line: Any) -> Store:
    if place is None:
        run.stored += group[0]._array.nbytes
        return Store([(weakref.ref(x), type(x)) for x in group], 1, by, line)
    run.outputs[place] = nobody
    made: Store = run.stores.pop(place)
    return made.then(by, line)


def _take(run: Run, place: int, made: Store, memory: Any) -> None:
    run.outputs[place], run.updates[place], run.stores[place] = made.first, memory, made


def stored(run: Run, place: int, array: np.ndarray, cut: Any) -> None:
    """Make tensors of their classes again, whose memory has been written to."""
    made: Store = run.stores[place]
    for of, kind in made.tensors:
        tensor = of()
        if tensor is None:
            continue
        restored(tensor, array, kind)
        if getattr(tensor, "_edge", None) is None:
            tensor._edge = None
            tensor._cut = cut
    stamp_at(array, made.time, made.by, *made.line)
    if made.count > 1:
        add_writes(array, made.count - 1)
