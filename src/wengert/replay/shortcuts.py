"""What stands for the calls of a function that can only do what two calls have done."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.transforms.tree import Spec, flatten_tree, unflatten_tree
from wengert.core.device import device
from wengert.core.generators import Generator, default_generator
from wengert.core.tensor import Tensor, internal, new, tick
from wengert.replay.counting import count_backward
from wengert.replay.deferred import Deferred, settle
from wengert.replay.direct import deferred_at
from wengert.replay.guards import Guard, UnguardedError
from wengert.replay.observing import READS, Effect, Observer, Preparation, Value
from wengert.replay.record import Record
from wengert.replay.run import Run
from wengert.replay.state import active, shows_exposed
from wengert.replay.storing import Store, is_own
from wengert.replay.trace import (
    BackwardEntry,
    CheckpointEntry,
    Entry,
    LeafEntry,
    Memo,
    OpEntry,
    Ref,
    input_of,
    nobody,
)
from wengert.replay.walks import is_quiet

_VALUES = (bool, int, float, complex, str, bytes, type(None))


class Form:
    """What arguments have to be like, and the settings of the thread."""

    def __init__(self, leaves: Sequence[Any], settings: Any) -> None:
        self.settings, self.kinds = settings, [*map(type, leaves)]
        self.leaves = [Memo(input_of(x)) if isinstance(x, Tensor) else x for x in leaves]
        self.objects = [x for x in leaves if not isinstance(x, (Tensor, *_VALUES))]

    def fits(self, leaves: Sequence[Any], settings: Any) -> bool:
        """Whether arguments are like these."""
        if len(leaves) != len(self.leaves) or settings != self.settings:
            return False
        for x, one, kind in zip(leaves, self.leaves, self.kinds):  # noqa: B905 (of one length)
            if type(x) is not kind or not (one.fits(x) if type(one) is Memo else is_same(one, x)):
                return False
        return True


class Argument(NamedTuple):
    """An argument of the call, by its place."""

    place: int


class Prepared(NamedTuple):
    """A result of a preparation, by the places of both."""

    preparation: int
    result: int


class Late(NamedTuple):
    """A result of an operation that came after an effect, by the places of both."""

    effect: int
    result: int


class Way(NamedTuple):
    """What a watched call has done.

    Attributes:
        path: the entries of the record that it went along.
        code: what ran.
        inputs: of each input of the run an `Argument`, what a preparation gave, or the tensor.
        preparations: what was computed at once, or looked at.
        prepared: what that gave: a `Memo` of each tensor or array, and values.
        draws: whether random numbers were drawn, by preparations.
        effects: the calls that change something, and operations that follow, after so many entries.
        numbers: the Python floats among its operands.
        sites: of each step, where operations were recorded, and where that was turned off.
        writes: by place, how often its tensor was written to, as in `Run`.
        stores: by place, the slot of the tensor to whose memory it is written, and what a store
            tells.
        outputs: the results.
        spec: the structure of the results.
    """

    path: list[Entry]
    code: frozenset[Any]
    inputs: tuple[Any, ...]
    preparations: tuple[Preparation, ...]
    prepared: tuple[tuple[Any, ...], ...]
    draws: bool
    effects: tuple[tuple[int, Effect | Preparation], ...]
    numbers: tuple[float, ...]
    sites: tuple[tuple[Any, Any], ...]
    writes: dict[int, int]
    stores: dict[int, tuple[int, tuple[Any, ...]]]
    outputs: tuple[Any, ...]
    spec: Spec

    def is_like(self, other: Way) -> bool:
        """Whether another call has done the same."""
        return (
            self.path == other.path
            and self.code == other.code
            and len(self.inputs) == len(other.inputs)
            and all(map(is_same, self.inputs, other.inputs))
            and self.stores == other.stores
            and [*map(len, self.prepared)] == [*map(len, other.prepared)]
            and _keys(self.effects) == _keys(other.effects)
            and all(map(is_same, self.numbers, other.numbers))
            and [*map(type, self.outputs)] == [*map(type, other.outputs)]
            and all(map(is_same, self.outputs, other.outputs))
            and self.spec == other.spec
        )


class Following:
    """A call that takes a shortcut: its run, and what its places stand for."""

    def __init__(self, run: Run, path: Sequence[Entry], leaves: Sequence[Any]) -> None:
        self.run, self.path, self.leaves = run, path, leaves
        self.prepared: list[tuple[Any, ...]] = []
        self.late: list[tuple[Any, ...]] = []
        self.made: dict[int, Deferred] = {}

    def value(self, x: Any) -> Any:
        """What something stands for; other objects stand for themselves."""
        kind = type(x)
        if kind is Argument:
            return self.leaves[x.place]
        if kind is Prepared:
            return self.prepared[x.preparation][x.result]
        if kind is Late:
            return self.late[x.effect][x.result]
        return self.tensor(x.place) if kind is Value else x

    def tensor(self, place: int) -> Any:
        """The deferred tensor of a place."""
        made, run = self.made, self.run
        if place not in made:
            deferred_at(run, self.path, place, made)
            for k, tensor in made.items():
                run.outputs[k] = weakref.ref(tensor)
            run.held += made
        return made[place]


class Shortcut:
    """Defers the operations of a call whose arguments are of a form.

    Attributes:
        guard: holds what the function's code can reach.
        proven: whether a second call that was watched went the same way.
        immediate: what computes the values in the call, where that is better than to defer them.
    """

    immediate: Any = None

    def __init__(self, form: Form, guard: Guard, way: Way) -> None:
        self.form, self.guard, self.way, self.proven = form, guard, way, False
        last = way.path[-1]
        self.values = last.first + len(last.outlines)
        self.walks = [e for e in way.path if isinstance(e, BackwardEntry)]
        before, end = way.path.index(self.walks[0]) if self.walks else 0, len(way.path)
        walked = way.path.index(self.walks[-1]) + 1 if self.walks else end
        # Gradients are taken away as well at the end, if none comes in the meantime.
        happened = [
            (end if walked <= count and _takes_gradients(one) else count, one)
            for count, one in way.effects
        ]
        effects = [(count, one) for count, one in happened if isinstance(one, Effect)]
        self.clearing = [effect for count, effect in effects if count <= before]
        self.effects_before = [pair for pair in effects if pair[0] < end]
        self.after = [one for count, one in happened if count == end]
        late = [one for one in self.after if not isinstance(one, Effect)]
        read = [x for one in late for x in one.args]
        self.asked = [x.place for x in (*way.outputs, *read) if type(x) is Value]
        self.steps = [(*site, 0) for site in way.sites]
        operations = [e for e in way.path if isinstance(e, OpEntry)]
        self.updates = {e: refs for e in operations if (refs := _updated(e))}
        self.buffers = [
            way.inputs[r.index] for refs in self.updates.values() for r in refs if r.kind == "input"
        ]
        self.stored = [way.inputs[slot] for slot, _ in way.stores.values()]
        # Inputs of which views are shown: these are of their memory, not of a copy.
        self.shown = {
            r.index for e in operations if e.op.view and (r := e.refs[e.op.inputs[0]]) is not None
            and r.kind == "input"
        }  # fmt: skip
        # Whether there is more to a step than that it is one: nodes, which have numbers, say.
        self.numbered = bool(self.walks or self.updates) or any(e.records for e in operations)

    def prepare(self, record: Record, leaves: Sequence[Any]) -> Following | None:
        """What follows for other arguments; None if the way may depend on their elements."""
        words = default_generator.get_state() if self.way.draws else None
        following = self._begun(record, leaves)
        if following is None and words is not None:
            default_generator.set_state(words)  # Python is to draw them
        return following

    def _begun(self, record: Record, leaves: Sequence[Any]) -> Following | None:
        way, run = self.way, Run(record)
        following = Following(run, way.path, leaves)
        value, prepared = following.value, following.prepared
        for one, expected in zip(way.preparations, way.prepared, strict=True):
            before = active.set_busy(True)
            try:
                found = one.function(*map(value, one.args), **one.kwargs)
            except Exception:
                return None  # Python is to raise it
            finally:
                active.set_busy(before)
            values = found if type(found) is tuple else (found,)
            for x, like in zip(values, expected, strict=True):
                if not (like.fits(x) if type(like) is Memo else is_same(like, x)):
                    return None
            prepared.append(values)
        if not self.may_update():
            return None
        run._bind([*map(value, way.inputs)], [*way.numbers])
        if any(run.arrays[k] is not run.originals[k] for k in self.shown):
            return None
        return following if self._may_walk(run) else None

    def settle(self) -> None:
        """Let buffers show the elements that the last call has deferred."""
        for x in (*self.buffers, *self.stored):
            if type(x) is Deferred:
                settle(x)

    def may_update(self) -> bool:
        """Whether nobody sees that buffers are written to later; no run holds their memory yet."""
        if not all(map(is_own, self.stored)):
            return False
        return all([type(x) is Tensor and not shows_exposed(x) for x in self.buffers])

    def _may_walk(self, run: Run) -> bool:
        """Whether gradients can be deferred: nobody listens, and there are none to add to."""
        cleared: set[int] | None = None
        tensors, edges = run.tensors, run.edges
        for walk in self.walks:
            added = walk.added or walk.leaves  # of `autograd.grad`, no matter what
            for slot, before in zip(walk.leaves, added, strict=True):
                leaf = tensors[slot]()
                if leaf is None or not is_quiet(leaf, edges[slot]):
                    return False
                if before is not None or getattr(leaf, "_grad", None) is None:
                    continue
                if cleared is None:
                    cleared = {id(p) for effect in self.clearing for p in effect.cleared()}
                if id(leaf) not in cleared:
                    return False
        return True

    def follow(self, following: Following) -> Any:
        """The results of a call, deferred unless an effect has asked for them."""
        way, run = self.way, following.run
        run.outputs, run.writes = [nobody] * self.values, {**way.writes}
        run.spare = self.values
        run._watch()
        done = 0
        for count, effect in self.effects_before:
            done = self._defer(run, done, count)
            effect.happen()
        self._defer(run, done, len(way.path))
        for place in self.asked:
            following.tensor(place)
        for one in self.after:
            if isinstance(one, Effect):
                one.happen()
            else:
                found = one.function(*map(following.value, one.args), **one.kwargs)
                following.late.append(found if type(found) is tuple else (found,))
        return unflatten_tree([*map(following.value, way.outputs)], way.spec)

    def _defer(self, run: Run, start: int, stop: int) -> int:
        """Take some of the steps; where that has come to."""
        way = self.way
        if not self.numbered:
            run.steps += self.steps[start:stop]
        else:
            for entry, (site, off) in zip(way.path[start:stop], way.sites[start:stop], strict=True):
                run.steps.append((site, off, tick()))
                if isinstance(entry, BackwardEntry):
                    count_backward(entry)
                    self._walk(run, entry)
                elif entry in self.updates:
                    buffers = [x() for x in map(partial(_reference, run), self.updates[entry])]
                    run.update(buffers, entry.outlines[1:], entry.first + 1)
                elif not entry.single:  # type: ignore[attr-defined]
                    tick()  # for the nodes of its results
        if stop:
            run.entry = way.path[stop - 1]
        return stop

    def _walk(self, run: Run, walk: BackwardEntry) -> None:
        """Give the leaves of a backward their gradients, or what those become."""
        for k, (slot, before) in enumerate(zip(walk.leaves, walk.added or (), strict=False)):
            leaf = run.tensors[slot]()
            if before is None:
                leaf._grad = new(Deferred)
            else:
                run.outputs[before] = nobody
            leaf._grad._pending = run, walk.first + k, walk.outlines[k], None
            run.outputs[walk.first + k] = weakref.ref(leaf._grad)
            run.held.append(walk.first + k)


def way_of(run: Run, observer: Observer, leaves: Sequence[Any], results: Any) -> Way:
    """What a watched call has done; UnguardedError where a shortcut could not do it."""
    path = observer.path()
    if any(isinstance(e, LeafEntry) for e in path):
        raise UnguardedError("requires_grad_() makes a leaf of a value")
    if any(isinstance(e, CheckpointEntry) for e in path):
        raise UnguardedError("the function of a checkpoint runs again in the backward")
    if any(type(run.outputs[place]) is not weakref.ref for place in _gradients(path).values()):
        raise UnguardedError("it writes to gradients in place")
    if not path or not all(_may_be_skipped(e) for e in path):
        raise UnguardedError("no operation in it can be deferred" if not path else
                             "it adds to gradients of other calls")  # fmt: skip
    sources: dict[int, Any] = {
        id(x): Argument(k) for k, x in enumerate(leaves) if isinstance(x, Tensor)
    }
    preparations = [
        _in_places(one, sources, partial(Prepared, k))
        for k, one in enumerate(observer.preparations)
    ]
    inputs = [of() for of in run.tensors]
    if len(observer.sites) != len(path):
        raise UnguardedError("it reads a value")
    if any(x is None for x in inputs):
        raise UnguardedError("a tensor is made in it that no operation on record has made")
    given = tuple([sources.get(id(x), x) for x in inputs])
    sources = observer.values() | sources
    effects: list[tuple[int, Effect | Preparation]] = []
    late = 0
    for count, one in observer.effects:
        if isinstance(one, Preparation):
            effects.append((count, _in_places(one, sources, partial(Late, late))))
            late += 1
        else:
            effects.append((count, one))
    found, spec = flatten_tree(results)
    return Way(
        path=path,
        code=frozenset(observer.executed),
        inputs=given,
        preparations=tuple(preparations),
        prepared=tuple([tuple(map(_expected, one.values())) for one in observer.preparations]),
        draws=observer.draws(),
        effects=tuple(effects),
        numbers=tuple(observer.numbers),
        sites=tuple(observer.sites),
        writes=observer.writes,
        stores={place: _stored(run, made) for place, made in observer.stores.items()},
        outputs=tuple([_output(x, sources) for x in found]),
        spec=spec,
    )


def _updated(entry: OpEntry) -> list[Ref]:
    """The buffers that an operation updates."""
    return [ref for name in entry.op.updates if (ref := entry.refs[name]) is not None]


def _gradients(path: Sequence[Entry]) -> dict[int, int]:
    """The places of the gradients that backwards have given to leaves last, by slot."""
    walks = [e for e in path if isinstance(e, BackwardEntry) and e.added is not None]
    return {slot: e.first + k for e in walks for k, slot in enumerate(e.leaves)}


def _stored(run: Run, made: Store) -> tuple[int, tuple[Any, ...]]:
    """The slot of the tensor to whose memory is written, and what is told of that."""
    x = made.first()
    slot = run.slots.get(id(x))
    if slot is None or run.tensors[slot]() is not x:
        raise UnguardedError("it writes to memory")
    return slot, made.told()


def _takes_gradients(one: Effect | Preparation) -> bool:
    return isinstance(one, Effect) and one.name == "__setattr__"


def _reference(run: Run, ref: Ref) -> Any:
    """The reference to an operand's tensor."""
    return run.tensors[ref.index] if ref.kind == "input" else run.outputs[ref.index]


def _is_array(x: Any) -> bool:
    return isinstance(x, Tensor | np.ndarray)


def _may_be_skipped(entry: Entry) -> bool:
    if isinstance(entry, OpEntry):
        return True
    assert isinstance(entry, BackwardEntry)
    if entry.onward:
        return False
    # None to add to, or those of a walk before it.
    return entry.added is None or all(place is None or place >= 0 for place in entry.added)


def _expected(x: Any) -> Any:
    return Memo(input_of(x)) if _is_array(x) else x


def _in_places(one: Preparation, sources: dict[int, Any], result: Any) -> Preparation:
    """A call with places for its arguments; its results become sources of others."""
    args = tuple([sources.get(id(x), x) for x in one.args])
    read = one.function in READS
    named = [(n, x) for n, x in enumerate(one.values()) if read or _is_array(x)]
    sources.update({id(x): result(n) for n, x in named})
    return one._replace(args=args, results=None)


def _output(x: Any, sources: dict[int, Any]) -> Any:
    source = sources.get(id(x)) if type(x) is float or not is_value(x) else None
    if source is None and is_value(x):
        return x
    if source is None:
        raise UnguardedError(f"a result of type {type(x).__name__} is none of its operations'")
    return source


def check_sources(way: Way, guard: Guard) -> None:
    """UnguardedError for a tensor that comes from where no guard looks."""
    late = [one for _, one in way.effects if isinstance(one, Preparation)]
    given, _ = flatten_tree([(one.args, one.kwargs) for one in (*way.preparations, *late)])
    for x in given:
        if not (_is_array(x) or is_value(x) or guard.has(x) or _is_constant(x)):
            raise UnguardedError(f"a {type(x).__name__} comes from where no guard looks")
    for x in (*way.inputs, *given):
        if _is_array(x) and id(x) not in guard.tensors:
            kind = "a tensor" if isinstance(x, Tensor) else "an array"
            raise UnguardedError(f"{kind} comes from where no guard looks")
    for effect in [one for _, one in way.effects if isinstance(one, Effect)]:
        for x in (effect.owner, *effect.args, *effect.kwargs.values()):
            if not (is_value(x) or guard.has(x) or _is_of_library(x)):
                raise UnguardedError(f"{effect.name}() has an argument that no guard looks at")


def is_value(x: Any) -> bool:
    """Whether an object is a number, a text or None."""
    return isinstance(x, _VALUES)


def is_same(one: Any, other: Any) -> bool:
    """Whether two objects are the same, or values that nothing tells apart."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Argument | Prepared | Value | Late | device):
        return bool(one == other)
    return is_value(one) and repr(one) == repr(other)


def _is_constant(x: Any) -> bool:
    """Whether an argument is an object that no user changes."""
    kind = type(x)
    own = kind.__module__.startswith(("wengert.", "builtins", "numpy"))
    return own and not isinstance(x, Generator)


def _is_of_library(x: Any) -> bool:
    """Whether an object is a function of the library."""
    return isinstance(x, FunctionType) and x.__code__.co_filename in internal


def _keys(effects: Sequence[tuple[int, Effect | Preparation]]) -> list[Any]:
    return [
        (k, id(e.owner), e.name, repr((e.args, e.kwargs))) if isinstance(e, Effect) else
        (k, id(e.function), len(e.args), repr([x for x in e.args if is_value(x)]))
        for k, e in effects
    ]  # fmt: skip
