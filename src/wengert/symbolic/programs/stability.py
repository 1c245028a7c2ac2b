"""Rules that keep functions exact where the plain formula overflows, or rounds to 0 or 1.

They change results, to better ones: at ±1000 the plain formulas give infinity or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.symbolic.differentiation import SHORTCUTS, Shortcut
from wengert.symbolic.expressions.activations import (
    Softmax,
    log_sigmoid,
    logsoftmax_op,
    softplus,
)
from wengert.symbolic.expressions.arithmetic import expm1, log1p, neg
from wengert.symbolic.expressions.elemwise import DimShuffle, Elemwise
from wengert.symbolic.expressions.indexing import Subtensor
from wengert.symbolic.expressions.shapes import Reshape
from wengert.symbolic.graph import Apply
from wengert.symbolic.programs.algebra import number_of, scalar_in
from wengert.symbolic.programs.rewriting import rule

Results = Sequence[Any] | None
_MOVING = (DimShuffle, Subtensor, Reshape)


@rule("log")
def log_of_probability(node: Apply) -> Results:
    """The forms of `stable_log`."""
    stable = stable_log(node)
    return None if stable is None else [stable.variable]


def stable_log(node: Apply) -> Shortcut | None:
    """``log(softmax(x))``, also of some elements; ``log(sigmoid(x))``; ``log(1 - sigmoid(x))``."""
    if not isinstance(node.op, Elemwise) or node.op.scalar_op.name != "log":
        return None
    x = node.inputs[0]
    inner = scalar_in(x, "sigmoid")
    if inner:
        return Shortcut(log_sigmoid(inner.inputs[0]), inner.inputs[0], [x])
    difference = scalar_in(x, "sub")
    if difference and number_of(difference.inputs[0]) == 1.0:
        inner = scalar_in(difference.inputs[1], "sigmoid")
        if inner and inner.outputs[0].type == x.type:
            source = inner.inputs[0]
            return Shortcut(neg(softplus(source)), source, [x, inner.outputs[0]])
    return _log_of_softmax(x)


def _log_of_softmax(x: Any) -> Shortcut | None:
    moves: list[Apply] = []
    skipped = [x]
    while x.owner is not None and isinstance(x.owner.op, _MOVING):
        moves.append(x.owner)
        x = x.owner.inputs[0]
        skipped.append(x)
    if x.owner is None or not isinstance(x.owner.op, Softmax):
        return None
    source = x.owner.inputs[0]
    result = logsoftmax_op(source)
    for move in reversed(moves):
        result = move.op(result, *move.inputs[1:])
    return Shortcut(result, source, skipped)


SHORTCUTS.append(stable_log)


@rule("log")
def log_of_one_plus(node: Apply) -> Results:
    """``log(1 + exp(x)) = softplus(x)`` and ``log(1 + x) = log1p(x)``."""
    total = scalar_in(node.inputs[0], "add")
    if not total:
        difference = scalar_in(node.inputs[0], "sub")
        if difference and number_of(difference.inputs[0]) == 1.0:
            return [log1p(neg(difference.inputs[1]))]
        return None
    a, b = total.inputs
    for one, other in ((a, b), (b, a)):
        if number_of(one) == 1.0:
            power = scalar_in(other, "exp")
            return [softplus(power.inputs[0])] if power else [log1p(other)]
    return None


@rule("log1p")
def log1p_of_sigmoid(node: Apply) -> Results:
    """``log1p(-sigmoid(x)) = -softplus(x)`` and ``log1p(exp(x)) = softplus(x)``."""
    negative = scalar_in(node.inputs[0], "neg")
    inner = scalar_in(negative.inputs[0], "sigmoid") if negative else None
    if inner:
        return [neg(softplus(inner.inputs[0]))]
    power = scalar_in(node.inputs[0], "exp")
    return [softplus(power.inputs[0])] if power else None


@rule("sub")
def exp_less_one(node: Apply) -> Results:
    """``exp(x) - 1 = expm1(x)``."""
    power = scalar_in(node.inputs[0], "exp")
    if power and number_of(node.inputs[1]) == 1.0:
        return [expm1(power.inputs[0])]
    return None
