"""Gradients with a graph: ``create_graph=True``.

The rules are called as operations of the run, so that what they give can be differentiated with
the rest. Where that cannot be, the engine does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from inspect import signature
from operator import add
from typing import Any

import numpy as np

from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor, wrap
from wengert.ops import operands
from wengert.ops.numbers import number_as_array
from wengert.ops.op import Op
from wengert.ops.pool import max_positions
from wengert.ops.shape import clone
from wengert.replay.held import Held, Way
from wengert.replay.rules import ListForm, SeveralForm, kept_of
from wengert.replay.run import Run
from wengert.replay.trace import BackwardEntry, Entry, OpEntry, Ref
from wengert.replay.walks import Asked

# Further results of forwards, of operations whose rules read them when they are recorded: what
# gives them of the operands.
_FURTHER: dict[str, dict[str, Callable[..., Any]]] = {
    "maxima": {"indices": lambda input, windows: max_positions(input, windows)},
    "_batch_norm_by_running": {
        "mean": lambda running_mean: running_mean,
        "rstd": lambda running_var, eps: (running_var + eps) ** -0.5,
    },
}
# So many walks of a record are known.
_MOST_WAYS = 256
# Operations whose rules read them of arrays alone.
_UNREAD = frozenset({
    "_cross_entropy", "_layer_norm", "_rms_norm", "_group_norm", "_batch_norm", "_instance_norm",
    "_attention",
})  # fmt: skip


def gradients_with_graph(
    run: Run, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Sequence[Tensor]
) -> tuple[Any, ...] | None:
    """The gradients of values of a run, which have a place in its graph; None if not here."""
    found = _found(run, roots, seeds, inputs, False)
    return None if found is None else tuple(found[1])


def backward_with_graph(
    run: Run, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Sequence[Tensor] | None
) -> bool:
    """Give leaves such gradients, or add them to what they have; False if not here."""
    found = _found(run, roots, seeds, inputs, True)
    if found is None:
        return False
    asked, gradients = found
    leaves = [run.tensors[ref.index]() for ref in asked.targets]
    sums = list[Any]()
    for leaf, g in zip(leaves, gradients, strict=True):
        before = getattr(leaf, "_grad", None)
        sums.append(clone(g) if before is None else before + g)
    for leaf, g in zip(leaves, sums, strict=True):
        leaf._grad = g
    return True


def _found(
    run: Run, roots: Sequence[Tensor], seeds: Sequence[Any], inputs: Sequence[Tensor] | None,
    adds: bool,
) -> tuple[Asked, list[Any]] | None:  # fmt: skip
    """The gradients of all leaves, or of some tensors, and what was asked for."""
    if run.settled or run.record.exact or run.checkpoints or not (run.steps or run.recording):
        return None
    asked = run._asked(roots, seeds)
    if asked is None or not run._aims(asked, inputs) or not run._is_all_current():
        return None
    if inputs is None:
        asked.passed = asked.reach.way_to(asked.targets, run.entry.path)
    if adds and not _adds_to_leaves(run, asked):
        return None
    way = _way(run, asked.passed or frozenset())
    held = None if way is None else _held(run, way, roots, asked.targets)
    if way is None or held is None:
        return None
    walk = _Walk(run, way, held)
    cotangents: dict[Ref, Any] = {}
    for root, seed in zip(roots, seeds, strict=True):
        outline = root._outline
        if seed is None:
            seed = wrap(np.ones(outline.shape, outline.dtype))
        walk.add(cotangents, Ref("value", run.place_of(root)), seed)
    return asked, walk.gradients(cotangents, asked.targets)


def _adds_to_leaves(run: Run, asked: Asked) -> bool:
    """Whether a walk ends at leaves, to whose gradients others can be added."""
    if not all(asked.reach.is_leaf(ref) for ref in asked.targets):
        return False
    leaves = [run.tensors[ref.index]() for ref in asked.targets]
    return not any(isinstance(getattr(leaf, "_grad", None), SparseTensor) for leaf in leaves)


def _way(run: Run, passed: frozenset[Ref]) -> Way | None:
    """What a walk passes; None if some rule needs more than operands and results."""
    ways, key = run.record.ways, (run.entry, passed)
    if key not in ways:
        if len(ways) >= _MOST_WAYS:
            ways.clear()
        ways[key] = _found_way(run.entry.path(), passed)
    found: Way | None = ways[key]
    return found


def _found_way(path: list[Entry], passed: frozenset[Ref]) -> Way | None:
    way = Way(path, passed)
    if not all(_is_function(way.makers[place]) for place in way.places):
        return None
    released = [e for e in path if isinstance(e, BackwardEntry) and e.releases]
    if any(
        e.sends(ref) and ref.index in e.reach.places
        for e in released for ref in passed if ref.kind == "value"
    ):  # fmt: skip
        return None
    for place in way.places:
        entry = way.maker(place)
        if isinstance(entry.op, Op):
            way.reads += [(entry, place, name) for name in _reads(entry.op, way.sent(entry))]
    return way


def _reads(op: Op, sent: list[str]) -> list[str]:
    """The names that rules of some operands read."""
    names = [n for name in sent for n in op.wants[name] if n not in op.aux]
    for function in _FURTHER.get(op.name, {}).values():
        names += signature(function).parameters
    return [*dict.fromkeys(names)]


def _held(run: Run, way: Way, roots: Sequence[Tensor], targets: Sequence[Ref]) -> Held | None:
    """Tensors of all that rules read: the first new operation computes what has some."""
    held = Held(run, way)
    if run.recording and not (held.reach(roots) and held.may_walk(roots, targets)):
        return None
    return held if all([held.hold(*read) for read in way.reads]) else None


class _Walk:
    """A walk over the operations of a run, with the tensors that their rules read."""

    def __init__(self, run: Run, way: Way, held: Held) -> None:
        self.run, self.way, self.tensors = run, way, held.tensors

    def add(self, cotangents: dict[Ref, Any], ref: Ref, gradient: Any) -> None:
        """Add a gradient to those of a value or an input."""
        earlier = cotangents.get(ref)
        cotangents[ref] = gradient if earlier is None else earlier + gradient

    def gradients(self, cotangents: dict[Ref, Any], targets: Sequence[Ref]) -> list[Any]:
        """The gradients of targets, from cotangents of the roots."""
        for place in self.way.places:
            entry = self.way.maker(place)
            if isinstance(entry.op, SeveralForm):
                if not any(ref.kind == "value" and entry.first <= ref.index < place
                           for ref in self.way.passed):  # fmt: skip
                    self._pull_several(entry, cotangents)
                continue
            g = cotangents.get(Ref("value", place))
            if g is None:
                continue
            if isinstance(entry.op, ListForm):
                self._pull_list(entry, g, cotangents)
            else:
                self._pull(entry, place, g, cotangents)
        return [cotangents[ref] for ref in targets]

    def _pull(self, entry: OpEntry, place: int, g: Any, cotangents: dict[Ref, Any]) -> None:
        """Send on what a declared operation gets."""
        op, sent, shared = entry.op, self.way.sent(entry), None
        if op.shared is not None and any(name in op.sharers for name in sent):
            shared = op.shared(g, *[self._read(entry, place, n) for n in op.shared_takes])
        for name in sent:
            ref, rule = entry.refs[name], op.rules[name]
            assert ref is not None
            assert rule is not None
            gradient = rule(g, *[
                shared if n == "shared" else self._read(entry, place, n) for n in op.takes[name]
            ])  # fmt: skip
            shape = self.way.shape(ref)
            if gradient._outline.shape != shape:
                gradient = operands.sum_to(gradient, shape)
            self.add(cotangents, ref, gradient)

    def _pull_list(self, entry: OpEntry, g: Any, cotangents: dict[Ref, Any]) -> None:
        """Send on what an operation on a list of tensors gets."""
        op, kept = entry.op, self._kept(entry)
        for k, name in enumerate(op.inputs):
            ref = entry.refs[name]
            if ref is not None and ref in self.way.passed:
                self.add(cotangents, ref, op.rules[name](g, k, kept))

    def _pull_several(self, entry: OpEntry, cotangents: dict[Ref, Any]) -> None:
        """Send on what the results of an operation get, as its node does."""
        whole, ref = entry.op.op.whole, entry.refs["input"]
        assert ref is not None
        kept, shapes = self._kept(entry), [outline.shape for outline in entry.outlines]
        places = [Ref("value", entry.first + k) for k in range(len(shapes))]
        parts = {k: g for k, at in enumerate(places) if (g := cotangents.get(at)) is not None}
        if ref not in self.way.passed or not parts:
            return
        if len(parts) == len(shapes):
            gradient = whole.rule([parts[k] for k in range(len(parts))], kept)
        else:
            shape = self.way.shape(ref)
            gradient = reduce(add, [
                whole.place(g, shape, whole.key(k, shapes, kept)) for k, g in parts.items()
            ])  # fmt: skip
        self.add(cotangents, ref, gradient)

    def _kept(self, entry: OpEntry) -> Any:
        refs = [r for n in entry.op.inputs if (r := entry.refs[n])]
        like = [(self.way.shape(ref), entry.outlines[0].dtype) for ref in refs]
        return kept_of(entry.op, like, tuple(entry.params.values()))

    def _read(self, entry: OpEntry, place: int, name: str) -> Any:
        """What a rule reads by a name."""
        if name in entry.op.aux:
            function = _FURTHER.get(entry.op.name, {}).get(name)
            if function is None:
                return None
            return function(*[self._read(entry, place, n) for n in signature(function).parameters])
        source, key = entry.op.sources[name]
        if source == "out":
            return self.tensors[Ref("value", place)]
        if source == "param":
            return entry.params[key]
        ref = entry.refs[entry.op.inputs[key]]
        if ref is None:
            return None
        if source == "shape":
            return self.way.shape(ref) if ref.kind in ("value", "input") else ()
        if ref.kind in ("value", "input"):
            return self.tensors[ref]
        number = ref.index if ref.kind == "constant" else self.run.numbers[ref.index]
        return wrap(number_as_array(number, entry.outlines[0].dtype))


def _is_function(entry: Entry) -> bool:
    """Whether an operation's rules read nothing but operands, results and what is known of them."""
    if not isinstance(entry, OpEntry):
        return False
    op: Any = entry.op
    if isinstance(op, ListForm | SeveralForm):
        return True
    if not isinstance(op, Op):
        return False
    return not (op.shared or op.aux) or op.name in _UNREAD or op.name in _FURTHER
