"""Runs that record: of each call they note what is gone later, and make entries of it when asked.

To describe a call, look it up and make its entry takes some times as long as a small operation.
So while a function is recorded its calls are only noted: the operation, the line, and what its
operands are, which tells what the entry is going to be. The entries are made when somebody reads
what a run is made of, or once the function is called again: in the background, beside that call.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from math import prod
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.counters import are_walks_wanted
from wengert.autograd.engine import anomaly
from wengert.core.dispatching import dispatched
from wengert.core.tensor import Leaf, Site, Tensor, getframe, inferences, internal, mode, tensors
from wengert.kernels.jit.pace import pace
from wengert.replay.background import background
from wengert.replay.deferred import Deferred, Outline
from wengert.replay.operands import OF_INTS, Operands
from wengert.replay.plans import count_use, foresee
from wengert.replay.rules import READ_AGAIN, is_mixed
from wengert.replay.run import CALLER, Run
from wengert.replay.signatures import Signature
from wengert.replay.state import active, shows_exposed, unusual
from wengert.replay.trace import INNER, LEAF, MOST_ENTRIES, Entry, Input, inputs_of
from wengert.replay.walks import Asked, is_quiet

reference = weakref.ref

# A tensor that was met, as a list, which is made in no time: a reference to it, its dtype, what it
# is to the run, how it requires grad, its shape and strides, whether it is a tensor and no array,
# and its key on record, if it has one by now.
Seen = list[Any]
_OF, _DTYPE, _KIND, _GRAD, _SHAPE, _STRIDES, _IS_TENSOR, _KEY = range(8)
# The result of a call, an input that calls have used, or one that none has.
_VALUE, _INPUT, _FRESH = range(3)
# What is its own description, and never changes.
_PLAIN = frozenset({int, bool, str, type(None), *OF_INTS})


class Kind(NamedTuple):
    """What calls have in common that are noted.

    Attributes:
        names: of the arguments, of which `tensors` are tensors or arrays.
        keywords: the names of the last, which come by name.
    """

    op: Any
    signature: Signature
    names: tuple[str, ...]
    tensors: tuple[int, ...]
    keywords: tuple[str, ...]


class WalkNote(NamedTuple):
    """A backward to all leaves, none of which had a gradient.

    Attributes:
        roots: where it began.
        gradients: the leaves that have got one, with these.
    """

    roots: list[Seen]
    line: tuple[CodeType, int]
    gradients: list[tuple[Seen, Seen]]


class Notes:
    """What a run has noted.

    The notes of calls lie one after another in a list: the garbage collector, which goes by the
    number of containers, is not to run more often because of them.

    Attributes:
        calls: for each call its `Kind`, the arguments, the code and offset of the line, the code of
            the first frame outside of the operation, how many are from there to the line, the site
            of recorded operations, and the result or a tuple of them. A tensor is what was `Seen`
            of it. Of a backward a `WalkNote` and nothing else.
        seen: what was seen of tensors, by identity.
        ends: where values may be read: the length of `calls`, and what is alive then.
    """

    __slots__ = ("calls", "ends", "seen")

    def __init__(self) -> None:
        self.calls, self.seen = list[Any](), dict[int, Seen]()
        self.ends = list[tuple[int, list[Seen]]]()

    def add(self, x: Any, grad: int, kind: int) -> Seen:
        """What is to be known of a tensor or array that was not met before."""
        is_tensor = type(x) is not np.ndarray
        array = x._array if is_tensor else x
        shape, strides = array.shape, array.strides
        one: Seen = [reference(x), array.dtype, kind, grad, shape, strides, is_tensor, None]
        self.seen[id(x)] = one
        return one

    def of(self, x: Any) -> Seen | None:
        """What was seen of a tensor."""
        one = self.seen.get(id(x))
        return None if one is None or one[_OF]() is not x else one


def _caught_up(name: str) -> Any:
    """An attribute of a run that is right once its notes are entries."""

    def read(self: NotingRun) -> Any:
        self.catch_up()
        return getattr(self, name)

    def write(self: NotingRun, value: Any) -> None:
        self.catch_up()
        setattr(self, name, value)

    return property(read, write)


# What a run has in slots, without asking that it be right.
_SLOTS, _TENSORS = vars(Operands)["slots"].__get__, vars(Operands)["tensors"].__get__
_ENTRY, _OUTPUTS = vars(Run)["entry"].__get__, vars(Run)["outputs"].__get__


class NotingRun(Run):
    """A run that is recording, and has notes that are no entries yet.

    It becomes an ordinary run as soon as somebody asks what it has recorded.
    """

    entry, recorded, slots = _caught_up("entry"), _caught_up("recorded"), _caught_up("slots")
    tensors, outputs, numbers = map(_caught_up, ("tensors", "outputs", "numbers"))

    notes: Notes
    own: dict[str, Any]  # the state of the thread
    known: dict[Any, Any]  # by what a call is like, see `_kind`

    def quickly(  # noqa: C901 (a call of a function costs)
        self, op: Any, args: Any, impl: Any = None, kwargs: Any = None, inner: Any = None
    ) -> Any:
        """The result of a call, which is noted; None where it is to be recorded at once."""
        site = self.state["site"]
        if impl is None or inferences or dispatched or anomaly.enabled:
            return None
        if type(self.state["where"] if site is None else site) is not Site:
            return None
        notes, own, continues, fresh = self.notes, self.own, False, False
        seen = notes.seen
        found: list[Any] = []
        like: list[Any] = [op]
        one: Any
        for x in (*args, *kwargs.values()) if kwargs else args:
            if type(x) in tensors or type(x) is np.ndarray:
                one = seen.get(id(x))
                if (one is None or one[0]() is not x) and (one := self._met(x)) is None:
                    return None
                found.append(one)
                like.append(one[1])
                if not one[2]:
                    continues = True
                elif one[2] == _FRESH:
                    fresh = True
            elif not self._describe(x, op, found, like, len(args)):
                return None
        if not continues and not own.get("inside"):
            return impl(*args, **kwargs) if kwargs else impl(*args)
        like += (*kwargs,) if kwargs else (), continues
        place = tuple(like)
        known = self.known.get(place, _UNKNOWN)
        if known is _UNKNOWN or len(notes.calls) > _LONGEST:
            known = self._new_kind(place, op, args, kwargs or {}, found)
        if known is _NEVER:
            return impl(*args, **kwargs) if kwargs else impl(*args)
        if known is None or (op.view and self._is_seen(found, fresh)):
            return None
        frame = inner = getframe(CALLER) if inner is None else inner
        hops = 0
        while frame.f_code.co_filename in internal and frame.f_back is not None:
            frame, hops = frame.f_back, hops + 1
        own["busy"], own["asked"] = True, None
        try:
            result = impl(*args, **kwargs) if kwargs else impl(*args)
        finally:
            own["busy"], own["asked"] = False, self
        if type(result) is Tensor:
            array = result._array
            grad = 0 if result._edge is None else INNER
            one = [reference(result), array.dtype, 0, grad, array.shape, array.strides, True, None]
            seen[id(result)] = one
        elif (one := self._several(result)) is None:
            return result
        if fresh:
            for k in known.tensors:
                found[k][_KIND] = found[k][_KIND] and _INPUT
        notes.calls += known, *found, frame.f_code, frame.f_lasti, inner.f_code, hops, site, one
        return result

    def note(self, op: Any, impl: Any, args: Any, kwargs: dict[str, Any], inner: Any) -> Any:
        """The result of a call that is noted, from the first frame outside; else None."""
        return self.quickly(op, args, impl, kwargs, inner)

    def _is_seen(self, found: list[Any], fresh: bool) -> bool:
        """Whether others see what a view shows: it is no value of a run, then."""
        if self.updates:
            return True
        given = [x[_OF]() for x in found if type(x) is list] if fresh else []
        return any(map(shows_exposed, given))

    def _describe(self, x: Any, op: Any, found: list[Any], like: list[Any], count: int) -> bool:
        """Take in an argument that is no tensor; whether it can be described."""
        type_, k = type(x), len(found)
        found.append(x)
        if type_ is float:  # what a parameter is counts
            like.append("float" if k < count and op.names[k] in op.rules else x.hex())
        elif type_ in _PLAIN:
            like += type_, x
        elif type_ is tuple and all([type(v) is int for v in x]):
            like.append(x)
        elif type_ is tuple and _is_plain(x):
            like.append(repr(x))  # which tells 1 from True
        else:
            return False
        return True

    def _several(self, results: Any) -> tuple[Seen, ...] | None:
        """What is to be known of several results; None if they are no tensors."""
        if type(results) is not tuple or not all([type(x) is Tensor for x in results]):
            return None
        add = self.notes.add
        return tuple([add(x, 0 if x._edge is None else INNER, _VALUE) for x in results])

    def _met(self, x: Any) -> Seen | None:
        """What is to be known of a tensor or array that is met; None of one without memory."""
        own, grad = self.__dict__, 0
        if type(x) is Deferred:
            return None
        if type(x) is not np.ndarray:
            edge = x._edge
            grad = 0 if edge is None else LEAF if type(edge) is Leaf else INNER
            if type(x._array) is not np.ndarray:
                return None
        of, place = own["recorded"].get(id(x), _NOTHING)
        slot = _SLOTS(self).get(id(x))
        is_value = of() is x
        if is_value or (slot is not None and _TENSORS(self)[slot]() is x):
            one = self.notes.add(x, grad, _VALUE if is_value else _INPUT)
            one[_KEY] = place if is_value else ("i", slot)
            return one
        return self.notes.add(x, grad, _FRESH)

    def _new_kind(self, place: Any, op: Any, args: Any, kwargs: Any, found: list[Any]) -> Any:
        """What calls have in common that are like this one."""
        if len(self.notes.calls) > _LONGEST:
            return None
        if len(self.known) >= _MOST:
            self.known.clear()
        known = self.known[place] = self._kind(op, args, kwargs, found, place[-1])
        return known

    def _kind(
        self, op: Any, args: Any, kwargs: dict[str, Any], found: list[Any], continues: bool
    ) -> Any:
        """What such calls have in common; None if they are recorded at once, or `_NEVER`."""
        if op.updates or op.name in READ_AGAIN or len(args) > len(op.names):
            return None
        if args and not isinstance(args[0], Tensor | float | int):
            return None
        keys, forms = list[Any](), list[Any]()
        names, every = (*op.names[: len(args)], *kwargs), (*args, *kwargs.values())
        which = tuple([k for k, x in enumerate(every) if isinstance(x, Tensor | np.ndarray)])
        if any(names[k] not in op.rules for k in which):
            return None  # its contents are part of the entry
        for k, x in enumerate(found):
            seen = k in which
            keys.append(0 if seen else self._key(x, [], [], names[k] in op.rules))
            forms.append(np.empty(0, x[_DTYPE]) if seen else x)
        given = forms[: len(args)], dict(zip(kwargs, forms[len(args) :], strict=True))
        signature = self.record.signatures.of(op, op.names, *given, keys, continues)
        numbers = any(type(x) in (int, float) for x in every[: len(op.inputs)])
        if is_mixed(op, {found[k][_DTYPE] for k in which}, numbers):
            return None
        if not signature.eligible:
            return _NEVER
        if signature.buffers:
            return None
        return Kind(op, signature, names, which, (*kwargs,))

    # What is asked of it meanwhile

    def is_value(self, x: Any) -> bool:
        """Whether a tensor is a value of this run."""
        if type(x) is Deferred:
            return Run.is_value(self, x)  # a thread may have made it one by now
        one = self.notes.of(x)
        if one is not None:
            return bool(one[_KIND] == _VALUE)
        of, _ = self.__dict__["recorded"].get(id(x), _NOTHING)
        return of() is x

    def place_of(self, x: Any) -> int | None:
        """The place of a tensor among the values of this run."""
        return Run.place_of(self, x) if type(x) is Deferred or self.is_value(x) else None

    def takes_walk(
        self, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Any, retain: bool,
        impl: Callable[[], Any], line: tuple[CodeType, int],
    ) -> bool:  # fmt: skip
        """Whether a backward was noted, and has happened."""
        if (
            inputs is not None
            or retain
            or self.checkpoints
            or any(seed is not None for seed in seeds)
        ):
            return False
        if unusual() or are_walks_wanted() or mode.site is None:
            return False
        notes, starts = self.notes, list[Seen]()
        for x in roots:
            one = notes.of(x)
            if one is None and self.is_value(x):
                one = self._met(x)
            if one is None or one[_KIND] != _VALUE or prod(one[_SHAPE]) != 1 or not one[_GRAD]:
                return False
            starts.append(one)
        leaves = self._leaves()
        if leaves is None:
            return False
        impl()
        found = [(one, g) for one, x in leaves if (g := getattr(x, "_grad", None)) is not None]
        if all(type(g) is Tensor for _, g in found):  # else they are no values of the run
            gradients = [(one, notes.add(g, 0, _VALUE)) for one, g in found]
            notes.calls.append(WalkNote(starts, line, gradients))
            self._note_end()
        return True

    def _leaves(self) -> list[tuple[Seen, Tensor]] | None:
        """The leaves among the inputs; None if a walk to one of them cannot be noted."""
        notes = self.notes
        for of in _TENSORS(self):
            x = of()
            if isinstance(x, Tensor) and notes.of(x) is None:
                self._met(x)
        every = [*notes.seen.values()]
        met = {one[_KEY][1] for one in every if type(one[_KEY]) is tuple}
        for slot, known in enumerate(inputs_of(_ENTRY(self).path())):
            if known.grad == INNER or (known.grad and slot not in met):
                return None
        found = list[tuple[Seen, Tensor]]()
        for one in every:
            if one[_KIND] == _VALUE or not one[_GRAD]:
                continue
            x = one[_OF]()
            if one[_GRAD] == INNER or x is None or getattr(x, "_grad", None) is not None:
                return None
            if not is_quiet(x, x._edge):
                return None
            found.append((one, x))
        return found

    # Entries

    def function_ended(self) -> None:
        """The function has returned whose calls these are."""
        self._note_end()
        if background.at_once:
            self.catch_up()
            self.may_note = False

    def _note_end(self) -> None:
        """Note what is alive where a run that goes the same way may be settled."""
        notes = self.notes
        for of in _OUTPUTS(self):
            if (x := of()) is not None and notes.of(x) is None:
                self._met(x)
        alive = [o for o in notes.seen.values() if o[_KIND] == _VALUE and o[_OF]() is not None]
        notes.ends.append((len(notes.calls), alive))

    def put_off(self, now: bool) -> None:
        """Have the entries made in the background, or now: nothing is going to be noted."""
        active.set_run(None)
        if now:
            self.catch_up()
        else:
            self.record.awaited += 1
            background.submit(self._prepare, self.record)

    def _prepare(self) -> None:
        """Make the entries, and the programs that the next run is likely to need."""
        record = self.record
        try:
            plans = [foresee(record, *one) for one in dict.fromkeys(self.catch_up())]
        finally:
            record.awaited -= 1
        if len(plans) == 1 and plans[0] is not None and record.meanwhile >= _OFTEN:
            count_use(plans[0], record)  # it would have run by now

    def catch_up(self) -> list[tuple[Entry, tuple[int, ...]]]:
        """Make the entries of what was noted; where values may be read, and which are alive."""
        with self.lock:
            if type(self) is not NotingRun:
                return []
            self.__class__ = Run  # type: ignore[assignment]
            notes, self.notes = self.notes, Notes()
            return _Writer(self, notes).write()


class _Writer:
    """Makes entries of the notes of a run."""

    def __init__(self, run: Run, notes: Notes) -> None:
        self.run, self.notes = run, notes

    def write(self) -> list[tuple[Entry, tuple[int, ...]]]:
        """Make them; where values may be read, and the places of those that are alive."""
        calls, at = self.notes.calls, 0
        ends, found = self.notes.ends[::-1], list[tuple[Entry, tuple[int, ...]]]()
        while at < len(calls):
            pace.breathe()
            kind = calls[at]
            if type(kind) is WalkNote:
                self._write_walk(kind)
                at += 1
            else:
                end = at + 1 + len(kind.names)
                self._write_call(kind, calls[at + 1 : end], *calls[end : end + 6])
                at = end + 6
            while ends and ends[-1][0] <= at:
                alive = [k for one in ends.pop()[1] if type(k := one[_KEY]) is int]
                if alive and not self.run.updates and (type(kind) is WalkNote or at == len(calls)):
                    found.append((self.run.entry, tuple(sorted(alive))))
        return found

    def _write_call(
        self, kind: Kind, args: list[Any], code: CodeType, lasti: int, inner: CodeType, hops: int,
        site: Any, found: Any,
    ) -> None:  # fmt: skip
        """Make the entry of a call."""
        run, single = self.run, type(found) is list
        if not run.has_room():
            return
        fresh, numbers, keys = list[Seen](), list[float](), list[Any]()
        for k, x in enumerate(args):
            if k not in kind.tensors:
                keys.append(run._key(x, [], numbers, kind.names[k] in kind.op.rules))
            elif x[_KEY] is None:
                x[_KEY] = "i", len(run.tensors) + len(fresh)
                fresh.append(x)
                like = x[_SHAPE], x[_STRIDES], x[_DTYPE], x[_GRAD], x[_IS_TENSOR]
                keys.append(Input(*like))
            else:
                keys.append(x[_KEY])
        line = run.record.signatures.line(code, lasti)
        results = (found,) if single else found
        records = any([one[_GRAD] for one in results])
        outlines = [Outline(o[_SHAPE], o[_STRIDES], o[_DTYPE], records) for o in results]
        key = (kind.op, site is not None, line.key, kind.keywords, *keys)
        every = [
            _AN_ARRAY if k in kind.tensors and not x[_IS_TENSOR] else x for k, x in enumerate(args)
        ]
        run.enter(kind.signature, key, (line, inner, hops), every, (single, records, outlines))
        for one in fresh:
            x = one[_OF]()
            if x is not None:
                run.slots[id(x)] = len(run.tensors)
            run.tensors.append(one[_OF])
        run.numbers += numbers
        self._keep(results)

    def _write_walk(self, note: WalkNote) -> None:
        """Make the entry of a backward."""
        run = self.run
        places = tuple([one[_KEY] for one in note.roots])
        if None in places or not run.has_room():
            return
        reach = run.reach(places)
        if reach is None or not reach.all or reach.inner:
            return
        by_slot = {leaf[_KEY][1]: one for leaf, one in note.gradients if leaf[_KEY] is not None}
        found: list[Any] = [by_slot.get(ref.index) for ref in reach.all]
        if None in found:
            return
        asked = Asked(places, (None,) * len(places), [], reach)
        asked.targets, added = reach.all, (None,) * len(found)
        key = ("backward", *asked.key(), True, False, added, *note.line)
        entry = run.walk(asked, note.line, True, added)
        entry.simple, entry.key = True, key
        entry.outlines = tuple(
            [Outline(one[_SHAPE], one[_STRIDES], one[_DTYPE], False) for one in found]
        )
        run.grow(entry, key)
        self._keep(found)

    def _keep(self, results: Sequence[Seen]) -> None:
        """Let some tensors be the next values of the run."""
        run = self.run
        for one in results:
            x, one[_KEY] = one[_OF](), len(run.outputs)
            if x is not None:
                run.recorded[id(x)] = one[_OF], len(run.outputs)
            run.outputs.append(one[_OF])


def _begin(run: Run) -> None:
    """Let a run that is recording note what is called from here on."""
    if not run.record.fixed:
        run.notes, run.known = Notes(), run.record.signatures.noted  # type: ignore[attr-defined]
        run.own = active.__dict__  # type: ignore[attr-defined]
        run.__class__ = NotingRun


def _is_plain(x: Any) -> bool:
    """Whether an argument is its own description, and never changes."""
    return type(x) in _PLAIN or (type(x) is tuple and all(map(_is_plain, x)))


# So many kinds of calls are known; with more of them, they are found anew.
_MOST = 4096
# So many items of notes, about ten for a call.
_LONGEST = 10 * MOST_ENTRIES
# After so many calls a program is worth compiling that none of them has gone along.
_OFTEN = 2
_UNKNOWN, _NEVER = object(), object()
# What stands for an array among arguments, whose elements were not kept.
_AN_ARRAY = np.empty(0)
_NOTHING: tuple[Any, int] = (lambda: None), 0
Run.noting = _begin
