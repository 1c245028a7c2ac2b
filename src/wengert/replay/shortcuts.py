"""What stands for the calls of a function that can only do what two calls have done."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.transforms.tree import Spec, flatten_tree, unflatten_tree
from wengert.core.generators import Generator, default_generator
from wengert.core.tensor import Tensor, new, tick
from wengert.replay.deferred import Deferred
from wengert.replay.direct import deferred_at
from wengert.replay.guards import Guard, UnguardedError
from wengert.replay.observing import Effect, Observer, Preparation
from wengert.replay.run import Run
from wengert.replay.state import computing_at_once
from wengert.replay.trace import BackwardEntry, Entry, Memo, OpEntry, Record, input_of
from wengert.replay.walks import nobody

_VALUES = (bool, int, float, complex, str, bytes, type(None))


class Form:
    """What arguments have to be like, and the settings of the thread."""

    def __init__(self, leaves: Sequence[Any], settings: Any) -> None:
        self.settings = settings
        self.leaves = [Memo(input_of(x)) if isinstance(x, Tensor) else x for x in leaves]
        self.objects = [x for x in leaves if not isinstance(x, (Tensor, *_VALUES))]

    def fits(self, leaves: Sequence[Any], settings: Any) -> bool:
        """Whether arguments are like these."""
        if len(leaves) != len(self.leaves) or settings != self.settings:
            return False
        for x, one in zip(leaves, self.leaves):  # noqa: B905 (of one length)
            if not (one.fits(x) if type(one) is Memo else is_same(one, x)):
                return False
        return True


class Argument(NamedTuple):
    """An argument of the call, by its place."""

    place: int


class Prepared(NamedTuple):
    """A result of a preparation, by the places of both."""

    preparation: int
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
        effects: the calls that change something, after so many entries.
        numbers: the Python floats among its operands.
        sites: of each step, where operations were recorded, and where that was turned off.
        outputs: the results: an int for the place of a value, an `Argument`, a value in a list.
        spec: the structure of the results.
    """

    path: list[Entry]
    code: frozenset[Any]
    inputs: tuple[Any, ...]
    preparations: tuple[Preparation, ...]
    prepared: tuple[tuple[Any, ...], ...]
    draws: bool
    effects: tuple[tuple[int, Effect], ...]
    numbers: tuple[float, ...]
    sites: tuple[tuple[Any, Any], ...]
    outputs: tuple[Any, ...]
    spec: Spec

    def is_like(self, other: Way) -> bool:
        """Whether another call has done the same."""
        return (
            self.path == other.path
            and self.code == other.code
            and len(self.inputs) == len(other.inputs)
            and all(map(is_same, self.inputs, other.inputs))
            and [*map(len, self.prepared)] == [*map(len, other.prepared)]
            and _keys(self.effects) == _keys(other.effects)
            and all(map(is_same, self.numbers, other.numbers))
            and repr(self.outputs) == repr(other.outputs)
            and self.spec == other.spec
        )


class Shortcut:
    """Defers the operations of a call whose arguments are of a form.

    Attributes:
        guard: holds what the function's code can reach.
        proven: whether a second call that was watched went the same way.
    """

    def __init__(self, form: Form, guard: Guard, way: Way) -> None:
        self.form, self.guard, self.way, self.proven = form, guard, way, False
        last = way.path[-1]
        self.values = last.first + len(last.outlines)
        self.walks = [e for e in way.path if isinstance(e, BackwardEntry)]
        before, end = way.path.index(self.walks[0]) if self.walks else 0, len(way.path)
        self.clearing = [effect for count, effect in way.effects if count <= before]
        self.effects_before = [pair for pair in way.effects if pair[0] < end]
        self.effects_after = [effect for count, effect in way.effects if count == end]
        self.steps = [(*site, 0) for site in way.sites]
        # Whether there are nodes, which have numbers.
        self.numbered = bool(self.walks) or any(e.records for e in way.path)  # type: ignore[attr-defined]

    def prepare(self, record: Record, leaves: Sequence[Any]) -> Run | None:
        """A run for other arguments; None if its way may depend on their elements."""
        words = default_generator.get_state() if self.way.draws else None
        run = self._begun(record, leaves)
        if run is None and words is not None:
            default_generator.set_state(words)  # Python is to draw them
        return run

    def _begun(self, record: Record, leaves: Sequence[Any]) -> Run | None:
        way, prepared = self.way, list[tuple[Any, ...]]()

        def value(x: Any) -> Any:
            if type(x) is Argument:
                return leaves[x.place]
            return prepared[x.preparation][x.result] if type(x) is Prepared else x

        for one, expected in zip(way.preparations, way.prepared, strict=True):
            try:
                with computing_at_once():
                    found = one.function(*map(value, one.args), **one.kwargs)
            except Exception:
                return None  # Python is to raise it
            values = found if type(found) is tuple else (found,)
            for x, like in zip(values, expected, strict=True):
                if not (like.fits(x) if type(like) is Memo else is_same(like, x)):
                    return None
            prepared.append(values)
        run = Run(record)
        run._bind([*map(value, way.inputs)], [*way.numbers])
        return run if self._may_walk(run) else None

    def _may_walk(self, run: Run) -> bool:
        """Whether gradients can be deferred: nobody listens, and there are none to add to."""
        cleared: set[int] | None = None
        for walk in self.walks:
            for slot in walk.leaves:
                if not run._is_quiet(slot):
                    return False
                leaf = run.tensors[slot]()
                if walk.added is None or getattr(leaf, "_grad", None) is None:
                    continue
                if cleared is None:
                    cleared = {id(p) for effect in self.clearing for p in effect.cleared()}
                if id(leaf) not in cleared:
                    return False
        return True

    def follow(self, run: Run, leaves: Sequence[Any]) -> Any:
        """The results of a call, deferred unless an effect has asked for them."""
        way = self.way
        run.outputs = [nobody] * self.values
        run._watch()
        done = 0
        for count, effect in self.effects_before:
            done = self._defer(run, done, count)
            effect.happen()
        self._defer(run, done, len(way.path))
        made, found = dict[int, Deferred](), list[Any]()
        for x in way.outputs:
            if type(x) is int:
                found.append(deferred_at(run, way.path, x, made))
            else:
                found.append(leaves[x.place] if type(x) is Argument else x[0])
        for place, tensor in made.items():
            run.outputs[place] = weakref.ref(tensor)
        for effect in self.effects_after:
            effect.happen()
        return unflatten_tree(found, way.spec)

    def _defer(self, run: Run, start: int, stop: int) -> int:
        """Take some of the steps; where that has come to."""
        way = self.way
        if not self.numbered:
            run.steps += self.steps[start:stop]
        else:
            for entry, (site, off) in zip(way.path[start:stop], way.sites[start:stop], strict=True):
                run.steps.append((site, off, tick()))
                if isinstance(entry, BackwardEntry):
                    self._walk(run, entry)
                elif not entry.single:  # type: ignore[attr-defined]
                    tick()  # for the nodes of its results
        if stop:
            run.entry = way.path[stop - 1]
        return stop

    def _walk(self, run: Run, walk: BackwardEntry) -> None:
        """Give the leaves of a backward their gradients."""
        if walk.added is None:
            return
        for k, slot in enumerate(walk.leaves):
            gradient = new(Deferred)
            run.tensors[slot]()._grad = gradient
            gradient._pending = run, walk.first + k, walk.outlines[k], None
            run.outputs[walk.first + k] = weakref.ref(gradient)


def way_of(run: Run, observer: Observer, leaves: Sequence[Any], results: Any) -> Way:
    """What a watched call has done; UnguardedError where a shortcut could not do it."""
    path = observer.path()
    if not path or not all(_may_be_skipped(e) for e in path):
        raise UnguardedError("no operation in it can be deferred" if not path else
                             "it updates buffers, or adds to gradients")  # fmt: skip
    arguments = {id(x): Argument(k) for k, x in enumerate(leaves) if isinstance(x, Tensor)}
    sources: dict[int, Any] = {**arguments}
    preparations = []
    for k, one in enumerate(observer.preparations):
        args = tuple([sources.get(id(x), x) for x in one.args])
        preparations.append(one._replace(args=args, results=None))
        made = {id(x): Prepared(k, n) for n, x in enumerate(one.values()) if _is_array(x)}
        sources = made | sources
    inputs = [of() for of in run.tensors]
    if any(x is None for x in inputs):
        raise UnguardedError("a tensor is made in it that no operation on record has made")
    found, spec = flatten_tree(results)
    return Way(
        path=path,
        code=frozenset(observer.executed),
        inputs=tuple([sources.get(id(x), x) for x in inputs]),
        preparations=tuple(preparations),
        prepared=tuple([tuple(map(_expected, one.values())) for one in observer.preparations]),
        draws=observer.draws(),
        effects=tuple(observer.effects),
        numbers=tuple(observer.numbers),
        sites=tuple(observer.sites),
        outputs=tuple([_output(x, observer, arguments) for x in found]),
        spec=spec,
    )


def _is_array(x: Any) -> bool:
    return isinstance(x, Tensor | np.ndarray)


def _may_be_skipped(entry: Entry) -> bool:
    if isinstance(entry, OpEntry):
        return not entry.updated
    assert isinstance(entry, BackwardEntry)
    return entry.added is None or all(place is None for place in entry.added)


def _expected(x: Any) -> Any:
    return Memo(input_of(x)) if _is_array(x) else x


def _output(x: Any, observer: Observer, arguments: dict[int, Argument]) -> Any:
    if isinstance(x, Tensor):
        place = observer.place_of(x)
        if place is not None:
            return place
        if id(x) in arguments:
            return arguments[id(x)]
    elif is_value(x):
        return [x]
    raise UnguardedError(f"a result of type {type(x).__name__} is none of its operations'")


def check_sources(way: Way, guard: Guard) -> None:
    """UnguardedError for a tensor that comes from where no guard looks."""
    given, _ = flatten_tree([(one.args, one.kwargs) for one in way.preparations])
    for x in given:
        if not (_is_array(x) or is_value(x) or guard.has(x) or _is_constant(x)):
            raise UnguardedError(f"a {type(x).__name__} comes from where no guard looks")
    for x in (*way.inputs, *given):
        if _is_array(x) and id(x) not in guard.tensors:
            kind = "a tensor" if isinstance(x, Tensor) else "an array"
            raise UnguardedError(f"{kind} comes from where no guard looks")
    for _, effect in way.effects:
        for x in (effect.owner, *effect.args, *effect.kwargs.values()):
            if not is_value(x) and not guard.has(x):
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
    if isinstance(one, Argument | Prepared):
        return bool(one == other)
    return is_value(one) and repr(one) == repr(other)


def _is_constant(x: Any) -> bool:
    """Whether an argument is an object that no user changes."""
    kind = type(x)
    own = kind.__module__.startswith(("wengert.", "builtins", "numpy"))
    return own and not isinstance(x, Generator)


def _keys(effects: Sequence[tuple[int, Effect]]) -> list[Any]:
    return [(k, id(e.owner), e.name, repr((e.args, e.kwargs))) for k, e in effects]
