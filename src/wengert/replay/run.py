"""One run of a compiled function: its calls compare themselves with the record.

A call that is in the record is not computed: its result is `Deferred`. A call that is not settles
the run, is computed, and becomes a new branch of the record. From there on the run records. What
is not understood is computed at once, on values: then the operands are read, which settles the
run as any read does. So a run may always leave the record, and nothing has to be guarded.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from types import CodeType, FrameType
from typing import Any, ClassVar

from wengert.autograd.engine import anomaly
from wengert.autograd.saved.programs import EnoughError
from wengert.core import storage
from wengert.core.dispatching import dispatched
from wengert.core.tensor import (
    Site,
    Tensor,
    caller,
    getframe,
    inferences,
    mode,
    new,
    tick,
)
from wengert.kernels.precision import HALF
from wengert.replay.checkpoints import computed
from wengert.replay.deferred import Deferred, Outline, set_class
from wengert.replay.failures import names_of
from wengert.replay.looks import packed
from wengert.replay.lowering import Origin
from wengert.replay.operands import UnseenError, among
from wengert.replay.record import Record
from wengert.replay.rules import READ_AGAIN, Step
from wengert.replay.settling import compute
from wengert.replay.signatures import Line, Signature, users_frame
from wengert.replay.state import (
    InsideSite,
    active,
    before_write,
    pending_runs,
    stop_asking,
    unusual,
)
from wengert.replay.trace import (
    MOST_BRANCHES,
    MOST_ENTRIES,
    Again,
    Entry,
    Input,
    Memo,
    OpEntry,
    Ref,
    nobody,
    outline_of,
)
from wengert.replay.walks import Walks

reference = weakref.ref

# A line, the code of the first frame outside of the operation, and how many are from there to it.
Where = tuple[Line, CodeType, int]

# Frames from `Run.quickly` to that of whoever called the operation, whose front is between.
CALLER = 2
# The same from `Run.call`, which `OpFront.ask` calls.
_OUTSIDE = CALLER + 1


class Run(Walks):
    """The state of one run.

    Attributes:
        entry: how far down the record it is, from `start`.
        steps: what it has deferred, with the state of the thread at the time.
        outputs: the deferred tensors by place, weakly.
        left: whether the function has returned: what does not go on with its values is none of it.
        follows: whether calls may be deferred without a lock: nobody settles it, or has done so.
        spare: how many of the first places have no tensor, but for those in `held`.
        writes: by place, how often its tensor was written to, which showed earlier values before.
        kept: operands that gradients with a graph may read, until the function returns.
        shown: whether others than tensors were given the memory of a value.
        walkable: a place from which a backward may walk, if one was found.
        readings: the programs of values that were read ahead of the rest, `found` what they kept.
        may_note: whether it may note calls before it makes entries of them: see `noting`.
    """

    __slots__ = ("entry", "follows", "left", "outputs", "saver", "state", "steps")

    may_note = False
    noting: ClassVar[Callable[[Run], None]]

    def __init__(self, record: Record, start: Entry | None = None) -> None:
        super().__init__()
        self.record = record
        self.entry = self.start = record.root if start is None else start
        self.settled, self.follows, self.left = False, True, False
        self.state = mode.__dict__  # of this thread, as others only settle it
        self.lock = threading.RLock()
        self.steps: list[Step] = []
        self.outputs: list[Any] = []
        self.spare, self.held = 0, list[int]()
        self.writes: dict[int, int] = {}
        self.kept: list[Any] = []
        self.shown = False
        self.walkable: int | None = None
        self.readings: tuple[Any, ...] = ()
        self.found: dict[Origin, Any] = {}

    def _forget(self) -> None:
        """Let go of the inputs: nothing is deferred any more."""
        self.originals, self.arrays, self.edges, self.copies = [], [], [], []
        self.holds, self.readings, self.found = {}, (), {}
        self.steps, self.owners, self.owned = [], set(), 0
        self.updates, self.onward = dict.fromkeys(self.updates), {}
        pending_runs.pop(id(self), None)

    # Calls

    def quickly(self, op: Any, args: Any, impl: Any = None) -> Any:  # noqa: C901 (a call costs)
        """The deferred result of a call that is as the last time, for its front; else None."""
        child: Any = self.entry.hot
        if child is None or child.quick is not op or len(args) != child.count or not self.follows:
            return None
        state, reach, kind = self.state, child.reach, InsideSite if self.saver else Site
        site = state["site"]
        if (
            child.grad is (site is None)
            or inferences
            or dispatched
            or anomaly.enabled
            or type(state["where"] if site is None else site) is not kind
            or (op.view and self.updates)
            or (self.left and not child.values)
        ):
            return None
        for k, place in child.values:
            x = args[k]
            pending = x._pending if type(x) is Deferred else None
            if type(pending) is not tuple or pending[1] != place or pending[0] is not self:
                return None
        try:
            frame = getframe(reach)
            lasti = frame.f_lasti
            if frame.f_code is not child.code or (lasti != child.lasti and lasti != child.end):
                return None
            if reach != CALLER and getframe(CALLER).f_code is not child.inner:
                return None
            for k, slot in child.again:
                x, original = args[k], self.originals[slot]
                if (
                    x is None  # as what refers to a tensor that is gone gives
                    or self.tensors[slot]() is not x
                    or x._array is not original
                    or self.edges[slot] is not x._edge
                    or (self.arrays[slot] is not original and not self._is_current(slot))
                ):
                    return None
        except (ValueError, IndexError):  # fewer frames than on record; another thread settles it
            return None
        for k in child.floats:
            if type(args[k]) is not float:
                return None
        if child.others and not self._are_as(child.others, args):
            return None
        for k in child.floats:
            self.numbers.append(args[k])
        if child.single:
            if not self.steps:
                self._watch()
            self.steps.append((site, state["off"] if site is None else None, tick()))
            result: Any = new(Deferred)
            source = args[0] if child.shows else None
            result._pending = self, len(self.outputs), child.outlines[0], source
            self.outputs.append(reference(result))
            self.entry = child
        else:
            result = self._results(child, args, site, [])
        return result if self.follows else self._if_settled(result)

    def _if_settled(self, result: Any) -> Any:
        """A result, if the thread that settles the run has seen it; else None."""
        with self.lock:  # until it is done
            first = result[0] if type(result) is tuple else result
            return None if type(first) is Deferred else result

    def _are_as(self, others: Any, args: Any) -> bool:
        """Whether arguments are what `OpEntry.others` says; new inputs are taken in."""
        fresh: Any = ()
        for k, place in others:
            x, kind = args[k], type(place)
            if kind is Memo:
                if self._has_met(x) or (fresh and among(x, fresh)) or not place.fits(x):
                    return False
                fresh = (*fresh, x)
            elif kind is Again:
                if not self._is_again(x, place.slot):
                    return False
            elif x is not place.value and not self._has_key(x, place.key):
                return False
        if fresh:
            with self.lock:  # as the thread that settles the run reads them
                self._bind(fresh, ())
        return True

    def call(
        self, op: Any, names: tuple[str, ...], impl: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        """A call of a declared operation: deferred if it is as the last time, else looked up."""
        if unusual(self.saver is not None) or self.is_apart(args, kwargs):
            return impl(*args, **kwargs)
        result = self.note(op, impl, args, kwargs, getframe(_OUTSIDE))
        if result is not None:
            return result
        if not self.steps and self.record.brief and self._is_brief(op, getframe(_OUTSIDE)):
            return impl(*args, **kwargs)
        child: Any = self.entry.hot
        try:
            known = (
                type(child) is OpEntry
                and child.op is op
                and not self.recording
                and child.grad is not (mode.site is None)
                and (frame := getframe(child.reach + 1)).f_code is child.code
                and (frame.f_lasti == child.lasti or frame.f_lasti == child.end)
                and (child.reach == CALLER or getframe(_OUTSIDE).f_code is child.inner)
            )
        except ValueError:  # fewer frames than on record
            known = False
        if not known:
            inner = getframe(_OUTSIDE)
            frame, hops = users_frame(inner)
            line = self.record.signatures.line(frame.f_code, frame.f_lasti)
            return self._search(op, names, impl, args, kwargs, (line, inner.f_code, hops))
        fresh: list[Any] = []
        numbers: list[float] = []
        if not self._is_as(child, args, kwargs, fresh, numbers):
            line = self.record.signatures.line(child.code, child.lasti)
            where = line, child.inner, child.reach - CALLER
            return self._search(op, names, impl, args, kwargs, where)
        if not child.continues and not active.inside:
            return impl(*args, **kwargs)
        return self._follow(child, mode.site, fresh, numbers, impl, args, kwargs)

    def _search(
        self, op: Any, names: tuple[str, ...], impl: Any, args: Any, kwargs: Any, where: Where
    ) -> Any:
        """A call that is not as the last time: another way on record, or a new one."""
        if args and not isinstance(args[0], Tensor | float | int):  # a rule, on arrays
            return impl(*args, **kwargs)
        fresh: list[Any] = []
        numbers: list[float] = []
        key, rules, operands = self._key, op.rules, zip(names, args, strict=False)
        try:
            keys = [
                key(x, fresh, numbers, name in rules) for name, x in (*operands, *kwargs.items())
            ]
        except UnseenError:
            return impl(*args, **kwargs)
        continues = int in map(type, keys)  # the place of a value
        if len(args) > len(names) or not (continues or active.inside):
            return impl(*args, **kwargs)
        if op.view and self._is_copied(args[0], fresh):
            return impl(*args, **kwargs)
        whole = (op, mode.site is not None, where[0].key, (*kwargs,), *keys)
        try:
            child = None if self.recording else self.entry.children.get(whole)
            if child is None:
                signature = self.record.signatures.of(op, names, args, kwargs, keys, continues)
        except TypeError:  # an argument without a hash
            return impl(*args, **kwargs)
        if child is not None:
            self.entry.hot = child
            return self._follow(child, mode.site, fresh, numbers, impl, args, kwargs)
        if not signature.eligible or not self.has_room():
            return impl(*args, **kwargs)
        return self._record(signature, impl, args, kwargs, whole, where, (fresh, numbers))

    def _follow(
        self, child: Any, site: Any, fresh: Any, numbers: Any, impl: Any, args: Any, kwargs: Any
    ) -> Any:
        """Go on to an entry that a call is as."""
        if child.op.view and self._is_copied(args[0], fresh):
            return impl(*args, **kwargs)
        buffers: list[Any] = []
        if child.updated:
            every = (*args, *kwargs.values())
            buffers = [every[k] for k in child.updated]
            if not self._may_update(buffers, fresh):
                return impl(*args, **kwargs)
        with self.lock:
            if not self.settled:
                self._bind(fresh, numbers)
                result = self._results(child, args, site, buffers)
                if child.ends:
                    raise EnoughError(self.saver)
                return result
        return impl(*args, **kwargs)  # another thread has settled it

    def _results(self, child: Any, args: Any, site: Any, buffers: list[Any]) -> Any:
        """The deferred results of an entry."""
        if not self.steps:
            self._watch()
        self.steps.append((site, mode.off if site is None else None, tick()))
        if buffers:
            self.entry = child
            outline, *others = child.outlines
            result = self._deferred(outline, None)
            self.update(buffers, others, len(self.outputs))
            return result
        source = args[0] if child.shows else None
        if not child.single:
            tick()  # for the nodes of its results
        results = tuple([self._deferred(outline, source) for outline in child.outlines])
        self.entry = child
        return results[0] if child.single else results

    def _watch(self) -> None:
        """See the writes to memory that what is deferred is going to read."""
        pending_runs[id(self)] = reference(self, partial(pending_runs.pop, id(self)))
        if before_write not in storage.guards:
            storage.guards.append(before_write)

    def _record(
        self, signature: Signature, impl: Any, args: Any, kwargs: Any, key: tuple[Any, ...],
        where: Where, new_operands: tuple[list[Any], list[float]],
    ) -> Any:  # fmt: skip
        """Compute a call that is not in the record, and note it there."""
        fresh, numbers = new_operands
        every = (*args, *kwargs.values())
        buffers = [every[k] for k in signature.buffers]
        if buffers and not self._may_update(buffers, fresh):
            return impl(*args, **kwargs)
        self._leave_record()
        known = signature, key, where, every, new_operands
        result, saves = computed(self, impl, args, kwargs, known)
        results = (result,) if type(result) is not tuple else result
        records = False
        for r in results:
            if type(r) is not Tensor:
                return result
            records |= r._edge is not None
        outlines = [outline_of(r._array, records) for r in results]
        outlines += [outline_of(x._array, False) for x in buffers]
        single = type(result) is not tuple and not buffers
        if saves is None:
            return result
        self.enter(signature, key, where, every, (single, records, outlines))
        if saves and isinstance(self.entry, OpEntry):
            [self.entry.saves] = saves
        self._bind(fresh, numbers)
        if key[0].name in READ_AGAIN and records:
            self.kept += every
        for r in results:
            self._keep(r)
        for x in buffers:
            self.updates[len(self.outputs)] = None
            self._keep(x)
        if self.may_note and not (self.settled or self.stores or self.leaves):
            self.noting()
        return result

    def enter(
        self, signature: Signature, key: tuple[Any, ...], where: Where, every: Sequence[Any],
        found: tuple[bool, bool, list[Outline]],
    ) -> None:  # fmt: skip
        """Grow the entry of a call with these arguments.

        `found` says of its results whether there is one, and nothing else, whether they record, and
        what they are like.
        """
        op, keys, (line, inner, hops) = key[0], key[4:], where
        single, records, outlines = found
        inputs: list[Input] = []
        refs = self._refs(signature, keys, every, inputs)
        entry = OpEntry(self.entry, line, op, refs, signature, records)
        entry.single = single
        entry.inner, entry.reach = inner, CALLER + hops
        entry.grad, entry.keywords = key[1], key[3]
        entry.continues = signature.continues
        entry.expect(keys, self.record.signatures.shared)
        entry.shows = op.view and op.kind != "detach"
        inside = any(map(self._is_leaf_inside, every))
        rounds = op.halves is not None and float in keys and outlines[0].dtype in HALF
        if not (entry.keywords or signature.buffers or inside or rounds):
            entry.look_no_further(every, len(self.tensors))
        entry.inputs = tuple(inputs)
        known = tuple(outlines)
        entry.outlines = self.record.signatures.shared.setdefault(known, known)
        if entry.count:
            entry.look = packed(entry, CALLER)
            entry.quick = op
        self.grow(entry, key)

    def _refs(
        self,
        signature: Signature,
        keys: tuple[Any, ...],
        every: Sequence[Any],
        inputs: list[Input],
    ) -> dict[str, Ref | None]:
        """What a call's operands refer to; its new inputs are collected."""
        refs: dict[str, Ref | None] = signature.refs.copy()
        numbers, shared = len(self.numbers), self.record.signatures.shared
        for name, k in signature.operands:
            key = keys[k]
            known = shared.get(key)
            if type(known) is Ref:
                refs[name] = known
            elif type(key) is int:
                refs[name] = shared[key] = Ref("value", key)
            elif type(key) is Input:
                refs[name] = Ref("input", len(self.tensors) + len(inputs))
                inputs.append(key)
            elif key is float:
                refs[name] = Ref("number", numbers)
                numbers += 1
            elif key[0] == "i":
                refs[name] = shared[key] = Ref("input", key[1])
            elif every[k] is not None:
                refs[name] = Ref("constant", every[k])
        return refs

    def has_room(self) -> bool:
        return self.record.size < MOST_ENTRIES and len(self.entry.children) < MOST_BRANCHES

    def grow(self, entry: Entry, key: Any) -> None:
        self.record.size += 1
        # Another thread may have been here in the meantime.
        self.entry.hot = entry = self.entry.children.setdefault(key, entry)
        self.entry = entry

    def _is_leaf_inside(self, x: Any) -> bool:
        """Whether an argument is a value that has become a leaf: it has no memory to look at."""
        return bool(self.leaves) and self._has_met(x) and self.slots[id(x)] in self.leaves.values()

    def _keep(self, tensor: Tensor) -> None:
        """Note that a tensor is the next value of the run."""
        self.recorded[id(tensor)] = weakref.ref(tensor), len(self.outputs)
        self.outputs.append(weakref.ref(tensor))

    def update(self, buffers: list[Any], outlines: Sequence[Outline], first: int) -> None:
        """Let buffers show their next elements, from a place on, once they are there."""
        for place, (x, outline) in enumerate(zip(buffers, outlines, strict=True), first):
            before = self.place_of(x)
            if before is None:
                memory = self.originals[self.slots[id(x)]]
                set_class(x, Deferred)
            else:
                memory = self.updates.pop(before)
                self.outputs[before] = nobody
            self.updates[place] = memory
            x._pending = self, place, outline, None
            self.outputs[place : place + 1] = [reference(x)]
            self.held += [place] if place < self.spare else []

    def _leave_record(self) -> None:
        """Compute what was deferred: the run records from here on."""
        if self.recording:
            return
        alive = self._living()
        self._compute()
        self._forget()
        self.recording, self.follows = True, False
        alive = [(k, t) for k, t in alive if k not in self.leaves]
        alive += [(k, t) for k, made in self.stores.items() for t in made.alive()]
        self.recorded = {id(t): (weakref.ref(t), k) for k, t in alive}
        if active.run is None:  # its values held it, once the function had returned
            active.set_run(self)

    # Values

    def settle(self) -> None:
        """Compute what was deferred, because a value is read or an input is about to change."""
        with self.lock:
            if self.settled or not self.steps or self.recording:
                return
            line = caller(getframe(1))
            self.follows = False  # what `quickly` defers from here on it computes at once
            self._compute()
            if self.start is not self.record.root:
                self.record.note_length(self.start, self.entry, len(self.steps))
            self._forget()
            self.settled = True
            self.record.reads.add(line)
            if self.entry.read_at != line:
                self.entry.read_at, self.entry.read_by = line, names_of(getframe(1))

    def _is_brief(self, op: Any, inner: FrameType) -> bool:
        """Whether runs that begin with this call have been read after a few steps."""
        frame, _ = users_frame(inner)
        line = self.record.signatures.line(frame.f_code, frame.f_lasti)
        return self.record.is_brief(op, line)

    def _compute(self) -> None:
        if self.steps:
            self.fill(self._living())

    def _living(self) -> list[tuple[int, Any]]:
        """The places that have tensors, and these; those of an entry that is to come are not."""
        outputs, entry = self.outputs, self.entry
        end = entry.first + len(entry.outlines)
        places = chain(sorted({*self.held}), range(self.spare, end))
        return [
            (k, t) for k in places
            if (of := outputs[k]) is not nobody and (t := of()) is not None
        ]  # fmt: skip

    def note(self, op: Any, impl: Any, args: Any, kwargs: dict[str, Any], inner: FrameType) -> Any:
        """The result of a call that is noted; else None."""
        return None

    def is_apart(self, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether a call has nothing to do with the run, which its function has left."""
        if active.inside or not self.recording:
            return False
        return not any(map(self.is_value, (*args, *kwargs.values())))

    def function_ended(self) -> None:
        """The function has returned whose calls these are."""

    def put_off(self, now: bool) -> None:
        """No call is going to be one of this run: what is left to do can wait, or is done now."""

    def fill(self, living: Sequence[tuple[int, Any]]) -> None:
        """Compute the values of the tensors at some places."""
        self.record.settled += 1
        self.record.deferred += len(self.steps)
        if not living and self.saver is None:
            return
        busy = active.set_busy(True)
        try:
            compute(self, living)
        finally:
            active.set_busy(busy)

    def following(self) -> Run:
        """The run that goes on once values were read."""
        if self.entry.after is None:
            self.entry.after = Entry(None, None)
        return Run(self.record, self.entry.after)


def current_run() -> Run | None:
    """The run of this thread, or the next one if its values were read."""
    run = active.run
    if run is None:
        run = None if active.behind is None else active.behind()
    if run is not None and run.settled:
        if not active.inside:
            active.set_run(None)
            active.behind = None
            stop_asking()
            return None
        run = run.following()
        active.set_run(run)
    if run is None and not active.inside:
        stop_asking()
    return run


def end_run() -> None:
    """A compiled function has returned: from here on its values hold the run."""
    run = current_run()
    if run is not None:
        run.kept.clear()
        run.left = True
        run.function_ended()
    if run is None or not run.recording:
        active.set_run(None)
        active.behind = None if run is None else weakref.ref(run)
    else:
        active.set_run(run)
