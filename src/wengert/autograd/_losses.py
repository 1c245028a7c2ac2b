"""`jac`: separate gradients of several losses, in one walk.

Where only one loss's cotangent passes (its head) the walk is the usual one. Where several
meet (the trunk) they continue as a batch, so that each node of the trunk is visited
once and a matrix product is one product for all losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from sys import getrefcount
from typing import Any

import numpy as np

from wengert.autograd import errors
from wengert.autograd.edges import references_of
from wengert.autograd.engine import Lift, Walk
from wengert.autograd.hooks import run_tensor_hooks
from wengert.autograd.transforms.batched import BatchLevel
from wengert.core.references import ALONE, other_references
from wengert.core.tensor import Node, Tensor, wrap
from wengert.ops.subscript import Deferred
from wengert.ops.variadic import Partial


@dataclass(frozen=True, slots=True)
class JacReport:
    """Statistics of a call of `jac`.

    Attributes:
        losses: the number of losses.
        nodes: the number of nodes visited, not counting leaves.
        shared: how many of those several losses reached: the trunk.
        cotangent_bytes: peak memory of the cotangents in flight.
        gradient_bytes: the memory of the results.
    """

    losses: int
    nodes: int
    shared: int
    cotangent_bytes: int
    gradient_bytes: int


class Lanes:
    """Cotangents of some of the losses: arrays, or parts of several outputs, one per loss."""

    __slots__ = ("lanes", "value")

    def __init__(self, lanes: tuple[int, ...], value: Any) -> None:
        self.lanes, self.value = lanes, value  # the value's first dimension runs over the lanes

    def __add__(self, other: Lanes) -> Lanes:
        if self.lanes == other.lanes:
            return Lanes(self.lanes, self.value + other.value)
        union = tuple(sorted({*self.lanes, *other.lanes}))
        return Lanes(union, self.over(union) + other.over(union))

    def over(self, lanes: tuple[int, ...]) -> Any:
        """The value, with zeros for the lanes it lacks."""
        if lanes == self.lanes:
            return self.value
        positions = [lanes.index(k) for k in self.lanes]

        def spread(array: np.ndarray) -> np.ndarray:
            padded = np.zeros((len(lanes), *array.shape[1:]), array.dtype)
            padded[positions] = array
            return padded

        return map_outputs(spread, self.value)

    def nbytes(self) -> int:
        """The bytes of the cotangents."""
        arrays = self.value.parts.values() if type(self.value) is Partial else (self.value,)
        return sum(a.nbytes for a in arrays)


def map_outputs(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to an array, or to each part of several outputs."""
    if type(value) is not Partial:
        return function(value)
    partial = Partial(0, None)
    partial.parts = {k: function(v) for k, v in value.parts.items()}
    return partial


class LossesWalk(Walk):
    """A walk that carries the cotangents of several losses separately."""

    reaches_all_leaves = False
    shared = passed = 0
    live = peak = 0

    def _pass(self, node: Node, g: Lanes | None, lift: Lift) -> bool:
        if g is None:
            return False
        self.live -= g.nbytes()
        if node.state is not None and node.state.hooks:
            g = Lanes(g.lanes, np.stack([run_tensor_hooks(node.state, x) for x in g.value]))
        if self.targets is not None and node in self.targets:
            self.final[node] = g
        if not node.edges or node in self.stops:
            return False
        self.passed += 1
        self.shared += len(g.lanes) > 1
        step = self._together if self._joint(node, g) else self._apart
        grads = step(node, g, lift)
        for e, ge in zip(node.edges, grads, strict=True):
            if ge is not None:
                assert e is not None
                earlier = self.pending[e]
                self.live += ge.nbytes()
                self.pending[e] = ge if earlier is None else earlier + ge
        self.peak = max(self.peak, self.live)
        return True

    def _joint(self, node: Node, g: Lanes) -> bool:
        # A user's backward may do anything with its gradients, so it sees one loss at a time.
        return len(g.lanes) > 1 and not (node.state is not None and node.state.user)

    def _together(self, node: Node, g: Lanes, lift: Lift) -> list[Lanes | None]:
        with BatchLevel(len(g.lanes)) as level:
            cotangent = map_outputs(lambda a: level.tracer(wrap(a)), g.value)
            grads = node.pullback_to(cotangent, self.pending, lift)

            def full_array(value: Any) -> np.ndarray:
                tensor = value if isinstance(value, Tensor) else wrap(value)
                array: np.ndarray = level.full_batch(tensor)._array
                return array

            return [
                None if x is None else Lanes(g.lanes, map_outputs(full_array, x)) for x in grads
            ]

    def _apart(self, node: Node, g: Lanes, lift: Lift) -> list[Lanes | None]:
        totals: list[Lanes | None] = [None] * len(node.edges)
        for row, k in enumerate(g.lanes):
            one = map_outputs(lambda a, row=row: a[row], g.value)  # type: ignore[misc]
            for index, ge in enumerate(node.pullback_to(one, self.pending, lift)):
                if ge is not None:
                    dense = ge.dense() if isinstance(ge, Deferred) else ge
                    lane = Lanes((k,), map_outputs(lambda a: np.asarray(a)[None], dense))
                    earlier = totals[index]
                    totals[index] = lane if earlier is None else earlier + lane
        return totals


def jac(
    losses: Sequence[Tensor] | Tensor,
    params: Sequence[Tensor] | Tensor,
    *,
    retain_graph: bool | str = False,
    return_report: bool = False,
) -> Any:
    """Return the gradient of each loss with respect to each parameter, in one walk.

    Args:
        losses: tensors of one element each, or a vector of them.
        params: the tensors to differentiate with respect to.
        retain_graph: as for `backward`.
        return_report: return `(gradients, JacReport)`.

    Returns:
        For each parameter a tensor of shape ``(len(losses), *param.shape)``; rows of losses that
        do not depend on it are zeros. The losses need not be scaled or summed beforehand: weigh,
        project or compare the rows, then write the result to `.grad`.

    >>> import wengert
    >>> w = wengert.tensor([1.0, 2.0], requires_grad=True)
    >>> hidden = w * w
    >>> wengert.autograd.jac([hidden.sum(), hidden[0]], [w])
    (tensor([[2., 4.],
            [2., 0.]]),)
    """
    roots = list(losses.unbind() if isinstance(losses, Tensor) and losses.ndim == 1 else
                 [losses] if isinstance(losses, Tensor) else losses)  # fmt: skip
    inputs = [params] if isinstance(params, Tensor) else list(params)
    if not roots or not inputs:
        raise ValueError("jac(): expected at least one loss and one parameter")
    walk = LossesWalk("jac()", retain_graph, False)
    targets = [_target(k, p, walk) for k, p in enumerate(inputs)]
    walk.go(*_seeds(roots, walk), set(targets))
    gradients = tuple(
        [_rows(walk.final.get(e), p, len(roots)) for e, p in zip(targets, inputs, strict=True)]
    )
    if not return_report:
        return gradients
    held = sum(g._array.nbytes for g in gradients)
    return gradients, JacReport(len(roots), walk.passed, walk.shared, walk.peak, held)


def _seeds(losses: list[Tensor], walk: LossesWalk) -> tuple[tuple[Node, ...], list[Lanes]]:
    """The nodes of the losses and their initial cotangents."""
    if walk.retain == "auto":
        walk.own_references = references_of(losses)
    seeds: dict[Node, Lanes] = {}
    for k, loss in enumerate(losses):
        node = _root(k, loss, walk)
        seed = Lanes((k,), np.ones((1, *loss._array.shape), loss._array.dtype))
        seeds[node] = seeds[node] + seed if node in seeds else seed
    walk.live = sum(seed.nbytes() for seed in seeds.values())
    return tuple(seeds), list(seeds.values())


def _root(k: int, loss: Any, walk: Walk) -> Node:
    if not isinstance(loss, Tensor):
        raise TypeError(f"jac(): losses[{k}] must be Tensor, not {type(loss).__name__}")
    if loss._edge is None:
        raise errors.no_graph(k, loss, walk.call)
    if loss._array.size != 1:
        raise errors.non_scalar(loss._array.shape, loss._edge, walk.call)
    return loss._edge


def _target(k: int, param: Any, walk: Walk) -> Node:
    if not isinstance(param, Tensor):
        raise TypeError(f"jac(): params[{k}] must be Tensor, not {type(param).__name__}")
    if param._edge is None:
        raise errors.input_without_grad(f"params[{k}]", param, walk.call)
    return param._edge


def _rows(lanes: Lanes | None, param: Tensor, count: int) -> Tensor:
    shape, dtype = (count, *param._array.shape), param._array.dtype
    if lanes is None:
        return wrap(np.zeros(shape, dtype))
    rows = np.asarray(lanes.over(tuple(range(count))), dtype)
    return wrap(rows if rows.flags.c_contiguous and _alone(rows) else rows.copy())


def _alone(rows: np.ndarray) -> bool:
    """Whether only the caller and its lanes refer to the memory of an array."""
    if not rows.flags.writeable or getrefcount(rows) > ALONE + 1:
        return False
    base = rows.base
    return base is None or (
        type(base) is np.ndarray and base.base is None and other_references(base) <= 1
    )
