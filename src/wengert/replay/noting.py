"""Runs that record: of each call they note what is gone later, and make entries of it when asked.

To describe a call, look it up and make its entry takes some times as long as a small operation.
So while a function is recorded its calls are only noted: the operation, the line, and what its
operands are, which tells what the entry is going to be. The entries are made when somebody reads
what a run is made of, or once the function is called again: in the background, beside that call.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
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
from wengert.replay.operands import OF_INTS
from wengert.replay.rules import READ_AGAIN
from wengert.replay.run import CALLER, Run
from wengert.replay.settling import foresee
from wengert.replay.signatures import Signature
from wengert.replay.state import active, shows_exposed, unusual
from wengert.replay.trace import INNER, LEAF, MOST_ENTRIES, Entry, Input, inputs_of
from wengert.replay.walks import Asked, is_quiet

reference = weakref.ref

# What a tensor that was met is to the run: the result of a call, an input that calls have used, or
# one that none has.
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
        roots: the numbers of the tensors where it began.
        gradients: the numbers of the leaves that have got one, and of these.
    """

    roots: list[int]
    line: tuple[CodeType, int]
    gradients: list[tuple[int, int]]


class Notes:
    """What a run has noted.

    The notes of calls lie one after another in a list: its garbage collector, which goes by the
    number of containers, is not to run more often because of them.

    Attributes:
        calls: for each call its `Kind`, the arguments, the code and offset of the line, the code of
            the first frame outside of the operation, how many are from there to the line, whether
            operations were recorded, and the number of results, ~0 of one that is no tuple. A
            tensor is its number. Of a backward a `WalkNote` and nothing else.
        seen: the numbers of tensors, by identity; results have theirs in the order of the calls.
        of: the tensors, weakly.
        forms: their shapes, strides and dtypes, how they require grad, and whether they are tensors.
        kinds: what they are to the run.
        keys: what they are on record, where they were met before.
        ends: where values may be read: the length of `calls`, and the numbers of those that are
            alive then.
    """

    __slots__ = ("calls", "ends", "forms", "keys", "kinds", "of", "seen", "shared")

    def __init__(self) -> None:
        self.calls, self.seen = list[Any](), dict[int, int]()
        self.of, self.forms, self.kinds = list[Any](), list[Any](), list[int]()
        self.keys, self.shared = dict[int, Any](), dict[Any, Any]()
        self.ends = list[tuple[int, list[int]]]()

    def add(self, x: Any, grad: int, kind: int) -> int:
        """The number of a tensor or array that was not met before."""
        is_tensor = type(x) is not np.ndarray
        array = x._array if is_tensor else x
        form = (array.shape, array.strides, array.dtype, grad, is_tensor)
        number = self.seen[id(x)] = len(self.of)
        self.of.append(reference(x))
        self.forms.append(self.shared.setdefault(form, form))
        self.kinds.append(kind)
        return number

    def number(self, x: Any) -> int | None:
        """That of a tensor that was met."""
        number = self.seen.get(id(x))
        return None if number is None or self.of[number]() is not x else number


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

    notes: Notes
    known: dict[Any, Any]  # by what a call is like, see `_kind`

    def quickly(self, op: Any, args: Any, impl: Any = None) -> Any:
        """The result of a call, which is noted; None where it is to be recorded at once."""
        return None if impl is None else self.note(op, impl, args, {}, getframe(CALLER))

    def note(self, op: Any, impl: Any, args: Any, kwargs: dict[str, Any], inner: Any) -> Any:
        """The same, from the first frame outside of the operation."""
        site = self.state["site"]
        if (
            inferences
            or dispatched
            or anomaly.enabled
            or type(self.state["where"] if site is None else site) is not Site
        ):
            return None
        notes, continues, fresh = self.notes, False, False
        seen, of = notes.seen, notes.of
        found: list[Any] = []
        like: list[Any] = [op, *kwargs]
        for x in (*args, *kwargs.values()) if kwargs else args:
            type_ = type(x)
            if type_ is Tensor or type_ is np.ndarray or (type_ in tensors and type_ is not Deferred):
                n = seen.get(id(x))
                if (n is None or of[n]() is not x) and (n := self._met(x)) is None:
                    return None
                found.append(n)
                like.append(notes.forms[n][2])
                kind = notes.kinds[n]
                if kind == _VALUE:
                    continues = True
                elif kind == _FRESH:
                    fresh = True
                continue
            k = len(found)
            found.append(x)
            if type_ is float:  # what a parameter is counts
                like.append("float" if k < len(args) and op.names[k] in op.rules else x.hex())
            elif type_ in _PLAIN:
                like += type_, x
            elif type_ is tuple and all([type(v) is int for v in x]):
                like.append(x)
            elif type_ is tuple and _is_plain(x):
                like.append(repr(x))  # which tells 1 from True
            else:
                return None
        if not continues and not active.inside:
            return impl(*args, **kwargs)
        like.append(continues)
        known = self.known.get(tuple(like), _UNKNOWN)
        if known is _UNKNOWN:
            if len(self.known) >= _MOST:
                self.known.clear()
            known = self.known[tuple(like)] = self._kind(op, args, kwargs, found, continues)
        if known is _NEVER:
            return impl(*args, **kwargs)
        if known is None or len(of) > MOST_ENTRIES:
            return None
        if op.view and (self.updates or (fresh and _shows_exposed((*args, *kwargs.values())))):
            return None
        if fresh:
            for k in known.tensors:
                notes.kinds[found[k]] = notes.kinds[found[k]] and _INPUT
        return self._noted(known, impl, args, kwargs, found, (inner, site is not None))

    def _noted(
        self, kind: Kind, impl: Callable[..., Any], args: Any, kwargs: dict[str, Any],
        found: list[Any], where: tuple[Any, bool],
    ) -> Any:  # fmt: skip
        """The result of a call, which is noted."""
        inner, grad = where
        frame, hops = inner, 0
        while frame.f_code.co_filename in internal and frame.f_back is not None:
            frame, hops = frame.f_back, hops + 1
        active.busy, active.asked = True, None
        try:
            result = impl(*args, **kwargs)
        finally:
            active.busy, active.asked = False, active.run
        notes = self.notes
        if type(result) is Tensor:
            count = ~0
            notes.add(result, 0 if result._edge is None else INNER, _VALUE)
        elif all([type(x) is Tensor for x in result]):
            count = len(result)
            for x in result:
                notes.add(x, 0 if x._edge is None else INNER, _VALUE)
        else:
            return result
        line = frame.f_code, frame.f_lasti, inner.f_code, hops
        notes.calls += kind, *found, *line, grad, count
        return result

    def _met(self, x: Any) -> int | None:
        """The number of a tensor or array that is met the first time; None without memory."""
        own, grad = self.__dict__, 0
        if type(x) is not np.ndarray:
            edge = x._edge
            grad = 0 if edge is None else LEAF if type(edge) is Leaf else INNER
            if type(x._array) is not np.ndarray:
                return None
        of, place = own["recorded"].get(id(x), _NOTHING)
        slot = own["slots"].get(id(x))
        is_value = of() is x
        if is_value or (slot is not None and own["tensors"][slot]() is x):
            number = self.notes.add(x, grad, _VALUE if is_value else _INPUT)
            self.notes.keys[number] = place if is_value else ("i", slot)
            return number
        return self.notes.add(x, grad, _FRESH)

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
            forms.append(np.empty(0, self.notes.forms[x][2]) if seen else x)
        given = forms[: len(args)], dict(zip(kwargs, forms[len(args) :], strict=True))
        signature = self.record.signatures.of(op, op.names, *given, keys, continues)
        if not signature.eligible:
            return _NEVER
        if signature.buffers:
            return None
        return Kind(op, signature, names, which, (*kwargs,))

    # What is asked of it meanwhile

    def is_value(self, x: Any) -> bool:
        """Whether a tensor is a value of this run."""
        if type(x) is Deferred:
            return super().is_value(x)
        number = self.notes.number(x)
        if number is not None:
            return self.notes.kinds[number] == _VALUE
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
        notes, starts = self.notes, list[int]()
        for x in roots:
            number = notes.number(x)
            if number is None and self.is_value(x):
                number = self._met(x)
            if number is None or notes.kinds[number] != _VALUE:
                return False
            shape, _, _, grad, _ = notes.forms[number]
            if prod(shape) != 1 or not grad:
                return False
            starts.append(number)
        leaves = self._leaves()
        if leaves is None:
            return False
        impl()
        found = [(n, x, g) for n, x in leaves if (g := getattr(x, "_grad", None)) is not None]
        if all(type(g) is Tensor for _, _, g in found):  # else they are no values of the run
            gradients = [(n, notes.add(g, 0, _VALUE)) for n, _, g in found]
            notes.calls.append(WalkNote(starts, line, gradients))
            self._note_end()
        return True

    def _leaves(self) -> list[tuple[int, Tensor]] | None:
        """The leaves among the inputs; None if a walk to one of them cannot be noted."""
        own, notes = self.__dict__, self.notes
        for of in own["tensors"]:
            x = of()
            if isinstance(x, Tensor) and notes.number(x) is None:
                self._met(x)
        met = {key[1] for key in notes.keys.values() if type(key) is tuple}
        for slot, one in enumerate(inputs_of(own["entry"].path())):
            if one.grad == INNER or (one.grad and slot not in met):
                return None
        found = list[tuple[int, Tensor]]()
        for number, (kind, form) in enumerate(zip(notes.kinds, notes.forms, strict=True)):
            if kind == _VALUE or not form[3]:
                continue
            x = notes.of[number]()
            if form[3] == INNER or x is None or getattr(x, "_grad", None) is not None:
                return None
            if not is_quiet(x, x._edge):
                return None
            found.append((number, x))
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
        for of in self.__dict__["outputs"]:
            if (x := of()) is not None and notes.number(x) is None:
                self._met(x)
        pairs = enumerate(zip(notes.kinds, notes.of, strict=True))
        alive = [n for n, (kind, of) in pairs if kind == _VALUE and of() is not None]
        notes.ends.append((len(notes.calls), alive))

    def put_off(self, now: bool) -> None:
        """Have the entries made in the background, or now: nothing is going to be noted."""
        active.set_run(None)
        if now:
            self.catch_up()
        else:
            background.submit(self._prepare, self.record)

    def _prepare(self) -> None:
        """Make the entries, and the programs that the next run is likely to need."""
        for entry, alive in self.catch_up():
            foresee(self.record, entry, alive)

    def catch_up(self) -> list[tuple[Entry, tuple[int, ...]]]:
        """Make the entries of what was noted; where values may be read, and which are alive."""
        with self.lock:
            if type(self) is not NotingRun:
                return []
            self.__class__ = Run  # type: ignore[assignment]
            notes, self.notes = self.notes, Notes()
            return _Writer(self, notes).write()


class _Writer:
    """Makes entries of the notes of a run.

    Attributes:
        keys: what the tensors are on record, by their numbers; nothing of what is not.
        next: the number of the next result.
    """

    def __init__(self, run: Run, notes: Notes) -> None:
        self.run, self.notes, self.keys = run, notes, notes.keys
        self.results: Iterator[int] = iter(
            [k for k, kind in enumerate(notes.kinds) if kind == _VALUE and k not in notes.keys]
        )

    def write(self) -> list[tuple[Entry, tuple[int, ...]]]:
        """Make them; where values may be read, and the places of those that are alive."""
        calls, at = self.notes.calls, 0
        ends, found = dict(self.notes.ends), list[tuple[Entry, tuple[int, ...]]]()
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
            alive = [self.keys[n] for n in ends.get(at, ()) if n in self.keys]
            if alive and not self.run.updates:
                found.append((self.run.entry, tuple(sorted(alive))))
        return found

    def _write_call(
        self, kind: Kind, args: list[Any], code: CodeType, lasti: int, inner: CodeType, hops: int,
        grad: bool, count: int,
    ) -> None:  # fmt: skip
        """Make the entry of a call."""
        run, op, forms = self.run, kind.op, self.notes.forms
        results = [next(self.results) for _ in range(abs(count))]
        if not run.has_room():
            return
        fresh, numbers, keys = list[int](), list[float](), list[Any]()
        for k, x in enumerate(args):
            if k not in kind.tensors:
                keys.append(run._key(x, [], numbers, kind.names[k] in op.rules))
            elif x in self.keys:
                keys.append(self.keys[x])
            else:
                self.keys[x] = "i", len(run.tensors) + len(fresh)
                fresh.append(x)
                shape, strides, dtype, how, is_tensor = forms[x]
                keys.append(Input(shape, strides, dtype.str, how, is_tensor))
        line = run.record.signatures.line(code, lasti)
        records = any(forms[n][3] for n in results)
        outlines = [Outline(*forms[n][:3], records) for n in results]
        key = (op, grad, line.key, kind.keywords, *keys)
        run.enter(kind.signature, key, (line, inner, hops), args, (count == ~0, records, outlines))
        for n in fresh:
            of = self.notes.of[n]
            if (x := of()) is not None:
                run.slots[id(x)] = len(run.tensors)
            run.tensors.append(of)
        run.numbers += numbers
        self._keep(results)

    def _write_walk(self, note: WalkNote) -> None:
        """Make the entry of a backward."""
        run, forms = self.run, self.notes.forms
        made = [next(self.results) for _ in note.gradients]
        places = tuple([self.keys.get(n) for n in note.roots])
        if None in places or not run.has_room():
            return
        reach = run.reach(places)
        if reach is None or not reach.all or reach.inner:
            return
        by_slot = {
            self.keys[leaf][1]: n
            for (leaf, _), n in zip(note.gradients, made, strict=True)
            if leaf in self.keys
        }
        found = [by_slot.get(ref.index) for ref in reach.all]
        if None in found:
            return
        asked = Asked(places, (None,) * len(places), [], reach)
        asked.targets, added = reach.all, (None,) * len(found)
        key = ("backward", *asked.key(), True, False, added, *note.line)
        entry = run.walk(asked, note.line, True, added)
        entry.simple, entry.key = True, key
        entry.outlines = tuple([Outline(*forms[n][:3], False) for n in found])
        run.grow(entry, key)
        self._keep(found)

    def _keep(self, numbers: Sequence[Any]) -> None:
        """Let some tensors be the next values of the run."""
        run = self.run
        for n in numbers:
            of = self.notes.of[n]
            self.keys[n] = len(run.outputs)
            if (x := of()) is not None:
                run.recorded[id(x)] = of, len(run.outputs)
            run.outputs.append(of)


def _begin(run: Run) -> None:
    """Let a run that is recording note what is called from here on."""
    if not run.record.fixed:
        run.notes, run.known = Notes(), run.record.signatures.noted  # type: ignore[attr-defined]
        run.__class__ = NotingRun  # type: ignore[assignment]


def _is_plain(x: Any) -> bool:
    """Whether an argument is its own description, and never changes."""
    return type(x) in _PLAIN or (type(x) is tuple and all(map(_is_plain, x)))


def _shows_exposed(args: Any) -> bool:
    """Whether others may write to what a call brings of tensors."""
    return any(isinstance(x, Tensor | np.ndarray) and shows_exposed(x) for x in args)


# So many kinds of calls are known; with more of them, they are found anew.
_MOST = 4096
_UNKNOWN, _NEVER = object(), object()
_NOTHING: tuple[Any, int] = (lambda: None), 0
Run.noting = _begin
