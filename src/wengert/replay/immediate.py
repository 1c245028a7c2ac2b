"""Shortcuts of calls with a backward: their values are computed in the call, and none is deferred.

Such a call hands out gradients, which an optimizer reads at once, and a graph that is released.
So a program is called with the memory of its inputs, and what it gives becomes tensors.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.autograd.engine import compatibility
from wengert.autograd.transforms.tree import unflatten_tree
from wengert.core.generators import default_generator
from wengert.core.storage import add_writes
from wengert.core.tensor import Tensor, tick, wrap
from wengert.replay.bindings import Binding
from wengert.replay.counting import count_backward
from wengert.replay.observing import Effect, Value
from wengert.replay.plans import Plan, count_use, cut_of, plan_of
from wengert.replay.record import Record
from wengert.replay.rules import Step
from wengert.replay.settling import made_nodes, own_arrays
from wengert.replay.shortcuts import Argument, Late, Prepared, Shortcut, is_same
from wengert.replay.state import active, stop_asking
from wengert.replay.storing import restamp
from wengert.replay.trace import BackwardEntry, Memo, OpEntry
from wengert.replay.walks import is_quiet

# What a call gives that Python has to make.
NOT_TAKEN = object()


class Immediate:
    """Computes what the calls of a shortcut give.

    Attributes:
        gradients: of each leaf that a backward comes to, by slot, the place of its gradient.
        updates: of each buffer that is written to, by place, its slot.
        alive: the places of the values that are handed out.
    """

    def __init__(self, shortcut: Shortcut) -> None:
        self.way = way = shortcut.way
        self.clearing, self.after = shortcut.clearing, shortcut.after
        self.gradients: dict[int, int] = {}
        reached: set[int] = set()
        for walk in shortcut.walks:
            reached.update(walk.leaves)
            if walk.added is not None:
                places = range(walk.first, walk.first + len(walk.leaves))
                self.gradients.update(zip(walk.leaves, places, strict=True))
        self.stores = self.way.stores
        self.updates = _last_updates(shortcut) | {k: slot for k, (slot, _) in self.stores.items()}
        self._cleared = [*self.gradients]
        for slot in _taken(self.after, self.way.inputs, self.gradients, shortcut.asked):
            del self.gradients[slot]
        self.asked = [k for k in shortcut.asked if k not in self.gradients.values()]
        self.alive = tuple(sorted({*self.asked, *self.gradients.values(), *self.updates}))
        self._backwards = [k for k, e in enumerate(way.path) if isinstance(e, BackwardEntry)]
        self._plan: Plan | None = None
        self._numbered: list[tuple[int, int]] = []  # steps, and the nodes of each
        # The tensors that are the same at every call, and the slots of the others.
        kinds = (Argument, Prepared)
        self._inputs: list[Any] = [None if isinstance(x, kinds) else x for x in way.inputs]
        self._others = [(k, x) for k, x in enumerate(way.inputs) if isinstance(x, kinds)]
        # Leaves that a backward comes to, and those of them that the guard does not look at.
        self._reached = sorted(reached)
        self._varying = [slot for slot in self._reached if self._inputs[slot] is None]
        # Places whose values may have left a graph.
        self._cuts: list[int] = []
        self._steps, self._walks = shortcut.steps, shortcut.walks
        self._leaf = way.spec.kind is None

    def call(self, shortcut: Shortcut, record: Record, leaves: Sequence[Any]) -> Any:
        """The results of a call with these arguments; NOT_TAKEN if Python has to run."""
        words = default_generator.get_state() if self.way.draws else None
        before = active.set_busy(True)
        try:
            prepared = self._prepared(leaves)
            inputs = None
            if prepared is not None and shortcut.may_update():
                inputs = self._bound(shortcut, leaves, prepared)
            if inputs is None:
                if words is not None:
                    default_generator.set_state(words)  # Python is to draw them
                return NOT_TAKEN
            made = self._computed(record, inputs)
            return self._finished(made, leaves, prepared)
        finally:
            active.set_busy(before)
            active.set_run(None)
            active.behind = None
            stop_asking()

    def _prepared(self, leaves: Sequence[Any]) -> list[tuple[Any, ...]] | None:
        """What is computed beforehand; None if the way may depend on it."""
        way, prepared = self.way, list[tuple[Any, ...]]()
        for one, expected in zip(way.preparations, way.prepared, strict=True):
            args = [_value(x, leaves, prepared) for x in one.args]
            try:
                found = one.function(*args, **one.kwargs)
            except Exception:
                return None  # Python is to raise it
            values = found if type(found) is tuple else (found,)
            for x, like in zip(values, expected, strict=True):
                if not (like.fits(x) if type(like) is Memo else is_same(like, x)):
                    return None
            prepared.append(values)
        return prepared

    def _bound(
        self, shortcut: Shortcut, leaves: Sequence[Any], prepared: list[tuple[Any, ...]]
    ) -> list[Any] | None:
        """The inputs, whose leaves wait for gradients; None if somebody would see these come."""
        inputs = [*self._inputs]
        for slot, source in self._others:
            inputs[slot] = _value(source, leaves, prepared)
        for effect in self.clearing:
            effect.happen()
        for slot in self._varying if shortcut.guard.quiet else self._reached:
            if not is_quiet(inputs[slot], inputs[slot]._edge):
                return None
        for slot in self._cleared:
            if getattr(inputs[slot], "_grad", None) is not None:
                return None
        return inputs

    def _computed(self, record: Record, inputs: list[Any]) -> dict[int, Tensor]:
        """The tensors that are handed out, by place."""
        arrays = [x if type(x) is np.ndarray else x._array for x in inputs]
        plan = self._plan_of(record)
        count_use(plan, record)
        for walk in self._walks:
            count_backward(walk)
        record.settled += 1
        record.deferred += len(self._steps)
        function, fresh, constants = plan.code  # at once: another thread may compile it
        results = function(arrays, self.way.numbers)
        memory = {place: arrays[slot] for place, slot in self.updates.items()}
        edges = [None if type(x) is np.ndarray else x._edge for x in inputs]
        references = [weakref.ref(x) for x in inputs] if self._cuts else []
        binding = Binding(references, arrays, edges, self._steps_now(), memory)
        own: Sequence[np.ndarray] = results
        if memory or len(fresh) < len(self.alive):
            taken = {*map(id, arrays), *map(id, constants.values())}
            own = own_arrays(plan, binding, results, fresh, taken)
        return self._filled(plan, binding, results, own, inputs)

    def _filled(
        self, plan: Plan, binding: Binding, results: Sequence[Any], own: Sequence[np.ndarray],
        inputs: list[Any],
    ) -> dict[int, Tensor]:  # fmt: skip
        """The tensors of some arrays, with their nodes, and the gradients in their place."""
        made = dict(zip(self.alive, map(wrap, own), strict=False))  # nodes save what follows
        for slot, place in self.gradients.items():
            inputs[slot]._grad = made[place]
        if plan.nodes:
            for place, node in made_nodes(plan, binding, results, own).items():
                if place in made:
                    made[place]._edge = node
        for place in self._cuts:
            made[place]._cut = cut_of(plan, binding, place)
        for place, (slot, told) in self.stores.items():
            restamp(made[place]._array, *told)
            if inputs[slot]._edge is None:
                inputs[slot]._cut = made[place]._cut
        for place, count in self.way.writes.items():
            if place in made:
                add_writes(made[place]._array, count)
        return made

    def _plan_of(self, record: Record) -> Plan:
        plan = self._plan
        if plan is None or plan.lenient is not compatibility.lenient:
            path = self.way.path
            plan = self._plan = plan_of(record, path[-1], self.alive)
            steps = {plan.step_of[plan.lowering.entries[k].first] for k in plan.nodes}
            # Whether an operation has results whose nodes come after its own.
            self._numbered = [
                (k, 2 if isinstance(e := path[k], OpEntry) and not e.single else 1)
                for k in sorted({*steps, *self._backwards})
            ]
            known = plan.lowering.entries.keys() - {*plan.nodes}
            self._cuts = [k for k in (*self.asked, *self.stores) if k in known]
        return plan

    def _steps_now(self) -> list[Step]:
        """The steps of a call, of which nodes and backwards have numbers."""
        steps = [*self._steps]
        for k, numbers in self._numbered:
            steps[k] = (*steps[k][:2], tick())
            if numbers > 1:
                tick()
        return steps

    def _finished(self, made: dict[int, Tensor], leaves: Any, prepared: Any) -> Any:
        """What comes after all operations, and the results."""
        late: list[tuple[Any, ...]] = []
        for one in self.after:
            if isinstance(one, Effect):
                one.happen()
            else:
                args = [_value(x, leaves, prepared, made, late) for x in one.args]
                found = one.function(*args, **one.kwargs)
                late.append(found if type(found) is tuple else (found,))
        results = [_value(x, leaves, prepared, made, late) for x in self.way.outputs]
        return results[0] if self._leaf else unflatten_tree(results, self.way.spec)


def immediate(shortcut: Shortcut) -> Immediate | None:
    """What computes the calls of a shortcut at once; None where values are better deferred."""
    way = shortcut.way
    before = [effect for _, effect in shortcut.effects_before]
    if not (shortcut.walks or way.stores):
        return None
    if any(effect.name not in ("zero_grad", "__setattr__") for effect in before):
        return None
    found = Immediate(shortcut)
    cleared = {*map(id, shortcut.clearing)}
    if not cleared.issuperset(map(id, before)):
        return None  # between two backwards
    shown = {e.first for e in way.path if isinstance(e, OpEntry) and e.shows}
    return None if shown & {*found.alive} else found


def _taken(
    after: Sequence[Any], inputs: Sequence[Any], gradients: dict[int, int], asked: Sequence[int]
) -> list[int]:
    """The leaves whose gradients are taken away before anybody can look at them, by slot."""
    gone: set[int] = set()
    for one in after:
        cleared = one.cleared() if isinstance(one, Effect) else ()
        if not cleared:
            break
        gone.update(map(id, cleared))
    return [k for k, place in gradients.items() if id(inputs[k]) in gone and place not in asked]


def _last_updates(shortcut: Shortcut) -> dict[int, int]:
    """Of each buffer that is written to, by the place of what it gets last, its slot."""
    slots: dict[int, int] = {}
    for entry, refs in shortcut.updates.items():
        for place, ref in enumerate(refs, entry.first + 1):
            slots[place] = ref.index if ref.kind == "input" else slots.pop(ref.index)
    return slots


def _value(
    x: Any, leaves: Sequence[Any], prepared: Sequence[tuple[Any, ...]],
    made: dict[int, Tensor] | None = None, late: Sequence[tuple[Any, ...]] = (),
) -> Any:  # fmt: skip
    """What something stands for; other objects stand for themselves."""
    kind = type(x)
    if kind is Argument:
        return leaves[x.place]
    if kind is Prepared:
        return prepared[x.preparation][x.result]
    if kind is Late:
        return late[x.effect][x.result]
    return made[x.place] if kind is Value and made is not None else x
