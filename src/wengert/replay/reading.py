"""Values that are read while a graph waits for its backward: the run goes on behind them.

A program of its own computes such a value. What the rest of the run needs of its values it keeps:
from there they are inputs of the program that computes the rest. Which these are is known once a
run has been settled behind the read; before, they are computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.autograd.engine import compatibility
from wengert.core.cut_log import note_values
from wengert.core.preparations import watchers
from wengert.core.tensor import caller, getframe, new, wrap
from wengert.ops.op import Op
from wengert.replay.deferred import Deferred, settle
from wengert.replay.failures import refuse_decision
from wengert.replay.ir import Instruction
from wengert.replay.lowering import Lowering, Origin
from wengert.replay.plans import Plan, ValuePlan, count_use, cut_of, eager_of
from wengert.replay.record import MOST_PLANS, Record
from wengert.replay.state import active
from wengert.replay.trace import BackwardEntry, Entry, OpEntry

if TYPE_CHECKING:
    from wengert.replay.run import Run

# How often a program may be made anew to keep more.
_MOST_VERSIONS = 3


class Reading(ValuePlan):
    """A program that computes one value of a run, and keeps others for those that follow.

    Attributes:
        key: by which it is on record: the entry, the place of the value, and the readings before.
        kept: the values that it keeps, of which the one that is read is the first.
        line: the code that reads it, and where.
    """

    def __init__(
        self, key: tuple[Entry, int, tuple[Reading, ...]], record: Record, kept: Iterable[Origin],
        found: Mapping[Origin, Any],
    ) -> None:  # fmt: skip
        entry, place, before = self.key = key
        self.line = caller(getframe(1))
        self.kept: tuple[Origin, ...] = (place, *[one for one in kept if one != place])
        super().__init__(entry, (place,), False, record, before, found)
        self.whole = None

    def _asked(self) -> list[int]:
        return [self.lowering.value_of(one) for one in self.kept]

    @property
    def identity(self) -> tuple[Entry, int, int]:
        """What it is, whatever the readings before it keep."""
        entry, place, before = self.key
        return entry, place, len(before)


def read_ahead(tensor: Any, what: str | None) -> np.ndarray | None:
    """The elements of a deferred value behind which a graph is to be walked; None for others.

    It is noted that they leave a graph where a function `what` is named.
    """
    pending = tensor._pending if type(tensor) is Deferred else None
    if active.whole and not active.busy:
        refuse_decision(getframe(1), tensor._outline.dtype)
    if type(pending) is not tuple or get_ident() in watchers:
        return None
    run: Any = pending[0]
    with run.lock:
        if run.settled or run.recording or run.stores or tensor._pending is not pending:
            return None
        known = run.found.get(pending[1])
        if known is None and pending[1] >= 0 and run.steps and _has_graph(run):
            known = _computed(run, pending[1])
        if known is not None and what is not None:
            _note_escape(run, pending, known, what)
        return known


def deferred_repr(self: Any, **options: Any) -> str:
    """The text of a deferred value: what its node would be called is on record."""
    node = _node_like(self)
    found = read_ahead(self, None) if node is not None or not self.requires_grad else None
    if found is not None:
        self = wrap(found)
        self._edge = node
    else:
        settle(self)
    kind: Any = type(self)
    text: str = kind.__repr__(self, **options)
    return text


def _node_like(tensor: Deferred) -> Any:
    """A node of the class that a value has in eager mode; None of values that have none.

    Or that are no result of a declared operation.
    """
    pending = tensor._pending
    if type(pending) is not tuple or pending[1] < 0 or not pending[2].requires_grad:
        return None
    entry = pending[0].entry.since(pending[1])[0]
    if not isinstance(entry, OpEntry) or not isinstance(entry.op, Op):
        return None
    return new(eager_of(entry.op).node)


def _note_escape(run: Run, pending: Any, known: np.ndarray, what: str) -> None:
    cut = (what, *caller(getframe(2)), None)
    if not pending[2].requires_grad:
        cut = cut_of(run.readings[-1], run, pending[1])
    if cut is not None:
        note_values(known, cut)


def _has_graph(run: Run) -> bool:
    """Whether a backward may still walk from some tensor of a run."""
    released = _released(run.record.released, run.entry)
    last = run.walkable
    if last is not None and _is_walkable(last, run.outputs[last](), released):
        return True
    found = (k for k, tensor in run._living() if _is_walkable(k, tensor, released))
    run.walkable = next(found, None)
    return run.walkable is not None


def _is_walkable(place: int, tensor: Any, released: frozenset[int]) -> bool:
    """Whether a backward may walk from the tensor of a place."""
    if type(tensor) is not Deferred or place in released:
        return False
    pending = tensor._pending
    return bool(pending[1] == place and pending[2].requires_grad)


def _released(known: dict[Entry, frozenset[int]], entry: Entry) -> frozenset[int]:
    """The places whose nodes backwards have released."""
    found = known.get(entry)
    if found is None:
        walks = [e for e in entry.path() if isinstance(e, BackwardEntry) and e.releases]
        found = known[entry] = frozenset([k for walk in walks for k in walk.reach.places])
    return found


def _computed(run: Run, place: int) -> np.ndarray | None:
    record, key = run.record, (run.entry, place, run.readings)
    reading = record.readings.get(key)
    if reading is None:
        if len(record.readings) >= MOST_PLANS:
            return None
        kept, _ = record.keeping.get((run.entry, place, len(run.readings)), ((), 0))
        reading = record.readings[key] = Reading(key, record, kept, run.found)
        record.planned += run.entry.depth
    count_use(reading, record)
    results = reading.results(run)
    run.readings = (*run.readings, reading)
    run.found.update(zip(reading.kept, results, strict=True))
    known = run.found[place] = np.asarray(results[0])
    return known


def plan_behind(run: Run, alive: tuple[int, ...]) -> Plan:
    """How a run is settled of which values were read ahead of the rest."""
    record = run.record
    key = run.entry, alive, compatibility.lenient, run.readings
    plan: Plan | None = record.plans.get(key)
    if plan is None:
        plan = record.plans[key] = Plan(*key[:3], record, run.readings, run.found)
        record.planned += run.entry.depth
    if plan.whole is not None and _keep_more(plan, record):
        del record.plans[key]
    else:
        count_use(plan, record)
    plan.whole = None
    return plan


def _keep_more(plan: Plan, record: Record) -> bool:
    """Let the readings before a plan keep what it needs; whether they are to be made anew."""
    changed = False
    for reading, needed in zip(plan.before, _needed(plan), strict=True):
        kept, version = record.keeping.get(reading.identity, ((), 0))
        more = dict.fromkeys((*kept, *needed))
        if len(more) > len(kept) and version < _MOST_VERSIONS:
            record.keeping[reading.identity] = tuple(more), version + 1
            changed = True
    if changed:
        for reading in plan.before:
            record.readings.pop(reading.key, None)
    return changed


def _needed(plan: Plan) -> list[list[Origin]]:
    """What a plan, and the readings before it, need of each reading's values."""
    program, lowering = plan.whole, plan.lowering
    assert program is not None
    makers, origins = program.makers(), _origins(lowering)
    asked = [lowering.value_of(reading.key[1]) for reading in plan.before]
    parts, taken = list[set[Instruction]](), set[Instruction]()
    for values in ([v] for v in asked):
        own = _behind(values, makers) - taken
        taken |= own
        parts.append(own)
    parts.append(_behind(program.results, makers) - taken)
    read = {*program.results}
    found: list[list[Origin]] = []
    for own, after, value in zip(parts[-2::-1], parts[:0:-1], reversed(asked), strict=True):
        read |= {v for i in after for v in i.inputs}
        found.append(_kept_of(own, read, makers, origins))
        read.add(value)
    return found[::-1]


def _behind(values: Iterable[int], makers: dict[int, Instruction]) -> set[Instruction]:
    """The instructions that compute some values."""
    waiting, found = [*values], set[Instruction]()
    while waiting:
        one = makers.get(waiting.pop())
        if one is not None and one not in found:
            found.add(one)
            waiting += one.inputs
    return found


def _kept_of(
    own: set[Instruction], read: set[int], makers: dict[int, Instruction],
    origins: dict[int, Origin],
) -> list[Origin]:  # fmt: skip
    """What is to be kept of the values of some instructions of which others are read.

    Views, and what has no origin, are computed again, from what is kept then.
    """
    kept, seen = dict[Origin, None](), set[int]()
    waiting = [v for v in read if makers.get(v) in own]
    while waiting:
        v = waiting.pop()
        one = makers.get(v)
        if v in seen or one not in own:
            continue
        seen.add(v)
        assert one is not None
        if all(output in origins for output in one.outputs):
            kept.update((origins[output], None) for output in one.outputs)
        else:
            waiting += one.inputs
    return [*kept]


def _origins(lowering: Lowering) -> dict[int, Origin]:
    """By value, which operation has given it; not of views."""
    found: dict[int, Origin] = {}
    for place, value in enumerate(lowering.places):
        entry = lowering.entries.get(place)
        if entry is None or not entry.op.view:
            found.setdefault(value, place)
    for origin, value in lowering.aux.items():
        found.setdefault(value, origin)
    return found
