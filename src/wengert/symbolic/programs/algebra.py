"""Rules of algebra: expressions that are the same as simpler ones.

All of them are exact for finite numbers. Those that change the order of rounding are not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.symbolic.expressions.arithmetic import inv, sqr, sqrt
from wengert.symbolic.expressions.elemwise import DimShuffle, Elemwise, Rebroadcast, fill
from wengert.symbolic.expressions.indexing import Subtensor
from wengert.symbolic.expressions.shapes import Length, MakeVector, Shape, ShapeError, shape_i
from wengert.symbolic.expressions.type import TensorConstant, TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply
from wengert.symbolic.programs.rewriting import rule

Results = Sequence[Any] | None


def number_of(variable: Any) -> float | None:
    """The one number that a constant consists of, through added dimensions."""
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = variable.owner.inputs[0]
    if not isinstance(variable, TensorConstant) or variable.data.size != 1:
        return None
    return float(variable.data.reshape(())) if variable.data.dtype.kind in "biuf" else None


def scalar_in(variable: Any, name: str) -> Any:
    """The node that applies a scalar to make a variable, if it does."""
    node = variable.owner
    if node is not None and isinstance(node.op, Elemwise) and node.op.scalar_op.name == name:
        return node
    return None


def _same_type(node: Apply, x: Any) -> bool:
    return bool(node.outputs[0].type == x.type)


@rule("mul")
def times_one(node: Apply) -> Results:
    """``x * 1 = x``."""
    a, b = node.inputs
    for x, other in ((a, b), (b, a)):
        if number_of(other) == 1.0 and _same_type(node, x):
            return [x]
    return None


@rule("mul")
def times_itself(node: Apply) -> Results:
    """``x * x = sqr(x)``."""
    a, b = node.inputs
    return [sqr(a)] if a is b and a.dtype[0] == "f" else None


@rule("add")
def plus_zero(node: Apply) -> Results:
    """``x + 0 = x``."""
    a, b = node.inputs
    for x, other in ((a, b), (b, a)):
        if number_of(other) == 0.0 and _same_type(node, x):
            return [x]
    return None


@rule("add")
def plus_zeros(node: Apply) -> Results:
    """``x + fill(x, 0) = x``: sums of gradients, some of which are zero."""
    a, b = node.inputs
    for x, other in ((a, b), (b, a)):
        filled = scalar_in(other, "second")
        zeros = filled and number_of(filled.inputs[1]) == 0.0
        if zeros and filled.inputs[0] is x and _same_type(node, x):
            return [x]
    return None


@rule("sub")
def minus_zero(node: Apply) -> Results:
    """``x - 0 = x``."""
    a, b = node.inputs
    return [a] if number_of(b) == 0.0 and _same_type(node, a) else None


@rule("true_div", "int_div")
def over_one(node: Apply) -> Results:
    """``x / 1 = x``."""
    a, b = node.inputs
    return [a] if number_of(b) == 1.0 and _same_type(node, a) else None


@rule("neg")
def twice_negative(node: Apply) -> Results:
    """``-(-x) = x``."""
    inner = scalar_in(node.inputs[0], "neg")
    return [inner.inputs[0]] if inner else None


@rule("pow")
def small_powers(node: Apply) -> Results:
    """``x ** 2 = sqr(x)``, ``x ** 1 = x``, ``x ** 0.5 = sqrt(x)``, ``x ** -1 = 1 / x``."""
    x, exponent = node.inputs
    number = number_of(exponent)
    if number is None or x.type != node.outputs[0].type or x.dtype[0] != "f":
        return None
    if number == 1.0:
        return [x]
    build = {2.0: sqr, 0.5: sqrt, -1.0: inv}.get(number)
    return None if build is None else [build(x)]


@rule("second")
def fill_of_the_same_shape(node: Apply) -> Results:
    """``fill(x, y) = y`` where no dimension of `y` is broadcastable and `x` has no other shape."""
    model, value = node.inputs
    if not value.ndim and _same_type(node, value):
        return [value]
    inner = scalar_in(model, "second")
    if inner:
        return [fill(inner.inputs[0], value)] if _same_type(node, inner.inputs[0]) else None
    if value is model and _same_type(node, value):
        return [value]
    return None


@rule("identity")
def identity_is_nothing(node: Apply) -> Results:
    """``identity(x) = x``."""
    return [node.inputs[0]]


@rule(DimShuffle)
def shuffle_of_shuffle(node: Apply) -> Results:
    """Two rearrangements are one, and that into the same order is none."""
    x, order = node.inputs[0], node.op.new_order
    if order == tuple(range(x.ndim)):
        return [x]
    if x.owner is not None and isinstance(x.owner.op, DimShuffle):
        inner = x.owner.op
        source = x.owner.inputs[0]
        joined = ["x" if d == "x" else inner.new_order[d] for d in order]
        numbers = [d for d in joined if d != "x"]
        if len(set(numbers)) == len(numbers):
            return [DimShuffle(source.broadcastable, joined)(source)]
    return None


@rule(Rebroadcast)
def rebroadcast_of_rebroadcast(node: Apply) -> Results:
    """Of two declarations the last counts, if the first checks nothing more."""
    x = node.inputs[0]
    if x.broadcastable == node.op.pattern:
        return [x]
    if x.owner is not None and isinstance(x.owner.op, Rebroadcast):
        first = x.owner.op.pattern
        if all(b or not a for a, b in zip(first, node.op.pattern, strict=True)):
            return [Rebroadcast(node.op.pattern)(x.owner.inputs[0])]
    return None


@rule(Shape)
def shape_by_lengths(node: Apply) -> Results:
    """A shape is the vector of its lengths."""
    x = node.inputs[0]
    if not x.ndim:
        return [TensorConstant(TensorType("int64", (False,)), np.empty(0, np.int64))]
    return [MakeVector()(*[Length(d)(x) for d in range(x.ndim)])]


@rule(Length)
def length_without_computing(node: Apply) -> Results:
    """The length of an elementwise result is that of an input; rearranged, of another dimension.

    Many steps are taken at once: each that is left to the next rule is a level of recursion.
    """
    x, axis = node.inputs[0], node.op.axis
    result = None
    for _ in range(_STEPS):
        step = _length_one_step_back(x, axis)
        if step is None:
            break
        result = step
        owner = step[0].owner
        if owner is None or not isinstance(owner.op, Length):
            break
        x, axis = owner.inputs[0], owner.op.axis
    return result


_STEPS = 50


def _length_one_step_back(x: Any, axis: int) -> Results:
    if x.broadcastable[axis]:
        return [TensorConstant(TensorType("int64", ()), np.asarray(1, np.int64))]
    source = x.owner
    if source is None:
        return None
    if isinstance(source.op, Elemwise):
        full = next((v for v in source.inputs if not v.broadcastable[axis]), None)
        return None if full is None else [shape_i(full, axis)]
    if isinstance(source.op, DimShuffle):
        return [shape_i(source.inputs[0], source.op.new_order[axis])]
    return _inferred(source, x.index, axis)


def _inferred(node: Apply, position: int, axis: int) -> Results:
    """What an operation says about the shapes of its outputs (`infer_shape`), if it does."""
    infer = getattr(node.op, "infer_shape", None)
    if infer is None:
        return None
    lengths = [
        tuple(shape_i(v, d) for d in range(v.ndim)) if isinstance(v.type, TensorType) else None
        for v in node.inputs
    ]
    try:
        shape = infer(node, lengths)[position]
    except (NotImplementedError, ShapeError):
        return None
    return None if shape is None else [as_tensor_variable(shape[axis])]


@rule(Subtensor)
def element_of_vector(node: Apply) -> Results:
    """An element of a vector of scalars is that scalar."""
    x = node.inputs[0]
    if node.op.key.entries != ("i",) or x.owner is None:
        return None
    position = number_of(node.inputs[1])
    if position is None or not isinstance(x.owner.op, MakeVector):
        return None
    values = x.owner.inputs
    return [values[int(position)]] if -len(values) <= position < len(values) else None
