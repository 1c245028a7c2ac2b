"""Computing what a run has deferred: its program, the tensors it fills, and their graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.storage import add_writes, owner
from wengert.core.tensor import Call, Leaf, NodeState, new
from wengert.ops.op import Op
from wengert.ops.operands import mark_view
from wengert.ops.variadic import output_of
from wengert.replay.bindings import Bindings
from wengert.replay.checkpoints import caught_up, plain_site
from wengert.replay.deferred import filled, restored
from wengert.replay.forwards import laid_out, view_of
from wengert.replay.plans import NodeForm, Plan, count_use, cut_of, eager_of, plan_of
from wengert.replay.reading import plan_behind
from wengert.replay.rules import DetachForm, SeveralForm, Step
from wengert.replay.storing import stored
from wengert.replay.trace import BackwardEntry, OpEntry, Ref

if TYPE_CHECKING:
    from wengert.replay.run import Run


def compute(run: Run, tensors: Sequence[tuple[int, Any]]) -> None:
    """Fill the tensors of a run that are alive, given by place."""
    alive = tuple([place for place, _ in tensors])
    if run.readings:
        plan = plan_behind(run, alive)
    else:
        plan = plan_of(run.record, run.entry, alive)
        count_use(plan, run.record)
    function, fresh, constants = plan.code  # at once: another thread may compile it
    results = function(plan.arrays(run), run.numbers)
    taken = {*map(id, run.arrays), *map(id, constants.values())}
    arrays = own_arrays(plan, run, results, fresh, taken)
    edges = made_nodes(plan, run, results, arrays) if plan.nodes else {}
    if run.checkpoints:
        caught_up(run, plan, results, _as_saved(run, results, arrays), edges)
    gradients = frozenset[int]() if run.updates or run.writes else plan.gradients
    for (place, tensor), array in zip(tensors, arrays, strict=True):
        if place in run.leaves:
            filled(tensor, array, run.edges[run.leaves[place]], None)
        elif place in gradients:
            filled(tensor, array, None, None)
        else:
            _fill(plan, run, place, tensor, array, edges.get(place))


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
        node: Any = new(eager_of(entry.op).node)
        node.code, node.lasti, node.seq, node.site = entry.code, entry.lasti, seq, plain_site(site)
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
    lowering, op = plan.lowering, eager_of(entry.op)
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
    node.code, node.lasti, node.seq, node.site = entry.code, entry.lasti, seq, plain_site(site)
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
