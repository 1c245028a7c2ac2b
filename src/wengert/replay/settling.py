"""Computing what a run has deferred: its program, the tensors it fills, and their graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.autograd.engine import compatibility
from wengert.core.storage import add_writes, owner
from wengert.core.tensor import Call, Leaf, NodeState, Tensor, new
from wengert.kernels import jit
from wengert.kernels.jit.pace import EndedError
from wengert.ops.indexed import EAGER
from wengert.ops.op import REGISTRY, NodeLayout, Op
from wengert.ops.operands import mark_view
from wengert.ops.variadic import output_of
from wengert.replay.background import background
from wengert.replay.bindings import Bindings
from wengert.replay.deferred import Outline, cut_before, filled, restored
from wengert.replay.emitting import dense_strides
from wengert.replay.ends import fuse_ends
from wengert.replay.forwards import laid_out, view_of
from wengert.replay.functions import Function, interpreted, written
from wengert.replay.fusion import eliminate, fuse, fuse_rules, schedule
from wengert.replay.grams import join_grams
from wengert.replay.ir import Program
from wengert.replay.linearity import collect
from wengert.replay.lowering import Lowering
from wengert.replay.natively import natively, views_of_inputs
from wengert.replay.products import join_products, plan_products
from wengert.replay.rules import DetachForm, SeveralForm, Step
from wengert.replay.segments import Segment
from wengert.replay.storing import stored
from wengert.replay.trace import BackwardEntry, Entry, OpEntry, Record, Ref

if TYPE_CHECKING:
    from wengert.replay.run import Run


Code = tuple[Function, frozenset[int], dict[int, np.ndarray]]

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
        nodes: the places whose nodes are made, oldest first.
        saved: for each of them, what its slots hold: an index into the results, or a constant.
        additions: the places of gradients whose results are added to what was there.
        cuts: by place, where its values may have left a graph.
        forms: by place, what its node has at every call.
        gradients: the places that no operation gives.
    """

    def __init__(
        self, entry: Entry, alive: Sequence[int], lenient: bool, exact: bool = False
    ) -> None:  # fmt: skip
        self.alive, self.lenient, self.exact = tuple(alive), lenient, exact
        self.lowering = Lowering(entry.path())
        self.nodes = self._nodes()
        seen = self._seen()
        if len({self.lowering.places[k] for k in seen}) < len(seen):
            self.lowering = Lowering(entry.path(), seen)
        lowering = self.lowering
        self.program = program = lowering.program
        self.additions = {} if exact else lowering.additions
        program.results = [self.additions.get(k, lowering.places[k]) for k in alive]
        self.saved: dict[int, list[tuple[str, int | None, Any]]] = {}
        for place in self.nodes:
            if place not in lowering.released and isinstance(lowering.entries[place].op, Op):
                self.saved[place] = self._saved(place)
        path = lowering.path
        self.outlines = [o for entry in path for o in entry.outlines]
        self.step_of = {e.first: k for k, e in enumerate(path) if isinstance(e, OpEntry)}
        self.backwards = [(k, e) for k, e in enumerate(path) if isinstance(e, BackwardEntry)]
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
        if exact:  # one loop for several rules rounds in its own way, as in eager mode
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
        fuse(program, 0)
        fuse_ends(program, 0)
        found = natively(program, views_of_inputs(self.lowering), threads)
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
        return self.native.peak() + max(sum(segment.blocks) for segment in segments)

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

    def _nodes(self) -> list[int]:
        """The places whose nodes the living tensors reach."""
        lowering = self.lowering
        waiting = [k for k in self.alive if k in lowering.entries and lowering.entries[k].records]
        visited = set(waiting)
        while waiting:
            place = waiting.pop()
            if place in lowering.released and not self.lenient:
                continue
            for name in lowering.entries[place].op.differentiable:
                ref = lowering.entries[place].refs[name]
                if ref is None or ref.kind != "value" or ref.index in visited:
                    continue
                if lowering.wants(ref):
                    visited.add(ref.index)
                    waiting.append(ref.index)
        return sorted(visited)

    def _seen(self) -> frozenset[int]:
        """The places whose memory somebody may write to, and see who writes, once it is there.

        They are the living ones, and those that nodes save.
        """
        seen = set(self.alive)
        for place in self.nodes:
            if place not in self.lowering.released:
                refs = self.lowering.entries[place].refs.values()
                seen.update([place, *(r.index for r in refs if r and r.kind == "value")])
        return frozenset(seen)

    def _saved(self, place: int) -> list[tuple[str, int | None, Any]]:
        """What the node of a place saves."""
        lowering, entry = self.lowering, self.lowering.entries[place]
        op, results = _eager(entry.op), self.program.results
        readers = NodeLayout(op).readers
        slots: list[tuple[str, int | None, Any]] = []
        for name in op.keeps:
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


def compute(run: Run, tensors: Sequence[tuple[int, Any]]) -> None:
    """Fill the tensors of a run that are alive, given by place."""
    plan = plan_of(run.record, run.entry, tuple([place for place, _ in tensors]))
    count_use(plan, run.record)
    function, fresh, constants = plan.code  # at once: another thread may compile it
    results = function(run.arrays, run.numbers)
    taken = {*map(id, run.arrays), *map(id, constants.values())}
    arrays = own_arrays(plan, run, results, fresh, taken)
    edges = made_nodes(plan, run, results, arrays) if plan.nodes else {}
    gradients = frozenset[int]() if run.updates or run.writes else plan.gradients
    for (place, tensor), array in zip(tensors, arrays, strict=True):
        if place in run.leaves:
            filled(tensor, array, run.edges[run.leaves[place]], None)
        elif place in gradients:
            filled(tensor, array, None, None)
        else:
            _fill(plan, run, place, tensor, array, edges.get(place))


def plan_of(record: Record, entry: Entry, alive: tuple[int, ...]) -> Plan:
    """How a run is settled at an entry for the tensors at some places."""
    key = entry, alive, compatibility.lenient
    plan: Plan | None = record.plans.get(key)
    if plan is None:
        plan = record.foreseen.pop(key, None) or Plan(*key, record.exact)
        record.plans[key] = plan
    return plan


def foresee(record: Record, entry: Entry, alive: tuple[int, ...]) -> Plan | None:
    """The plan that a run may need, unless such plans have not been needed so far.

    Its first use is the second time that the program is wanted.
    """
    key = entry, alive, compatibility.lenient
    if key in record.plans or key in record.foreseen or len(record.foreseen) >= _FORESEEN:
        return None
    plan = Plan(*key, record.exact)
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


def _eager(op: Op) -> Op:
    """The operation whose nodes eager mode makes."""
    return REGISTRY[EAGER[op.name]] if op.name in EAGER else op


def _dense(outline: Outline) -> tuple[int, ...]:
    return tuple([s * outline.dtype.itemsize for s in dense_strides(outline.shape)])


def _fill(plan: Plan, run: Run, place: int, tensor: Any, array: Any, edge: Any) -> None:
    if place in run.stores:
        stored(run, place, array, cut_of(plan, run, place))
        return
    if place in run.updates:
        restored(tensor, array)
        return
    source = tensor._pending[3]
    known = edge is not None or place not in plan.lowering.entries
    cut = None if known else cut_of(plan, run, place)
    filled(tensor, array, edge, cut)
    if run.writes and (count := _writes_to(plan, run, place)):
        add_writes(array, count)
    if source is not None:
        mark_view(tensor, source)


def _writes_to(plan: Plan, run: Run, place: int) -> int:
    """How often memory was written to, by a tensor that may be gone, of which this is a view."""
    while place not in run.writes:
        entry = plan.lowering.entries.get(place)
        ref = entry.refs[entry.op.inputs[0]] if entry is not None and entry.op.view else None
        if ref is None or ref.kind != "value" or ref.index in plan.alive:
            return 0
        place = ref.index
    return run.writes[place]


def own_arrays(
    plan: Plan, run: Bindings, results: Sequence[Any], fresh: frozenset[int], taken: set[int]
) -> list[np.ndarray]:
    """The arrays of the living tensors: gradients own their memory, others as their operations.

    Those with an identity in `taken` are somebody's.
    """
    own: dict[int, np.ndarray] = {}  # by place: views are to show these
    writes: list[tuple[np.ndarray, Any, bool]] = []
    for k, place in enumerate(plan.alive):
        array = results[k]
        if place in run.updates:
            memory = run.updates[place]
            writes.append((memory, array, place in plan.additions))
            array = memory
        elif k not in fresh:
            array = _own_array(plan, place, array, taken, own)
            taken.add(id(array))
        own[place] = array
    if writes:
        _write(writes)
    return [*own.values()]


def _write(writes: list[tuple[np.ndarray, Any, bool]]) -> None:
    """Write to memory, once everything has been copied that shows what it held before."""
    owners = {id(owner(memory)) for memory, _, _ in writes} if len(writes) > 1 else ()
    elements = [
        x.copy() if owners and type(x) is np.ndarray and id(owner(x)) in owners else x
        for _, x, _ in writes
    ]
    for (memory, _, adds), x in zip(writes, elements, strict=True):
        if adds:
            with np.errstate(all="ignore"):
                np.add(memory, x, out=memory)
        else:
            np.copyto(memory, x)


def _own_array(
    plan: Plan, place: int, result: Any, taken: set[int], own: dict[int, np.ndarray]
) -> np.ndarray:
    """The array of one of them: what the program gave for it, or a copy."""
    array = result if type(result) is np.ndarray else np.asarray(result)
    entry, outline = plan.lowering.entries.get(place), plan.outlines[place]
    if entry is not None and entry.op.view:
        return _shown(entry, place, array, own, plan.lowering.leaves)
    copied = id(array) in taken or (array.base is not None if entry is None else _is_part(array))
    if entry is None and array.dtype != outline.dtype:
        array, copied = array.astype(outline.dtype), False
    if array.strides != outline.strides:
        laid = laid_out(array, outline.strides)
        array, copied = laid, copied and laid is array
    return array.copy(order="K") if copied else array


def _shown(
    entry: OpEntry, place: int, array: np.ndarray, own: dict[int, np.ndarray],
    leaves: dict[int, int],
) -> np.ndarray:  # fmt: skip
    """What a view shows of its source, of which the program may have copied the elements."""
    ref = entry.refs[entry.op.inputs[0]]
    place_of = ref.index if ref is not None and ref.kind == "value" else None
    if ref is not None and ref.kind == "input":
        place_of = leaves.get(ref.index)
    source = None if place_of is None else own.get(place_of)
    if source is None or owner(source) is owner(array):
        return array
    if isinstance(entry.op, DetachForm):
        return source
    found = view_of(entry, source)
    shown: np.ndarray = found if entry.single else found[place - entry.first]
    return shown


def _is_part(array: np.ndarray) -> bool:
    """Whether an array is some of the rows of a joint one."""
    return array.base is not None and owner(array).nbytes > array.nbytes


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


def made_nodes(
    plan: Plan, run: Bindings, results: Sequence[Any], arrays: Sequence[np.ndarray]
) -> dict[int, Any]:
    """The nodes of the graph of the living tensors."""
    lowering, steps = plan.lowering, run.steps
    marks = _marks(plan, run)
    instead = _as_saved(run, results, arrays) if plan.saved else {}
    nodes: dict[int, Any] = {}
    for place in plan.nodes:
        entry = lowering.entries[place]
        if not isinstance(entry.op, Op):
            _make_nodes_of_form(plan, run, entry, steps[plan.step_of[entry.first]], marks, nodes)
            continue
        site, _, seq = steps[plan.step_of[place]]
        node: Any = new(_eager(entry.op).node)
        node.code, node.lasti, node.seq, node.site = entry.code, entry.lasti, seq, site
        node.shape = entry.outlines[0].shape
        form = plan.forms.get(place)
        if form is None:
            form = plan.forms[place] = _form(plan, entry, place)
        node.state = None if form.releasing is None else marks[form.releasing]
        for slot in form.empty:
            setattr(node, slot, None)
        for slot, ref in form.edges:
            edge = run.edges[ref.index] if ref.kind == "input" else nodes[ref.index]
            setattr(node, slot, edge)
        for slot, index, constant in plan.saved.get(place, ()):
            value = constant if index is None else results[index]
            setattr(node, slot, instead.get(id(value), value))
        nodes[place] = node
    return nodes


def _form(plan: Plan, entry: OpEntry, place: int) -> NodeForm:
    """What the node of a place has at every call."""
    lowering, op = plan.lowering, _eager(entry.op)
    releasing = lowering.released.get(place)
    edges: list[tuple[str, Ref]] = []
    empty = [] if releasing is None else [f"s_{name}" for name in op.keeps]
    for name in op.differentiable:
        ref = entry.refs[name]
        if ref is not None and (releasing is None or plan.lenient) and lowering.wants(ref):
            edges.append((f"e_{name}", ref))
        else:
            empty.append(f"e_{name}")
    return NodeForm(releasing, edges, empty)


def _make_nodes_of_form(
    plan: Plan, run: Bindings, entry: OpEntry, step: Step, marks: Any, nodes: dict[int, Any]
) -> None:
    """The nodes of an operation on a list of tensors, or of one with several outputs."""
    if entry.first in nodes:
        return
    lowering, op = plan.lowering, entry.op
    places = range(entry.first, entry.first + len(entry.outlines))
    releasing = next((r for k in places if (r := lowering.released.get(k)) is not None), None)
    several = isinstance(op, SeveralForm)
    node: Any = new(op.op.whole if several else op.op.kind)
    site, _, seq = step
    node.code, node.lasti, node.seq, node.site = entry.code, entry.lasti, seq, site
    node.state = None if releasing is None else marks[releasing]
    edges: list[Any] = []
    for name in op.inputs:
        ref = entry.refs[name]
        if ref is None or not lowering.wants(ref):
            edges.append(None)
        else:
            edges.append(run.edges[ref.index] if ref.kind == "input" else nodes.get(ref.index))
    node.edges = tuple(edges) if releasing is None or plan.lenient else ()
    node.kept = lowering.kept(entry)
    if not several:
        node.shape = entry.outlines[0].shape
        nodes[entry.first] = node
        return
    ref = entry.refs["input"]
    assert ref is not None
    node.shape, node.shapes = lowering.operand_type(ref).shape, [o.shape for o in entry.outlines]
    for k, place in enumerate(places):
        nodes[place] = part = output_of(op.op.part, node, k, entry.outlines[k].shape)
        part.state, part.seq = node.state, seq + 1
        if releasing is not None and not plan.lenient:
            part.edges = ()


def _as_saved(
    run: Bindings, results: Sequence[Any], arrays: Sequence[np.ndarray]
) -> dict[int, Any]:
    """What a node saves in the place of some values, by their identity.

    Of an input that was copied, because NumPy may write to it, the memory itself, and of a result
    the array of its tensor: as in eager mode, a later write is seen. Numbers become arrays.
    """
    pairs = [*zip(run.arrays, run.originals, strict=True), *zip(results, arrays, strict=False)]
    found = {id(a): b for a, b in pairs if a is not b}
    found.update((id(v), np.asarray(v)) for v in results if isinstance(v, np.generic))
    return found


def _marks(plan: Plan, run: Bindings) -> dict[BackwardEntry, NodeState]:
    """The state of the nodes that each backward has released."""
    marks = {}
    for k, entry in plan.backwards:
        onward = run.onward.get(k)
        call = Call(entry.name, *run.steps[k][1]) if onward is None else onward.call
        state = NodeState(call, shared=True)
        edges = [run.edges[slot] for slot in entry.reach.slots]
        state.below.update([edge for edge in edges if type(edge) is Leaf])
        state.below.update(() if onward is None else onward.leaves)
        marks[entry] = state
    return marks
