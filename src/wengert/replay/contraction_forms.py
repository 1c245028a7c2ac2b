"""Contractions of `einsum` as products of matrices, or as loops where nothing is summed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

from wengert.kernels.products.contraction import Labels, groups_of, in_order
from wengert.replay.emitting import Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import copy, dense_of, pair_of, view
from wengert.replay.loop_forms import loop_over
from wengert.replay.product_forms import batched
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import sum_over
from wengert.replay.trace import OpEntry


def _form(first: str, second: str, result: str) -> Callable[[Emitter, Instruction], bool]:
    """A product of two operands with the labels that these parameters have."""

    def form(emitter: Emitter, instruction: Instruction) -> bool:
        views = emitter.seen((*instruction.inputs, *instruction.outputs))
        params = params_of(instruction)
        if views is None or len(views) != 3 or not all(v.size for v in views):
            return False
        a, b, out = views
        return _contract(emitter, a, b, out, params[first], params[second], params[result])

    return form


def _contract(
    emitter: Emitter, a: View, b: View, out: View, la: Labels, lb: Labels, lo: Labels
) -> bool:
    """The product of two arrays, summed over the labels that the result lacks."""
    if not in_order(la, lb, lo):
        return _contract(emitter, b, a, out, lb, la, lo)
    batch, summed, left, right = groups_of(la, lb, lo)
    sizes = dict(zip(la + lb, a.shape + b.shape, strict=True))
    if all(sizes[x] == 1 for x in summed):
        given = [_aligned(a, la, lo), _aligned(b, lb, lo)]
        return loop_over(emitter, [_times], out.shape, given, [out])
    x = _matrices(emitter, a, la, (batch, left, summed))
    y = _matrices(emitter, b, lb, (batch, summed, right))
    order = [*batch, *left, *right]
    target = out if order == [*lo] else emitter.temporary([sizes[x] for x in order])
    many = (prod(sizes[x] for x in batch), x.shape[1], y.shape[2])
    if not batched(emitter, x, y, target.shaped(*many)):
        return False
    if target is not out:
        copy(emitter, target.permuted([order.index(x) for x in lo]), out)
    return True


def _matrices(
    emitter: Emitter, x: View, labels: Labels, groups: Sequence[Sequence[Hashable]]
) -> View:
    """The elements in three dimensions, of the labels of one group each."""
    x = x.permuted([labels.index(label) for group in groups for label in group])
    if all(len(group) == 1 for group in groups):
        return x
    sizes, start = list[int](), 0
    for group in groups:
        sizes.append(prod(x.shape[start : start + len(group)]))
        start += len(group)
    return dense_of(emitter, x).shaped(*sizes)


def _aligned(x: View, labels: Labels, order: Labels) -> View:
    """The elements in an order of labels, with length 1 for those that it lacks."""
    at = [labels.index(label) if label in labels else None for label in order]
    shape = tuple([1 if d is None else x.shape[d] for d in at])
    return x._replace(shape=shape, strides=tuple([0 if d is None else x.strides[d] for d in at]))


def _times(a: Any, b: Any) -> Any:
    return a * b


def _rearranged(emitter: Emitter, instruction: Instruction) -> bool:
    """Dimensions in another order, and sums over those that are left out."""
    if view(emitter, instruction):
        return True
    views, params = pair_of(emitter, instruction), params_of(instruction)
    source, target = params["source"], params["target"]
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    if views is None or len({*source}) < len(source) or not entry.outlines[0].c_contiguous:
        return False
    x, out = views
    dropped = [label for label in source if label not in target]
    x = x.permuted([source.index(label) for label in (*target, *dropped)])
    return sum_over(emitter, x, out, tuple(range(len(target), len(source))))


def _spread(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients, repeated along dimensions that were left out."""
    views, params = pair_of(emitter, instruction), params_of(instruction)
    source, target = params["source"], params["target"]
    if views is None or len({*source}) < len(source):
        return False
    g, out = views
    copy(emitter, _aligned(g, target, source).expanded(out.shape), out)
    return True


CONTRACTIONS: dict[Any, Callable[[Emitter, Instruction], bool]] = {
    "contract": _form("la", "lb", "lo"),
    ("contract", "input"): _form("lo", "lb", "la"),
    ("contract", "other"): _form("lo", "la", "lb"),
    "rearrange": _rearranged,
    ("rearrange", "input"): _spread,
}
