"""Rules that keep functions exact where the plain formula overflows, or rounds to 0 or 1.

They change results, to better ones: at ±1000 the plain formulas give infinity or NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert import ops
from wengert.symbolic.differentiation import SHORTCUTS, Shortcut
from wengert.symbolic.expressions.activations import (
    Softmax,
    log_sigmoid,
    logsoftmax_op,
    softplus,
)
from wengert.symbolic.expressions.arithmetic import (
    abs_,
    cast,
    erfc,
    expm1,
    gt,
    log,
    log1p,
    maximum,
    minimum,
    neg,
    sqr,
    switch,
)
from wengert.symbolic.expressions.elemwise import DimShuffle, Elemwise, Sum, normal_axes
from wengert.symbolic.expressions.indexing import Subtensor
from wengert.symbolic.expressions.shapes import Reshape
from wengert.symbolic.expressions.special import erfcx
from wengert.symbolic.expressions.type import constant
from wengert.symbolic.expressions.wrapped import Bound, Wrapped
from wengert.symbolic.graph import Apply
from wengert.symbolic.programs.algebra import number_of, scalar_in
from wengert.symbolic.programs.rewriting import rule

Results = Sequence[Any] | None
# A logarithm, its source and what it skips, for a node.
Made = Callable[[Apply], tuple[Any, Any, list[Any]] | None]
_MOVING = (DimShuffle, Subtensor, Reshape)
_WIDE = ("float32", "float64")


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
    return _moved(x, lambda node: isinstance(node.op, Softmax), lambda node: (
        logsoftmax_op(node.inputs[0]), node.inputs[0], []))  # fmt: skip


def _moved(x: Any, fits: Callable[[Apply], bool], made: Made) -> Shortcut | None:
    """A shortcut for the logarithm of parts of what a node gives, from that for all of it.

    `made` gives the logarithm, its source and what it skips beside the parts.
    """
    moves: list[Apply] = []
    skipped = [x]
    while x.owner is not None and isinstance(x.owner.op, _MOVING):
        moves.append(x.owner)
        x = x.owner.inputs[0]
        skipped.append(x)
    found = made(x.owner) if x.owner is not None and fits(x.owner) else None
    if found is None:
        return None
    result, source, more = found
    for move in reversed(moves):
        result = move.op(result, *move.inputs[1:])
    return Shortcut(result, source, skipped + more)


def stable_log_of_sum(node: Apply) -> Shortcut | None:
    """``log(sum(exp(x)))``, also of some of the sums."""
    if not isinstance(node.op, Elemwise) or node.op.scalar_op.name != "log":
        return None
    return _moved(node.inputs[0], lambda n: isinstance(n.op, Sum), _log_sum_exp)


def _log_sum_exp(node: Apply) -> tuple[Any, Any, list[Any]] | None:
    power = scalar_in(node.inputs[0], "exp")
    total = node.outputs[0]
    if not power or total.dtype != node.inputs[0].dtype or total.dtype not in _WIDE:
        return None
    source = power.inputs[0]
    axes = normal_axes(node.op.axis, source.ndim)
    if not axes:
        return None
    logarithm = Wrapped("LogSumExp", Bound(ops.logsumexp, axes), [total.type])
    return logarithm(cast(source, total.dtype)), source, [node.inputs[0]]


@rule("log")
def log_of_sum(node: Apply) -> Results:
    """The forms of `stable_log_of_sum`, and ``log(exp(x) + exp(y))``."""
    stable = stable_log_of_sum(node)
    if stable is not None:
        return [stable.variable]
    total = scalar_in(node.inputs[0], "add")
    powers = [scalar_in(x, "exp") for x in total.inputs] if total else []
    if not powers or not all(powers):
        return None
    a, b = (cast(p.inputs[0], node.outputs[0].dtype) for p in powers)
    return [maximum(a, b) + softplus(neg(abs_(a - b)))]


def stable_log_of_erfc(node: Apply) -> Shortcut | None:
    """``log(erfc(x))``, of which `erfc` is 0 beyond 27."""
    if not isinstance(node.op, Elemwise) or node.op.scalar_op.name != "log":
        return None
    rest = scalar_in(node.inputs[0], "erfc")
    if not rest or scalar_in(rest.inputs[0], "minimum"):
        return None
    x = cast(rest.inputs[0], node.outputs[0].dtype)
    one = constant(1, dtype=x.dtype)
    # Each branch is computed everywhere, and has to be finite where the other one is taken.
    far = log(erfcx(maximum(x, one))) - sqr(x)
    return Shortcut(switch(gt(x, one), far, log(erfc(minimum(x, one)))), rest.inputs[0],
                    [node.inputs[0]])  # fmt: skip


SHORTCUTS += [stable_log_of_sum, stable_log_of_erfc]


@rule("log")
def log_of_erfc(node: Apply) -> Results:
    """The form of `stable_log_of_erfc`."""
    stable = stable_log_of_erfc(node)
    return None if stable is None else [stable.variable]


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
