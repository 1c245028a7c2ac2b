"""Activation functions, and losses that go with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import CONTINUOUS, to_float
from wengert.symbolic.expressions.arithmetic import (
    abs_,
    add,
    cast,
    clip,
    elementwise,
    eq,
    exp,
    expm1,
    gt,
    int_div,
    log,
    mod,
    mul,
    sub,
    switch,
)
from wengert.symbolic.expressions.creation import arange
from wengert.symbolic.expressions.extra_ops import Unique
from wengert.symbolic.expressions.indexing import index
from wengert.symbolic.expressions.products import batched_dot, dot, tensordot
from wengert.symbolic.expressions.reductions import max as max_over
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.structure import (
    concatenate,
    flatten,
    reshape,
    shape_padleft,
    shape_padright,
)
from wengert.symbolic.expressions.type import as_tensor_variable, constant
from wengert.symbolic.graph import Apply, Operation

sigmoid = elementwise("sigmoid", "``1 / (1 + exp(-x))``.")
softplus = elementwise("softplus", "``log(1 + exp(x))``, without overflow.")
log_sigmoid = elementwise("log_sigmoid", "``log(sigmoid(x))``, exact where the sigmoid is 0.")


def ultra_fast_sigmoid(x: Any) -> Any:
    """The sigmoid itself: the approximation that the name stands for is not faster here."""
    return sigmoid(x)


def hard_sigmoid(x: Any) -> Any:
    """A line through 0.5 with slope 0.2, between 0 and 1."""
    x = as_tensor_variable(x)
    slope, middle, low, high = (constant(v, dtype=to_float(x.dtype)) for v in (0.2, 0.5, 0, 1))
    return clip(add(mul(x, slope), middle), low, high)


class _OfRows(Operation):
    """A function of each row of a matrix."""

    def make_node(self, x: Any) -> Apply:
        """A vector counts as one row."""
        x = _rows(x)
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the matrix."""
        return [shapes[0]]


class Softmax(_OfRows):
    """The softmax of each row."""

    def compute(self, x: np.ndarray) -> np.ndarray:
        """Exponentials after the largest is taken away."""
        if not x.size:
            return x.copy()
        e = np.exp(x - x.max(-1, keepdims=True))
        e /= e.sum(-1, keepdims=True)
        return e

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """By the result."""
        (sm,), (g,) = outputs, output_gradients
        weighted = mul(g, sm)
        return [sub(weighted, mul(sum_over(weighted, -1, keepdims=True), sm))]


class LogSoftmax(_OfRows):
    """The logarithm of the softmax of each row."""

    def compute(self, x: np.ndarray) -> np.ndarray:
        """Without exponentials of large numbers."""
        if not x.size:
            return x.copy()
        moved = x - x.max(-1, keepdims=True)
        moved -= np.log(np.exp(moved).sum(-1, keepdims=True))
        return moved

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """By the result."""
        (out,), (g,) = outputs, output_gradients
        return [sub(g, mul(sum_over(g, -1, keepdims=True), exp(out)))]


def _rows(x: Any) -> Any:
    x = as_tensor_variable(x)
    if x.ndim not in (1, 2) or x.dtype not in CONTINUOUS:
        raise ValueError(
            f"x must be 1-d or 2-d tensor of floats. Got {x.type}"
            + (f", made at {x.where()}" if x.where() else "")
        )
    return shape_padleft(x) if x.ndim == 1 else x


softmax_op, logsoftmax_op = Softmax(), LogSoftmax()


def softmax(c: Any) -> Any:
    """The softmax of each row; of a vector a matrix of one row."""
    c = as_tensor_variable(c)
    if c.dtype not in CONTINUOUS and c.ndim in (1, 2):
        c = cast(c, to_float(c.dtype))
    return softmax_op(c)


def logsoftmax(c: Any) -> Any:
    """The logarithm of the softmax of each row; of a vector a matrix of one row."""
    return logsoftmax_op(c)


def softmax_graph(c: Any) -> Any:
    """The softmax of the last dimension, in elementary operations."""
    c = as_tensor_variable(c)
    e = exp(sub(c, max_over(c, -1, keepdims=True)))
    return e / sum_over(e, -1, keepdims=True)


def softsign(x: Any) -> Any:
    """``x / (1 + |x|)``."""
    x = as_tensor_variable(x)
    return x / add(constant(1, dtype=to_float(x.dtype)), abs_(x))


def relu(x: Any, alpha: Any = 0) -> Any:
    """Zero for negative numbers, or these times `alpha`; the derivative at 0 is a half."""
    x = as_tensor_variable(x)
    if isinstance(alpha, int | float) and alpha == 0:
        x = cast(x, "int8") if x.dtype == "bool" else x  # a sum of booleans is no number
        return mul(0.5, add(x, abs_(x)))
    alpha = as_tensor_variable(alpha)
    return add(mul(mul(0.5, add(1, alpha)), x), mul(mul(0.5, sub(1, alpha)), abs_(x)))


def elu(x: Any, alpha: Any = 1) -> Any:
    """``alpha * (exp(x) - 1)`` for negative numbers."""
    x = as_tensor_variable(x)
    return switch(gt(x, 0), x, mul(alpha, expm1(x)))


def selu(x: Any) -> Any:
    """The `elu` that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""
    return mul(1.0507009873554804934193349852946, elu(x, 1.6732632423543772848170429916717))


def binary_crossentropy(output: Any, target: Any) -> Any:
    """``-(t log(o) + (1 - t) log(1 - o))``, element by element."""
    output, target = as_tensor_variable(output), as_tensor_variable(target)
    return -(mul(target, log(output)) + mul(sub(1.0, target), log(sub(1.0, output))))


def sigmoid_binary_crossentropy(output: Any, target: Any) -> Any:
    """`binary_crossentropy` of the sigmoid of `output`."""
    output = as_tensor_variable(output)
    return sub(softplus(output), mul(output, target))


def h_softmax(x: Any, batch_size: Any, n_outputs: Any, n_classes: Any, n_outputs_per_class: Any,
              W1: Any, b1: Any, W2: Any, b2: Any, target: Any = None) -> Any:  # fmt: skip  # noqa: N803
    """A softmax in two levels: over classes of outputs, and within the class.

    Args:
        x: inputs, (batch_size, features).
        batch_size, n_outputs, n_classes, n_outputs_per_class: lengths; there may be more places
            than outputs.
        W1, b1: (features, n_classes) and (n_classes,), of the first level.
        W2, b2: (n_classes, features, n_outputs_per_class) and (n_classes, n_outputs_per_class).
        target: one output for each input; its probabilities alone are computed.

    Returns probabilities, (batch_size, n_outputs), or of the targets, (batch_size,).
    """
    of_class = softmax(add(dot(x, W1), b1))
    if target is None:
        within = softmax(reshape(add(tensordot(x, W2, (1, 1)), b2), (-1, n_outputs_per_class), 2))
        within = reshape(within, (batch_size, n_classes, -1), 3)
        joint = mul(within, of_class.dimshuffle(0, 1, "x"))
        return index(reshape(joint, (batch_size, -1), 2), (slice(None), slice(None, n_outputs)))
    target = flatten(as_tensor_variable(target))
    chosen, place = int_div(target, n_outputs_per_class), mod(target, n_outputs_per_class)
    rows = batched_dot(x.dimshuffle(0, "x", 1), index(W2, chosen))
    within = softmax(add(index(rows, (slice(None), 0)), index(b2, chosen)))
    each = arange(batch_size)
    return mul(index(of_class, (each, chosen)), index(within, (each, place)))


def confusion_matrix(actual: Any, pred: Any) -> Any:
    """How often each class was taken for each other, and the classes in order."""
    actual, pred = as_tensor_variable(actual), as_tensor_variable(pred)
    if actual.ndim != 1 or pred.ndim != 1:
        raise ValueError("actual and pred must be 1-d tensor variable")
    order = Unique()(concatenate([flatten(actual), flatten(pred)]))
    columns = order.dimshuffle("x", 0)
    rows_of = cast(eq(shape_padright(actual), columns), "int64")
    columns_of = cast(eq(shape_padright(pred), columns), "int64")
    return [dot(rows_of.T, columns_of), order]
