"""Operations that take a list of tensors, and those that return several.

Both are linear and their nodes save no arrays, only sizes. `apply` is written here once
instead of being generated: the work per tensor of the list outweighs the call overhead.

An operation with several outputs records one node for the operation and a small one for each
output. Cotangents of the outputs are collected in a `Partial`, so that the operation computes
its input's gradient once, however many outputs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce, wraps
from operator import add
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.inference import inference_cut
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import (
    Node,
    Site,
    Tensor,
    Tracer,
    caller,
    concrete,
    cut_from,
    getframe,
    inference,
    inferences,
    mode,
    new,
    tick,
    wrap,
)
from wengert.kernels.jit import ARRAYS
from wengert.ops.operands import cast, innermost, mark_views

Array = np.ndarray
Edges = tuple[Node | None, ...]


# All that are declared.
LIST_OPS: list[ListOp] = []
SEVERAL_OPS: list[SeveralOp] = []


def record(kind: type[Any], edges: Edges, shape: tuple[int, ...], site: Site) -> Any:
    """A fresh node at the caller's line. The caller fills in the slots of its kind."""
    node = new(kind)
    node.code, node.lasti = caller(getframe(1))
    node.seq, node.site, node.state = tick(), site, None
    node.shape, node.edges = shape, edges
    return node


class ListNode(Node):
    """An operation on a list of tensors."""

    __slots__ = ("kept",)

    kept: Any
    rule: Callable[[Any, int, Any], Any]

    def pullback(self, g: Any) -> tuple[Any, ...]:
        """The gradients of the inputs that need one, None for the others."""
        rule, kept = self.rule, self.kept
        return tuple([None if e is None else rule(g, k, kept) for k, e in enumerate(self.edges)])

    def pullback_to(self, g: Any, needed: Any, lift: Any) -> tuple[Any, ...]:
        """As `pullback`, for the edges in `needed` only."""
        rule, kept = self.rule, self.kept
        return tuple([rule(g, k, kept) if e in needed else None for k, e in enumerate(self.edges)])


class ListOp:
    """The description of an operation on a list of tensors."""

    def __init__(
        self, forward: Callable[..., Any], kind: type[Any], batch: Callable[..., Any] | None
    ) -> None:
        self.forward, self.kind, self.batch = forward, kind, batch
        self.name = forward.__name__
        LIST_OPS.append(self)

    function: Callable[..., Any]


def of_list(
    label: str,
    rule: Callable[[Any, int, Any], Any],
    batch: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Declare a linear operation on a list of tensors.

    The decorated forward takes a list of arrays of one dtype and parameters, and returns the
    output and the data its rule needs (shapes only). `rule(g, k, known)` is the gradient of
    the k-th input. `batch(rank, *params)` gives the parameters for inputs of that rank with a
    batch as their first dimension; without it batches are computed one by one.
    """

    def declare(forward: Callable[..., tuple[Array, Any]]) -> Callable[..., Any]:
        name = forward.__name__.strip("_")
        kind = type(
            label, (ListNode,), {"__slots__": (), "rule": staticmethod(rule), "public_name": name}
        )
        op = ListOp(forward, kind, batch)

        @wraps(forward)
        def apply(inputs: Any, *params: Any) -> Any:
            arrays, edges = unwrapped(name, inputs)
            if type(edges) is not tuple:
                if arrays is None:
                    return SparseTensor.dispatch_list(name, inputs, params)
                if edges is not None:
                    return innermost(edges).apply_list(op, edges, params)
                return forward(arrays, *params)[0]
            out, kept = forward(arrays, *params)
            result: Tensor = new(Tensor)
            result._array, result._edge, result._cut, result._root = out, None, None, None
            if inferences:
                result._block = inference.block
            if edges.count(None) == len(edges) or (site := mode.site) is None:
                result._cut = cut_from(inputs)
                return result
            if inferences and (cut := inference_cut(name, inputs)) is not None:
                result._cut = cut
                return result
            result._edge = node = record(kind, edges, out.shape, site)
            node.kept = kept
            return result

        op.function = apply
        return apply

    return declare


def unwrapped(name: str, inputs: Any) -> tuple[list[Array] | None, Edges | list[Any] | None]:
    """The arrays of a list's tensors in one dtype, and their edges; None where none is a Tensor.

    If one is sparse, there are no arrays.

    Where one is a tracer, a list of the inputs in one dtype is returned instead of the edges.
    """
    if type(inputs) is not list and type(inputs) is not tuple:
        inputs = as_sequence(name, inputs)
    if inputs and concrete.issuperset(map(type, inputs)):
        arrays, edges = [], []
        dtype = inputs[0]._array.dtype
        for x in inputs:
            array = x._array
            if array.dtype is not dtype:
                break
            arrays.append(array)
            edges.append(x._edge)
        else:
            return arrays, tuple(edges)
    return _unwrapped_mixed(name, inputs)


def _unwrapped_mixed(
    name: str, inputs: Sequence[Any]
) -> tuple[list[Array] | None, Edges | list[Any] | None]:
    """`unwrapped` where not all are Tensors of one dtype."""
    for k, x in enumerate(inputs):
        if type(x) not in concrete and not isinstance(x, (np.ndarray, np.generic)):
            if isinstance(x, SparseTensor):
                return None, None
            if isinstance(x, Tracer):
                return [], _traced_list(inputs)
            raise TypeError(
                f"expected Tensor as element {k} in argument 0 of {name}(), but got"
                f" {type(x).__name__}"
            )
    arrays = [x._array if isinstance(x, Tensor) else np.asarray(x) for x in inputs]
    if len({a.dtype for a in arrays}) > 1:
        ranks = [(dtypes.of_numpy[a.dtype], 2 if a.ndim else 1) for a in arrays]
        inputs = _in_one_dtype(inputs, arrays, dtypes.combine(ranks).np)
        arrays = [x._array if isinstance(x, Tensor) else x for x in inputs]
    if not any(isinstance(x, Tensor) for x in inputs):
        return arrays, None
    return arrays, tuple([x._edge if isinstance(x, Tensor) else None for x in inputs])


def _traced_list(inputs: Sequence[Any]) -> list[Any]:
    inputs = [x if isinstance(x, Tensor) else wrap(x) for x in inputs]
    arrays = [x._array for x in inputs]
    to = dtypes.combine([(dtypes.of_numpy[a.dtype], 2 if a.ndim else 1) for a in arrays]).np
    return [x if a.dtype == to else cast(x, to) for x, a in zip(inputs, arrays, strict=True)]


def as_sequence(name: str, inputs: Any) -> Sequence[Any]:
    """The list argument of `name`, or TypeError for what is not a list or a tuple."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not"
            f" {type(inputs).__name__}"
        )
    return inputs


def _in_one_dtype(inputs: Sequence[Any], arrays: list[Array], to: np.dtype[Any]) -> list[Any]:
    return [
        cast(x, to) if isinstance(x, Tensor) and a.dtype != to else a.astype(to)
        if a.dtype != to else x
        for x, a in zip(inputs, arrays, strict=True)
    ]  # fmt: skip


class Partial:
    """The cotangents of some outputs of a node, in flight to it."""

    __slots__ = ("parts",)

    def __init__(self, index: int, g: Any) -> None:
        self.parts = {index: g}

    def __add__(self, other: Partial) -> Partial:
        # In place: a walk delivers each output's cotangent once, and nothing else refers to this.
        self.parts |= other.parts
        return self


class Output(Node):
    """One of the outputs of an operation."""

    __slots__ = ("index",)

    index: int

    def pullback(self, g: Any) -> tuple[Any, ...]:
        """The whole operation's part of the cotangent."""
        return (Partial(self.index, g),)

    def pullback_to(self, g: Any, needed: Any, lift: Any) -> tuple[Any, ...]:
        """As `pullback`."""
        return (Partial(self.index, g),)


class SeveralNode(Node):
    """An operation with several outputs."""

    __slots__ = ("kept", "shapes")

    kept: Any
    shapes: list[tuple[int, ...]]
    rule: Callable[[list[Any], Any], Any]
    key: Callable[[int, list[tuple[int, ...]], Any], Any]
    place: Callable[[Any, tuple[int, ...], Any], Any]
    part: type[Output]

    def pullback(self, g: Partial) -> tuple[Any, ...]:
        """The gradient of the input from those of the outputs; missing ones are zeros."""
        parts = g.parts
        if len(parts) == len(self.shapes):
            return (self.rule([parts[k] for k in range(len(parts))], self.kept),)
        below = self.edges[0]
        assert below is not None
        keys = {k: self.key(k, self.shapes, self.kept) for k in parts}
        return (reduce(add, [self.place(parts[k], below.shape, keys[k]) for k in parts]),)

    def pullback_to(self, g: Partial, needed: Any, lift: Any) -> tuple[Any, ...]:
        """As `pullback`."""
        return self.pullback(g) if self.edges[0] in needed else (None,)


class SeveralOp:
    """The description of an operation with several outputs."""

    def __init__(
        self,
        forward: Callable[..., Any],
        whole: type[Any],
        part: type[Any],
        batch: Callable[..., Any],
    ) -> None:
        self.forward, self.whole, self.part, self.batch = forward, whole, part, batch
        self.name = forward.__name__
        SEVERAL_OPS.append(self)

    function: Callable[..., Any]


def with_outputs(
    label: str,
    rule: Callable[[list[Any], Any], Any],
    key: Callable[[int, list[tuple[int, ...]], Any], Any],
    place: Callable[[Any, tuple[int, ...], Any], Any],
    batch: Callable[..., Any],
) -> Callable[..., Any]:
    """Declare a linear operation whose several outputs are views of its input.

    The decorated forward takes an array and parameters, and returns the outputs and what the
    data its rule needs. `rule(gs, known)` is the input's gradient from a cotangent per output. If
    some have none, it is the sum of ``place(g, shape, key(k, shapes, known))``: the cotangent of
    output k in zeros of the input's shape.
    """

    def declare(forward: Callable[..., tuple[list[Array], Any]]) -> Callable[..., Any]:
        body = {"__slots__": (), "public_name": forward.__name__.strip("_")}
        rules = {"rule": staticmethod(rule), "key": staticmethod(key), "place": staticmethod(place)}
        whole: type[Any] = type(label, (SeveralNode,), body | rules)
        whole.part = part = type(label, (Output,), body)
        op = SeveralOp(forward, whole, part, batch)

        @wraps(forward)
        def apply(input: Any, *params: Any) -> tuple[Any, ...]:
            if type(input) not in concrete:
                if isinstance(input, Tracer):
                    several: tuple[Any, ...] = input.level.apply_several(op, input, params)
                    mark_views(several, input)
                    return several
                return tuple(forward(input, *params)[0])
            array, edge, site = input._array, input._edge, mode.site
            arrays, kept = forward(array, *params)
            cut = (
                None
                if site is None or not inferences
                else inference_cut(forward.__name__, (input,))
            )
            if site is None or edge is None or cut is not None:
                outputs = tuple(map(wrap, arrays))
                cut = cut or cut_from((input,))
                for output in outputs:
                    output._cut = cut
            else:
                node = record(whole, (edge,), array.shape, site)
                node.kept, node.shapes = kept, [a.shape for a in arrays]
                outputs = recorded_outputs(part, node, arrays)
            mark_views(outputs, input)
            return outputs

        op.function = apply
        return apply

    return declare


def recorded_outputs(part: type[Any], whole: Any, arrays: Sequence[Array]) -> tuple[Tensor, ...]:
    """The outputs of a recorded operation: what `wrap` and `output_of` give, without calls."""
    outputs = []
    code, lasti, site, edges = whole.code, whole.lasti, whole.site, (whole,)
    for k, array in enumerate(arrays):
        node = new(part)
        node.code, node.lasti, node.site = code, lasti, site
        node.seq, node.state, node.edges = tick(), None, edges
        node.shape, node.index = array.shape, k
        output = new(Tensor)
        output._array, output._edge, output._cut, output._root = array, node, None, None
        if inferences:
            output._block = inference.block
        outputs.append(output)
    return tuple(outputs)


def output_of(part: type[Any], whole: Any, index: int, shape: tuple[int, ...]) -> Output:
    """A fresh node, of class `part`, for one output of a recorded operation."""
    node: Output = new(part)
    node.code, node.lasti, node.site = whole.code, whole.lasti, whole.site
    node.seq, node.state, node.edges = tick(), None, (whole,)
    node.shape, node.index = shape, index
    return node


def require_tensor(name: str, argument: str, value: Tensor, position: int = 1) -> None:
    """Raise TypeError where `value` is neither a Tensor nor an array."""
    if not isinstance(value, Tensor):  # a sparse one has no outline
        required_outline(name, argument, value, position)


def required_outline(name: str, argument: str, value: Tensor, position: int = 1) -> Any:
    """What has the shape and dtype of a Tensor or an array; TypeError for anything else."""
    if isinstance(value, Tensor):
        return value._outline
    if isinstance(value, ARRAYS):
        return value
    raise TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be Tensor, not"
        f" {type(value).__name__}"
    )
