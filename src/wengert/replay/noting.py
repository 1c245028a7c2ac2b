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

from wengert.autograd.engine import anomaly, observers
from wengert.core.dispatching import dispatched
from wengert.core.tensor import (
    Leaf,
    Site,
    Tensor,
    getframe,
    inferences,
    internal,
    mode,
    tensors,
)
from wengert.kernels.jit.pace import pace
from wengert.replay.background import background
from wengert.replay.deferred import Deferred, Outline
from wengert.replay.rules import READ_AGAIN
from wengert.replay.run import CALLER, Run
from wengert.replay.signatures import Signature
from wengert.replay.state import active, shows_exposed, unusual
from wengert.replay.trace import INNER, LEAF, MOST_ENTRIES, Input, inputs_of, outline_of
from wengert.replay.walks import Asked, is_quiet

reference = weakref.ref

# A tensor that was met, as a list, which is made in no time: the reference to it, its place or
# slot on record if it has one by now, its shape, strides and dtype, how it requires grad, and
# whether it is new to the run: the result of a call, an input, or an input that no call has used.
Seen = list[Any]
_OF, _KEY, _SHAPE, _STRIDES, _DTYPE, _GRAD, _KIND = range(7)
_VALUE, _INPUT, _FRESH = range(3)

# What is its own description, and never changes.
_PLAIN = frozenset({int, bool, str, type(None)})


class Note(NamedTuple):
    """A call of an operation.

    Attributes:
        args: its arguments; a tensor is what was `Seen` of it.
        line: the code and offset in the user's code, the code of the first frame outside of the
            operation, and how many are from there to it.
        grad: whether operations were recorded.
        results: its results.
        single: whether it has one, and no tuple of them.
    """

    op: Any
    signature: Signature
    args: list[Any]
    line: tuple[CodeType, int, CodeType, int]
    grad: bool
    results: list[Seen]
    single: bool


class WalkNote(NamedTuple):
    """A backward to all leaves, none of which had a gradient.

    Attributes:
        gradients: the leaves that have got one, with these.
    """

    roots: list[Seen]
    line: tuple[CodeType, int]
    gradients: list[tuple[Seen, Seen]]


def _caught_up(name: str) -> Any:
    """An attribute of a run that is right once its notes are entries."""

    def read(self: NotingRun) -> Any:
        self.catch_up()
        return getattr(self, name)

    def write(self: NotingRun, value: Any) -> None:
        self.catch_up()
        setattr(self, name, value)

    return property(read, write)


class NotingRun(Run):
    """A run that is recording, and has notes that are no entries yet.

    It becomes an ordinary run as soon as somebody asks what it has recorded.
    """

    entry, recorded, slots = _caught_up("entry"), _caught_up("recorded"), _caught_up("slots")
    tensors, outputs, numbers = map(_caught_up, ("tensors", "outputs", "numbers"))

    notes: list[Note | WalkNote]
    seen: dict[int, Seen]  # by the identity of the tensor
    known: dict[Any, Signature | None]  # by what a call is like; None if it is not noted

    def begin(self) -> None:
        """Note what is called from here on."""
        if self.record.fixed:
            return
        self.notes, self.seen = [], {}
        self.known = self.record.signatures.noted
        self.__class__ = NotingRun

    def quickly(self, op: Any, args: Any, impl: Any = None) -> Any:
        """The result of a call, which is noted; None where it is to be recorded at once."""
        site = self.state["site"]
        if (
            impl is None
            or inferences
            or dispatched
            or anomaly.enabled
            or type(self.state["where"] if site is None else site) is not Site
        ):
            return None
        seen, continues, fresh = self.seen, False, False
        found: list[Any] = []
        like: list[Any] = [op]
        for x in args:
            type_ = type(x)
            if type_ is Tensor or (type_ in tensors and type_ is not Deferred):
                one = seen.get(id(x))
                if (one is None or one[_OF]() is not x) and (one := self._met(x)) is None:
                    return None
                if one[_KIND] == _VALUE:
                    continues = True
                elif one[_KIND] == _FRESH:
                    fresh = True
                found.append(one)
                like.append(one[_DTYPE])
                continue
            found.append(x)
            if type_ is float:
                like.append("float")
            elif type_ in _PLAIN:
                like += type_, x
            elif type_ is tuple and all([type(v) is int for v in x]):
                like.append(x)
            else:
                return None
        if not continues and not active.inside:
            return impl(*args)
        like.append(continues)
        place = tuple(like)
        signature = self.known.get(place, _UNKNOWN)
        if signature is _UNKNOWN:
            signature = self.known[place] = self._signature(op, args, found, continues)
        if signature is None or len(self.notes) > MOST_ENTRIES:
            return None
        if op.view and (self.updates or (fresh and self._shows_exposed(args))):
            return None
        return self._noted(op, signature, args, impl, found, site is not None, getframe(CALLER))

    def _noted(
        self, op: Any, signature: Signature, args: Any, impl: Callable[..., Any], found: list[Any],
        grad: bool, inner: Any,
    ) -> Any:  # fmt: skip
        """The result of a call, which is noted."""
        frame, hops = inner, 0
        while frame.f_code.co_filename in internal and frame.f_back is not None:
            frame, hops = frame.f_back, hops + 1
        active.busy, active.asked = True, None
        try:
            result = impl(*args)
        finally:
            active.busy, active.asked = False, active.run
        single = type(result) is Tensor
        results = []
        for x in (result,) if single else result:
            if type(x) is not Tensor:
                return result
            array = x._array
            grads = 0 if x._edge is None else INNER
            results.append(
                [reference(x), None, array.shape, array.strides, array.dtype, grads, _VALUE]
            )
        for x, one in zip((result,) if single else result, results, strict=True):
            self.seen[id(x)] = one
        for one in found:
            if type(one) is list:
                one[_KIND] = one[_KIND] and _INPUT
        line = frame.f_code, frame.f_lasti, inner.f_code, hops
        self.notes.append(Note(op, signature, found, line, grad, results, single))
        return result

    def _met(self, x: Any) -> Seen | None:
        """What is to be known of a tensor that is met the first time; None of one without memory."""
        array, edge, own = x._array, x._edge, self.__dict__
        if type(array) is not np.ndarray:
            return None
        grad = 0 if edge is None else LEAF if type(edge) is Leaf else INNER
        key, kind = None, _FRESH
        of, place = own["recorded"].get(id(x), _NOTHING)
        slot = own["slots"].get(id(x))
        if of() is x:
            key, kind = place, _VALUE
        elif slot is not None and own["tensors"][slot]() is x:
            key, kind = ("i", slot), _INPUT
        one = [reference(x), key, array.shape, array.strides, array.dtype, grad, kind]
        self.seen[id(x)] = one
        return one

    def _signature(
        self, op: Any, args: Any, found: list[Any], continues: bool
    ) -> Signature | None:  # fmt: skip
        """What such calls have in common; None if they are not noted."""
        names, first = op.names, args[0] if args else None
        if op.updates or op.name in READ_AGAIN or len(args) > len(names):
            return None
        if not isinstance(first, Tensor | float | int):
            return None
        keys, forms = list[Any](), list[Any]()
        for name, x in zip(names, found, strict=False):
            seen = type(x) is list
            if seen and name not in op.rules:
                return None  # its contents are part of the entry
            keys.append(0 if seen else self._key(x, [], [], name in op.rules))
            forms.append(np.empty(0, x[_DTYPE]) if seen else x)
        signature = self.record.signatures.of(op, names, forms, {}, keys, continues)
        return signature if signature.eligible and not signature.buffers else None

    def _shows_exposed(self, args: Any) -> bool:
        """Whether others may write to what a call brings of tensors."""
        seen = self.seen
        return any(
            one[_KIND] == _FRESH and shows_exposed(x)
            for x in args
            if (one := seen.get(id(x))) is not None
        )

    # What is asked of it meanwhile

    def is_value(self, x: Any) -> bool:
        """Whether a tensor is a value of this run."""
        if type(x) is Deferred:
            return super().is_value(x)
        one = self.seen.get(id(x))
        if one is not None and one[_OF]() is x:
            return bool(one[_KIND] == _VALUE)
        of, _ = self.__dict__["recorded"].get(id(x), _NOTHING)
        return of() is x

    def place_of(self, x: Any) -> int | None:
        """The place of a tensor among the values of this run."""
        return super().place_of(x) if type(x) is Deferred or self.is_value(x) else None

    def is_apart(self, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether a call has nothing to do with the run, which its function has left."""
        return not active.inside and not any(map(self.is_value, (*args, *kwargs.values())))

    def takes_walk(
        self, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Any, retain: bool,
        impl: Callable[[], Any], line: tuple[CodeType, int],
    ) -> bool:  # fmt: skip
        """Whether a backward was noted, and has happened."""
        if inputs is not None or retain or any(seed is not None for seed in seeds):
            return False
        if unusual() or observers or mode.site is None:
            return False
        starts = [self.seen.get(id(x)) for x in roots]
        for x, one in zip(roots, starts, strict=True):
            if one is None or one[_OF]() is not x or one[_KIND] != _VALUE:
                return False
            if prod(one[_SHAPE]) != 1 or not one[_GRAD]:
                return False
        leaves = self._leaves()
        if leaves is None:
            return False
        impl()
        gradients = list[tuple[Seen, Seen]]()
        for leaf, of in leaves:
            g = getattr(of, "_grad", None)
            if g is None:
                continue
            if type(g) is not Tensor:
                return True  # they are no values of the run
            array = g._array
            one = [reference(g), None, array.shape, array.strides, array.dtype, 0, _VALUE]
            gradients.append((leaf, one))
        for _, one in gradients:
            self.seen[id(one[_OF]())] = one
        self.notes.append(WalkNote(starts, line, gradients))
        return True

    def _leaves(self) -> list[tuple[Seen, Tensor]] | None:
        """The leaves among the inputs; None if a walk to one of them cannot be noted."""
        own, found = self.__dict__, list[tuple[Seen, Tensor]]()
        for of in own["tensors"]:
            if isinstance(x := of(), Tensor) and id(x) not in self.seen:
                self._met(x)
        met = {one[_KEY][1] for one in self.seen.values() if type(one[_KEY]) is tuple}
        for slot, one in enumerate(inputs_of(own["entry"].path())):
            if one.grad == INNER or (one.grad and slot not in met):
                return None
        for one in self.seen.values():
            if one[_KIND] == _VALUE or not one[_GRAD]:
                continue
            x = one[_OF]()
            if one[_GRAD] == INNER or x is None or getattr(x, "_grad", None) is not None or not is_quiet(x, x._edge):
                return None
            found.append((one, x))
        return found

    # Entries

    def function_ended(self) -> None:
        """The function has returned whose calls these are."""
        if background.at_once:
            self.catch_up()
            self.may_note = False

    def put_off(self, now: bool) -> None:
        """Have the entries made in the background, or now: nothing is going to be noted."""
        active.set_run(None)
        if now:
            self.catch_up()
        else:
            background.submit(self.catch_up, self.record)

    def catch_up(self) -> None:
        """Make the entries of what was noted."""
        with self.lock:
            if type(self) is not NotingRun:
                return
            notes, self.notes, self.seen = self.notes, [], {}
            self.__class__ = Run  # type: ignore[assignment]
            for note in pace.over(notes):
                (_write if type(note) is Note else _write_walk)(self, note)


def _write(run: Run, note: Note) -> None:
    """Make the entry of a call."""
    if not run.has_room():
        return
    fresh, inputs, numbers = list[Seen](), list[Input](), list[float]()
    keys, op, (code, lasti, inner, hops) = list[Any](), note.op, note.line
    for name, x in zip(op.names, note.args, strict=False):
        if type(x) is not list:
            keys.append(run._key(x, [], numbers, name in op.rules))
        elif x[_KEY] is not None:
            keys.append(x[_KEY])
        else:
            x[_KEY] = "i", len(run.tensors) + len(fresh)
            fresh.append(x)
            keys.append(Input(x[_SHAPE], x[_STRIDES], x[_DTYPE].str, x[_GRAD], True))
    line = run.record.signatures.line(code, lasti)
    key = (op, note.grad, line.key, (), *keys)
    records = any(one[_GRAD] for one in note.results)
    outlines = [Outline(*one[_SHAPE : _DTYPE + 1], records) for one in note.results]
    run.enter(note.signature, key, (line, inner, hops), note.args, (note.single, records, outlines))
    for one in fresh:
        x = one[_OF]()
        if x is not None:
            run.slots[id(x)] = len(run.tensors)
        run.tensors.append(one[_OF])
    run.numbers += numbers
    for one in note.results:
        _keep(run, one)


def _write_walk(run: Run, note: WalkNote) -> None:
    """Make the entry of a backward."""
    places = tuple([one[_KEY] for one in note.roots])
    if not all(type(place) is int for place in places) or not run.has_room():
        return
    reach = run.reach(places)
    if reach is None or not reach.all or reach.inner:
        return
    asked = Asked(places, (None,) * len(places), [], reach)
    asked.targets = reach.all
    by_slot = {leaf[_KEY][1]: one for leaf, one in note.gradients if leaf[_KEY] is not None}
    found = [by_slot.get(ref.index) for ref in asked.targets]
    if None in found:
        return
    added = (None,) * len(found)
    key = ("backward", *asked.key(), True, False, added, *note.line)
    entry = run.walk(asked, note.line, True, added)
    entry.simple, entry.key = True, key
    entry.outlines = tuple([Outline(*one[_SHAPE : _DTYPE + 1], False) for one in found])
    run.grow(entry, key)
    for one in found:
        _keep(run, one)


def _keep(run: Run, one: Seen) -> None:
    """Let what was seen be the next value of a run."""
    x = one[_OF]()
    one[_KEY] = len(run.outputs)
    if x is not None:
        run.recorded[id(x)] = one[_OF], one[_KEY]
    run.outputs.append(one[_OF])


_UNKNOWN: Any = object()
_NOTHING: tuple[Any, int] = (lambda: None), 0
Run.noting = NotingRun.begin
