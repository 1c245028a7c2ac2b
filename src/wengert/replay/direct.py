"""Functions without Python: programs whose calls need no look at anything but their arguments.

What a graph of operations computes depends on its tensors alone. Its first call with tensors of
some shapes is recorded; those that follow run the program of that record, and nothing else.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Sequence
from threading import get_ident
from time import perf_counter
from typing import Any, NamedTuple

from wengert.amp import state as autocast
from wengert.autograd.transforms.tree import Spec, flatten_tree, unflatten_tree
from wengert.core.storage import clock
from wengert.core.tensor import mode, new, tick
from wengert.replay.arming import arm
from wengert.replay.background import background
from wengert.replay.compiled import Compiled
from wengert.replay.deferred import Deferred, has_memory
from wengert.replay.record import Record
from wengert.replay.run import Run
from wengert.replay.stance import Stance
from wengert.replay.state import active, enter, inside, stop_asking, unusual
from wengert.replay.trace import Entry, OpEntry, input_of, inputs_of

# With tensors of so many different shapes a function is called by its program.
_MOST_FORMS = 64


class Straight(NamedTuple):
    """The program of a function for tensors of some form.

    Attributes:
        start: where its record begins; `path` are the entries from there on.
        slots: of each input of the program, which of the arguments it is.
        outputs: of each result, the place of a value or (`~k`) an argument; None for a None.
        spec: the structure of the results.
        records: whether some of them have a place in a graph.
    """

    start: Entry
    path: list[OpEntry]
    slots: tuple[int, ...]
    outputs: tuple[int | None, ...]
    spec: Spec
    records: bool


class Direct(Compiled):
    """A function of tensors that reads nothing but their elements, and changes nothing.

    Calls that see something else, such as a transform, run the function.

    Attributes:
        straights: the programs by what they are for; None where there is more to a call.
    """

    straights: dict[Any, Straight | None]

    def forget(self) -> None:
        """Begin anew."""
        super().forget()
        self.record = Record(self.exact, fixed=True)
        self.straights = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives for tensors (or None) by position."""
        form = None if kwargs or active.inside or self.record.retired else _form_of(args)
        if form is None or Stance.eager or active.busy:
            return self.function(*args, **kwargs)
        if form not in self.straights:
            known = len(self.straights) < _MOST_FORMS
            return self._recorded(form, args) if known else self.function(*args)
        straight, start = self.straights[form], perf_counter()
        if straight is None or self._is_on_trial(start, args):
            return self.function(*args)
        if self.record not in background.making:
            self.trial.calls += 1  # the trial waits for the programs
        results = _computed(self.record, straight, args)
        self._count(perf_counter() - start)
        return results

    def _review(self) -> None:
        """Retire the record if programs do not pay."""
        self.record.retired = self.trial.is_slower()

    def _recorded(self, form: Any, args: Sequence[Any]) -> Any:
        """The results of a first call, which is noted."""
        arm()
        run = Run(self.record, Entry(None, None))
        newest = clock.newest
        active.set_run(run)
        active.inside, active.whole = 1, False
        enter()
        try:
            results = self.function(*args)
        finally:
            active.inside = 0
            active.set_run(None)
            inside.discard(get_ident())
            stop_asking()
        # Something may have been written, be it by another thread: what then, it does not say.
        written = clock.newest != newest
        self.straights[form] = None if written else _straight(run, args, results)
        return results


def _form_of(args: Sequence[Any]) -> Any:
    """What programs depend on apart from elements; None where operations are to be called.

    That is where somebody else sees them, or where an argument is no ordinary tensor.
    """
    if unusual() or len({*map(id, args)}) < len(args):
        return None
    forms: list[Any] = [mode.site is None, autocast.settings()]
    for x in args:
        if x is None:
            forms.append(None)
        elif has_memory(x):
            forms.append(input_of(x))
        else:
            return None
    return tuple(forms)


def _straight(run: Run, args: Sequence[Any], results: Any) -> Straight | None:
    """The program of a call that has been recorded; None if there is more to it."""
    path = run.entry.path()
    plain = [e for e in path if isinstance(e, OpEntry) and not e.updated]
    if not run.recording or len(plain) < len(path) or len(inputs_of(path)) < len(run.tensors):
        return None
    arguments = {id(x): k for k, x in enumerate(args) if x is not None}
    places = {x: ~k for x, k in arguments.items()}
    places.update((id(x), k) for of, k in run.recorded.values() if (x := of()) is not None)
    inputs, (leaves, spec) = [of() for of in run.tensors], flatten_tree(results)
    if not all(id(x) in arguments for x in inputs):
        return None
    if not all(x is None or id(x) in places for x in leaves):
        return None
    slots = tuple([arguments[id(x)] for x in inputs])
    outputs = tuple([None if x is None else places[id(x)] for x in leaves])
    return Straight(run.start, plain, slots, outputs, spec, any(e.records for e in plain))


def _computed(record: Record, straight: Straight, args: Sequence[Any]) -> Any:
    """The results of a program."""
    path, inputs = straight.path, [args[k] for k in straight.slots]
    run = Run(record, path[-1])
    run.tensors = [weakref.ref(x) for x in inputs]
    # They are read at once: nobody can write to them before.
    run.arrays = run.originals = [x._array for x in inputs]
    run.edges = [x._edge for x in inputs]
    site = mode.site
    if straight.records:
        run.steps = [(site, None, _next_number(entry)) for entry in path]
    else:
        run.steps = [(site, mode.off if site is None else None, 0)] * len(path)
    made: dict[int, Deferred] = {}
    results = [
        None if k is None else args[~k] if k < 0 else deferred_at(run, path, k, made)
        for k in straight.outputs
    ]
    run.fill(sorted(made.items()))
    return unflatten_tree(results, straight.spec)


def _next_number(entry: OpEntry) -> int:
    """That of an operation's node; those of its several results come after it."""
    number = tick()
    if not entry.single:
        tick()
    return number


def deferred_at(run: Run, path: Sequence[Entry], place: int, made: dict[int, Deferred]) -> Deferred:
    """The tensor of a place, which is to be filled; before it what it is a view of."""
    if place not in made:
        entry = path[bisect_right(path, place, key=_first) - 1]
        source = None
        if isinstance(entry, OpEntry) and entry.shows:
            ref = entry.refs[entry.op.inputs[0]]
            assert ref is not None
            value = ref.kind == "value"
            source = deferred_at(run, path, ref.index, made) if value else run.tensors[ref.index]()
        tensor = made[place] = new(Deferred)
        tensor._pending = run, place, entry.outlines[place - entry.first], source
    return made[place]


def _first(entry: Entry) -> int:
    return entry.first
