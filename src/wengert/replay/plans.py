"""Plans: the programs that settle runs, from what is on record to what is compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert.autograd.engine import compatibility
from wengert.core.tensor import Tensor
from wengert.kernels import jit
from wengert.kernels.jit.pace import EndedError
from wengert.ops.indexed import EAGER
from wengert.ops.op import REGISTRY, NodeLayout, Op
from wengert.replay.background import background
from wengert.replay.bindings import Bindings
from wengert.replay.deferred import Outline, cut_before
from wengert.replay.emitting import View, dense_strides
from wengert.replay.ends import fuse_ends
from wengert.replay.functions import Function, interpreted, written
from wengert.replay.fusion import eliminate, fuse, fuse_rules, schedule
from wengert.replay.grams import join_grams
from wengert.replay.ir import Instruction, Program
from wengert.replay.linearity import collect
from wengert.replay.lowering import Lowering, Origin
from wengert.replay.natively import natively, view_of_input, views_of_inputs
from wengert.replay.products import join_products, plan_products
from wengert.replay.record import Record
from wengert.replay.rules import DetachForm
from wengert.replay.segments import Segment
from wengert.replay.state import active
from wengert.replay.trace import BackwardEntry, Entry, OpEntry, Ref
from wengert.replay.widening import widen

Code = tuple[Function, frozenset[int], dict[int, np.ndarray]]

# An operation, and by slot which result its node saved, or what constant.
Brought = tuple[OpEntry, dict[str, list[Any]]]

# Called before a program is compiled.
preparing: list[Callable[[], object]] = []

# A program that has run so often is worth compiling.
_USES = 3
# So many plans are made before they are needed.
_FORESEEN = 4


class NodeForm(NamedTuple):
    """A node, but for what differs between calls.

    Attributes:
        releasing: the backward that releases it.
        edges: its slots of edges that lead on, and those `empty`.
    """

    releasing: BackwardEntry | None
    edges: list[tuple[str, Ref]]
    empty: list[str]


class Plan:
    """How a run is settled at an entry of the record, for the tensors that are alive.

    Attributes:
        program: computes their values, and what the nodes of their graph save.
        optimised: whether the passes have rewritten it, which the first steps do not wait for.
        native: the same, with what kernels compute in segments; None until it is compiled.
        code: the program as a function, which of its results need no look at their memory, and
            its constants.
        wanted: the process and the number of threads that it was to be compiled for, and `made`
            what it was compiled to, by the latter. Whether it is `final` for any number.
        problem: why it could not be compiled, which is a mistake of ours.
        before: the readings of a run that it is behind, `given` what they have kept of its values,
            and `whole` the program without them, until they keep all that it needs.
        nodes: the places whose nodes are made, oldest first.
        saved: for each of them, what its slots hold: an index into the results, or a constant.
        recomputed: the checkpoints that these nodes ask for values, by number. `arguments` says
            which results their arguments are: a number, which argument, its place and the index.
        brought: of functions that have run again, what the nodes of each operation then saved.
        additions: the places of gradients whose results are added to what was there.
        cuts: by place, where its values may have left a graph.
        forms: by place, what its node has at every call.
        gradients: the places that no operation gives.
    """

    def __init__(
        self, entry: Entry, alive: Sequence[int], lenient: bool, record: Record,
        before: tuple[Any, ...] = (), found: Mapping[Origin, Any] | None = None,
    ) -> None:  # fmt: skip
        self.alive, self.lenient, self.exact = tuple(alive), lenient, record.exact
        self.lowering = Lowering(entry.path(), record.templates)
        self.recomputed = set[int]()
        self.nodes = self._nodes()
        seen = self._seen()
        if len({self.lowering.places[k] for k in seen}) < len(seen):
            self.lowering = Lowering(entry.path(), record.templates, seen)
        lowering = self.lowering
        self.program = program = lowering.program
        self.additions = {} if self.exact else lowering.additions
        program.results = self._asked()
        self.saved: dict[int, list[tuple[str, int | None, Any]]] = {}
        for place in self.nodes:
            if place not in lowering.released and isinstance(lowering.entries[place].op, Op):
                self.saved[place] = self._saved(place, self._kept_of(place))
        self.arguments, self.brought = self._arguments(), self._brought()
        path = lowering.path
        self.outlines = [o for entry in path for o in entry.outlines]
        self.step_of = {e.first: k for k, e in enumerate(path) if isinstance(e, OpEntry)}
        self.backwards = [(k, e) for k, e in enumerate(path) if isinstance(e, BackwardEntry)]
        self.before, self.given = before, list[Origin]()
        self.whole = program.copy() if before else None
        self._kept_views: dict[int, View] = {}
        if found:
            self._take(found)
        eliminate(program)
        self.code: Code = interpreted(program), frozenset(), program.constants
        self.cuts: dict[int, tuple[list[int], Any]] = {}
        self.forms: dict[int, NodeForm] = {}
        self.gradients = frozenset([k for k in alive if k not in lowering.entries])
        self.uses = self.eager_bytes = 0
        self._lock = threading.Lock()
        self._unfused: Program | None = None
        self.optimised = self.final = False
        self.native: Program | None = None
        self.wanted = 0, 0
        self.made: dict[int, tuple[Program, Program, Code]] = {}
        self.problem: Exception | None = None
        if self.exact:  # one loop for several rules rounds in its own way, as in eager mode
            self.optimise()
            self.code = interpreted(self.program), frozenset(), self.program.constants

    def optimise(self) -> None:
        """Let the passes rewrite the program, once."""
        with self._lock:
            if self.optimised:
                return
            program = self._rewritten().copy()
            if self.exact:
                fuse_rules(program)
            else:
                fuse(program)
                fuse_ends(program)
            program.check()
            self.program, self.optimised = program, True

    def _rewritten(self) -> Program:
        """The program before loops are made of it. As it was it may be running: this is a copy."""
        if self._unfused is None:
            program = self.program.copy()
            program.check()
            self.eager_bytes = program.peak()
            if not self.exact:
                collect(program)
                join_products(program)
                join_grams(program)
                schedule(program)
                eliminate(program)
                plan_products(program)
            self._unfused = program
        return self._unfused

    def want(self, wanted: tuple[int, int], record: Record) -> None:
        """Have the program compiled for a process and a number of threads, unless it is."""
        self.wanted = wanted
        made = self.made.get(wanted[1])
        if made is not None:
            self._use(made)
        elif not self.final:
            background.submit(partial(self.compile, record), record)

    def compile(self, record: Record) -> None:
        """Let one native call do what the program does, as far as there are kernels."""
        try:
            native = jit.available() and not self.exact and self._compiled()
            if not native and self.native is None:
                self.optimise()
                self.code = written(self.program), frozenset(), self.program.constants
                self.final = True
        except EndedError:
            raise
        except Exception as error:  # the program runs as it is
            self.problem, self.final = error.with_traceback(None), True
        record.compiled = True

    def _compiled(self) -> bool:
        """Make native segments of the program; False if kernels compute too little of it."""
        for prepare in preparing:
            prepare()
        with self._lock:
            program = self._rewritten().copy()
        threads = jit.get_threads()
        widen(program)
        fuse(program, 0)
        fuse_ends(program, 0)
        found = natively(program, views_of_inputs(self.lowering) | self._kept_views, threads)
        if found is None:
            return False
        code = written(found), frozenset(self._fresh(found)), program.constants
        self.made[threads] = made = program, found, code
        self._use(made)
        return True

    def _use(self, made: tuple[Program, Program, Code]) -> None:
        with self._lock:
            self.program, self.native, self.code = made
            self.optimised = True

    @property
    def bytes(self) -> int:
        """The most bytes of intermediate values and results."""
        if self.native is None:
            return self.program.peak()
        segments = [i.compute for i in self.native.instructions if isinstance(i.compute, Segment)]
        return self.native.peak() + max(segment.room for segment in segments)

    def _fresh(self, native: Program) -> set[int]:
        """The living tensors whose arrays are new, and lie in memory as those of eager mode."""
        made = {v for i in native.instructions if isinstance(i.compute, Segment) for v in i.outputs}
        results, dense = native.results, set[int]()
        for k, place in enumerate(self.alive):
            type_, outline = native.types[results[k]], self.outlines[place]
            same = type_.shape == outline.shape and type_.dtype == outline.dtype
            entry = self.lowering.entries.get(place)
            if entry is not None and entry.op.view:
                continue  # in eager mode it may show what it is a copy of here
            if same and outline.strides == _dense(outline) and results.count(results[k]) == 1:
                dense.update({k} if results[k] in made else ())
        return dense

    def _asked(self) -> list[int]:
        """The values of the living tensors."""
        places = self.lowering.places
        return [self.additions.get(k, places[k]) for k in self.alive]

    def _take(self, found: Mapping[Origin, Any]) -> None:
        """Let values that have been kept be inputs."""
        program, own = self.program, dict[int, Origin]()
        for origin in found:
            own.setdefault(self.lowering.value_of(origin), origin)
        instructions = list[Instruction]()
        for one in program.instructions:
            if not own.keys() >= {*one.outputs}:
                instructions.append(one)
                for v in one.outputs:
                    own.pop(v, None)  # it computes them anyway
        for v in (*program.inputs, *program.numbers, *program.constants):
            own.pop(v, None)
        program.instructions, program.inputs = instructions, [*program.inputs, *own]
        self.given = [*own.values()]
        for v, origin in own.items():
            kept = found[origin]
            if isinstance(kept, np.ndarray):
                view = view_of_input(v, kept.shape, _dense(kept), kept.dtype)
                self._kept_views |= {} if view is None else {v: view}

    def arrays(self, run: Any) -> list[Any]:
        """The arrays that the program reads, of a run that it settles."""
        given = self.given
        return [*run.arrays, *[run.found[one] for one in given]] if given else run.arrays

    def _nodes(self) -> list[int]:
        """The places whose nodes the living tensors reach."""
        lowering, calls = self.lowering, self.lowering.again.calls
        waiting = [k for k in self.alive if k in lowering.entries and lowering.entries[k].records]
        self.recomputed = {n for n, called in calls.first.items() if not called.ended}
        for number in self.recomputed:
            waiting += self._graphs_of_arguments(number)
        visited = set(waiting)
        while waiting:
            place = waiting.pop()
            if place in lowering.released and not self.lenient:
                continue
            inside = calls.of_places.get(place)
            if inside is not None and inside not in self.recomputed:
                self.recomputed.add(inside)
                more = [k for k in self._graphs_of_arguments(inside) if k not in visited]
                visited.update(more)
                waiting += more
            for name in lowering.entries[place].op.differentiable:
                ref = lowering.entries[place].refs[name]
                if ref is None or ref.kind != "value" or ref.index in visited:
                    continue
                if lowering.wants(ref):
                    visited.add(ref.index)
                    waiting.append(ref.index)
        return sorted(visited)

    def _graphs_of_arguments(self, number: int) -> list[int]:
        """The places of those arguments of a checkpoint that are in the graph."""
        given, entries = self.lowering.again.calls.first[number].begin.given, self.lowering.entries
        return [place for _, place in given if place in entries and entries[place].records]

    def _arguments(self) -> list[tuple[int, int, int, int]]:
        found, results = list[tuple[int, int, int, int]](), self.program.results
        for number in sorted(self.recomputed):
            for k, place in self.lowering.again.calls.first[number].begin.given:
                found.append((number, k, place, len(results)))
                results.append(self.lowering.places[place])
        return found

    def _brought(self) -> list[list[Brought]]:
        found = list[list[Brought]]()
        for called in self.lowering.again.calls.left:
            found.append([])
            for e in called.entries:
                if e.saves is not None:
                    slots = [slot for slot, _ in e.saves.slots]
                    found[-1].append((e, {slot: k for slot, *k in self._saved(e.first, slots)}))
        return found

    def _kept_of(self, place: int) -> list[str]:
        """The slots of a node that hold what it saves: in checkpoints, not all of them."""
        entry = self.lowering.entries[place]
        slots = [f"s_{name}" for name in eager_of(entry.op).keeps]
        if place in self.lowering.again.calls.of_places and entry.saves is not None:
            return [slot for slot in slots if (slot, None) not in entry.saves.slots]
        return slots

    def _seen(self) -> frozenset[int]:
        """The places whose memory somebody may write to, and see who writes, once it is there.

        They are the living ones, and those that nodes save.
        """
        seen = set(self.alive)
        for number in self.recomputed:
            given = self.lowering.again.calls.first[number].begin.given
            seen.update([place for _, place in given])
        for place in self.nodes:
            if place not in self.lowering.released:
                refs = self.lowering.entries[place].refs.values()
                seen.update([place, *(r.index for r in refs if r and r.kind == "value")])
        return frozenset(seen)

    def _saved(self, place: int, wanted: Collection[str]) -> list[tuple[str, int | None, Any]]:
        """What the node of a place saves in some slots."""
        lowering, entry = self.lowering, self.lowering.entries[place]
        op, results = eager_of(entry.op), self.program.results
        readers = NodeLayout(op).readers
        slots: list[tuple[str, int | None, Any]] = []
        for name in op.keeps:
            if f"s_{name}" not in wanted:
                continue
            of_arrays = op is not entry.op and name == "key"
            value, constant = (
                (lowering.key_of(entry), None) if of_arrays else lowering.read(entry, place, name)
            )
            if value is None:
                slots.append((f"s_{name}", None, constant))
            elif any(lowering.wants(entry.refs[i]) for i in readers[name]):
                results.append(value)
                slots.append((f"s_{name}", len(results) - 1, None))
            else:
                slots.append((f"s_{name}", None, None))
        return slots


class ValuePlan(Plan):
    """A plan that computes values of a run, and nothing of their graph: it goes on behind them."""

    def _nodes(self) -> list[int]:
        return []

    def _arguments(self) -> list[tuple[int, int, int, int]]:
        return []

    def _brought(self) -> list[list[Brought]]:
        return []

    def results(self, run: Any) -> Sequence[Any]:
        """What the program gives for a run, whose operations are not seen meanwhile."""
        function, _, _ = self.code
        busy = active.set_busy(True)
        try:
            return function(self.arrays(run), run.numbers)
        finally:
            active.set_busy(busy)


def plan_of(record: Record, entry: Entry, alive: tuple[int, ...]) -> Plan:
    """How a run is settled at an entry for the tensors at some places."""
    key = entry, alive, compatibility.lenient
    plan: Plan | None = record.plans.get(key)
    if plan is None:
        plan = record.foreseen.pop(key, None)
        if plan is None:
            plan = Plan(*key, record)
            record.planned += entry.depth
        record.plans[key] = plan
    return plan


def foresee(record: Record, entry: Entry, alive: tuple[int, ...]) -> Plan | None:
    """The plan that a run may need, unless such plans have not been needed so far.

    Its first use is the second time that the program is wanted.
    """
    key = entry, alive, compatibility.lenient
    if key in record.plans or key in record.foreseen or len(record.foreseen) >= _FORESEEN:
        return None
    plan = Plan(*key, record)
    plan.uses = _USES - 1
    record.foreseen[key] = plan
    return plan


def count_use(plan: Plan, record: Record) -> None:
    """Have a program compiled, if it has run so often that this pays."""
    plan.uses += 1
    if plan.uses >= _USES or background.at_once:
        wanted = background.life, jit.get_threads()
        if plan.wanted != wanted:
            plan.want(wanted, record)


def cut_of(plan: Plan, run: Bindings, place: int) -> Any:
    """Where the values of a place left a graph, if they did."""
    found = plan.cuts.get(place)
    if found is None:
        found = plan.cuts[place] = _possible_cuts(plan, place)
    inputs, last = found
    for slot in inputs:
        tensor = run.tensors[slot]()
        cut = cut_before(tensor) if isinstance(tensor, Tensor) else None
        if cut is not None:
            return cut
    if type(last) is int:
        return run.steps[last][1]
    return last


def _possible_cuts(plan: Plan, place: int) -> tuple[list[int], Any]:
    """The inputs that a place depends on and that may have left one, nearest first.

    And what comes if none of them has: a cut, or the index of the step that made it.
    """
    lowering, inputs = plan.lowering, dict[int, None]()
    waiting, visited = [place], {place}
    while waiting:
        entry = lowering.entries.get(waiting.pop())
        if entry is None:
            continue
        refs = [r for n in entry.op.inputs if (r := entry.refs[n]) is not None]
        if isinstance(entry.op, DetachForm) and lowering.wants(refs[0]):
            return [*inputs], ("detach()", entry.code, entry.lasti, None)
        if any(lowering.wants(ref) for ref in refs):
            return [*inputs], plan.step_of[entry.first]
        for ref in refs:
            if ref.kind == "input":
                inputs[ref.index] = None
            elif ref.kind == "value" and ref.index not in visited:
                visited.add(ref.index)
                waiting.append(ref.index)
    return [*inputs], None


def eager_of(op: Op) -> Op:
    """The operation whose nodes eager mode makes."""
    return REGISTRY[EAGER[op.name]] if op.name in EAGER else op


def _dense(like: Outline | np.ndarray) -> tuple[int, ...]:
    return tuple([s * like.itemsize for s in dense_strides(like.shape)])
