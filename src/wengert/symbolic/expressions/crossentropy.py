"""Cross-entropies of the softmax of rows with the numbers of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import CONTINUOUS, DISCRETE
from wengert.symbolic.expressions.activations import Softmax, softmax
from wengert.symbolic.expressions.arithmetic import add, cast, eq, log, mul, sub, true_div
from wengert.symbolic.expressions.creation import arange, zeros_like
from wengert.symbolic.expressions.indexing import inc_subtensor, index
from wengert.symbolic.expressions.reductions import argmax
from wengert.symbolic.expressions.reductions import max as max_over
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.structure import concatenate, shape_padright
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.expressions.wrapped import Composed
from wengert.symbolic.graph import Apply, Operation, disconnected


class ClassNumbers(Operation):
    """Numbers of classes, one for each row: checked when a function runs."""

    __props__ = ("nonnegative",)

    def __init__(self, nonnegative: bool) -> None:
        self.nonnegative = nonnegative

    def make_node(self, y: Any, rows: Any) -> Apply:
        """A vector, and how many rows there are."""
        y = as_tensor_variable(y)
        return Apply(self, [y, as_tensor_variable(rows)], [y.type()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the vector."""
        return list(shapes[:1])

    def compute(self, y: np.ndarray, rows: Any) -> np.ndarray:
        """The numbers, if there are as many as rows and, where that is asked, none is negative."""
        if len(y) != rows:
            kind = ValueError if self.nonnegative else IndexError
            raise kind(f"there are {rows} rows of classes, and {len(y)} numbers of classes")
        if self.nonnegative and (y < 0).any():
            raise ValueError(f"y_i value out of bounds: {y.min()} is no number of a class")
        return y

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Numbers of classes have no gradient."""
        return [[False], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected(), disconnected()]


def _of_classes(x: Any, y_idx: Any) -> tuple[Any, Any]:
    """Scores and the numbers of classes, of the types that they should have."""
    x, y = as_tensor_variable(x), as_tensor_variable(y_idx)
    if x.ndim != 2 or x.dtype not in CONTINUOUS:
        raise ValueError("x must be 2-d tensor of floats", x.type)
    if y.ndim != 1 or y.dtype not in DISCRETE:
        raise ValueError("y_idx must be 1-d tensor of [u]ints", y.type)
    return x, ClassNumbers(True)(y, x.shape[0])


def _biased(x: Any, b: Any) -> Any:
    b = as_tensor_variable(b)
    if b.ndim != 1 or b.dtype not in CONTINUOUS:
        raise ValueError("b must be 1-d tensor of floats", b.type)
    return add(x, b)


def softmax_with_bias(x: Any, b: Any) -> Any:
    """The softmax of rows, after a bias."""
    x = as_tensor_variable(x)
    if x.ndim != 2 or x.dtype not in CONTINUOUS:
        raise ValueError("x must be 2-d tensor of floats", x.type)
    return softmax(_biased(x, b))


def softmax_grad(dy: Any, sm: Any) -> Any:
    """The gradient of what a softmax was taken of, from that of the softmax."""
    weighted = mul(dy, sm)
    return sub(weighted, mul(sum_over(weighted, -1, keepdims=True), sm))


def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> Any:
    """The cross-entropy of each row, with a distribution or with the number of a class."""
    coding_dist, true_dist = as_tensor_variable(coding_dist), as_tensor_variable(true_dist)
    if true_dist.ndim == coding_dist.ndim:
        return -sum_over(mul(true_dist, log(coding_dist)), coding_dist.ndim - 1)
    if true_dist.ndim == coding_dist.ndim - 1:
        return crossentropy_categorical_1hot(coding_dist, true_dist)
    raise TypeError("rank mismatch between coding and true distributions")


def crossentropy_categorical_1hot(coding_dist: Any, true_one_of_n: Any) -> Any:
    """Minus the logarithm of the probability, in each row, of a class.

    Raises IndexError, when it is computed, unless there is a class for each row; of a softmax
    ValueError, for numbers below 0 as well.
    """
    coding, y = as_tensor_variable(coding_dist), as_tensor_variable(true_one_of_n)
    if coding.ndim != 2:
        raise TypeError(f"matrix required for argument: coding_dist (got {coding.type})")
    if y.dtype in CONTINUOUS or y.ndim != 1:
        raise TypeError(f"integer vector required for argument: true_one_of_n (got {y.type})")
    of_softmax = coding.owner is not None and isinstance(coding.owner.op, Softmax)
    y = ClassNumbers(of_softmax)(y, coding.shape[0])
    return -log(index(coding, (arange(y.shape[0]), y)))


def crossentropy_categorical_1hot_grad(g_y: Any, coding_dist: Any, true_one_of_n: Any) -> Any:
    """The gradient of the distributions, from that of the cross-entropies."""
    coding, y = as_tensor_variable(coding_dist), as_tensor_variable(true_one_of_n)
    places = arange(y.shape[0]), y
    return inc_subtensor(index(zeros_like(coding), places), -true_div(g_y, index(coding, places)))


def crossentropy_softmax_1hot(x: Any, y_idx: Any, **options: Any) -> Any:
    """The cross-entropy of the softmax of rows with classes, and the softmax.

    Raises ValueError, when it is computed, unless there is a class for each row, from 0 on.
    """
    x, y = _of_classes(x, y_idx)
    sm = softmax(x)
    return -log(index(sm, (arange(y.shape[0]), y))), sm


def crossentropy_softmax_1hot_with_bias(x: Any, b: Any, y_idx: Any, **options: Any) -> Any:
    """As `crossentropy_softmax_1hot`, after a bias."""
    return crossentropy_softmax_1hot(_biased(x, b), y_idx)


def crossentropy_softmax_1hot_with_bias_dx(dy: Any, sm: Any, y_idx: Any) -> Any:
    """The gradient of what a softmax was taken of, from that of the cross-entropies."""
    sm, y = _of_classes(sm, y_idx)
    dy = as_tensor_variable(dy)
    if dy.ndim > 1 or dy.dtype not in CONTINUOUS:
        raise ValueError("dy must be {0,1}-d tensor of floats", dy.type)
    hit = cast(eq(arange(sm.shape[1]).dimshuffle("x", 0), y.dimshuffle(0, "x")), sm.dtype)
    return mul(shape_padright(dy) if dy.ndim else dy, sub(sm, hit))


def crossentropy_softmax_max_and_argmax_1hot(x: Any, y_idx: Any, **options: Any) -> Any:
    """The cross-entropy, the softmax, its largest element and where that is."""
    loss, sm = crossentropy_softmax_1hot(x, y_idx)
    return loss, sm, max_over(sm, -1), argmax(sm, -1)


def crossentropy_softmax_argmax_1hot_with_bias(x: Any, b: Any, y_idx: Any, **options: Any) -> Any:
    """The cross-entropy of the softmax of rows with classes, after a bias; softmax and argmax."""
    y = as_tensor_variable(y_idx)
    x, _ = _of_classes(x, y)
    loss, sm, _, best = crossentropy_softmax_max_and_argmax_1hot(_biased(x, b), y)
    return [loss, sm, cast(best, y.dtype)]


def crossentropy_softmax_max_and_argmax_1hot_with_bias(x: Any, b: Any, y_idx: Any,
                                                       **options: Any) -> Any:  # fmt: skip
    """As `crossentropy_softmax_max_and_argmax_1hot`, after a bias."""
    return crossentropy_softmax_max_and_argmax_1hot(_biased(x, b), y_idx)


def prepend_scalar_to_each_row(val: Any, mat: Any) -> Any:
    """A matrix with one more column in front, of one number."""
    val, mat = as_tensor_variable(val), as_tensor_variable(mat)
    if val.ndim or mat.ndim != 2:
        raise TypeError(f"a scalar and a matrix are expected, got {val.type} and {mat.type}")
    column = add(zeros_like(index(mat, (slice(None), slice(0, 1)))), cast(val, mat.dtype))
    return concatenate([column, mat], 1)


def prepend_constant_to_each_row(mat: Any, val: Any = 0) -> Any:
    """A matrix with one more column in front, of a constant."""
    return prepend_scalar_to_each_row(val, mat)


class SoftmaxWithBias(Composed):
    """`softmax_with_bias`, as operations are made."""

    function = staticmethod(softmax_with_bias)


class SoftmaxGrad(Composed):
    """`softmax_grad`, as operations are made."""

    function = staticmethod(softmax_grad)


class CrossentropySoftmaxArgmax1HotWithBias(Composed):
    """`crossentropy_softmax_argmax_1hot_with_bias`, as operations are made."""

    nin, nout = 3, 3
    function = staticmethod(crossentropy_softmax_argmax_1hot_with_bias)


class CrossentropySoftmax1HotWithBiasDx(Composed):
    """`crossentropy_softmax_1hot_with_bias_dx`, as operations are made."""

    nin, nout = 3, 1
    function = staticmethod(crossentropy_softmax_1hot_with_bias_dx)


class CrossentropyCategorical1Hot(Composed):
    """`crossentropy_categorical_1hot`, as operations are made."""

    function = staticmethod(crossentropy_categorical_1hot)


class CrossentropyCategorical1HotGrad(Composed):
    """The gradient of `crossentropy_categorical_1hot`, as operations are made."""

    function = staticmethod(crossentropy_categorical_1hot_grad)


class Prepend_scalar_to_each_row(Composed):  # noqa: N801
    """``op(number, matrix)`` has the number in a column of its own in front."""

    function = staticmethod(prepend_scalar_to_each_row)


class Prepend_scalar_constant_to_each_row(Composed):  # noqa: N801
    """``op(matrix)`` has a constant, the argument `val`, in a column of its own in front."""

    function = staticmethod(prepend_constant_to_each_row)


prepend_0_to_each_row = Prepend_scalar_constant_to_each_row(0.0)
prepend_1_to_each_row = Prepend_scalar_constant_to_each_row(1.0)

__all__ = [
    "CrossentropyCategorical1Hot",
    "CrossentropyCategorical1HotGrad",
    "CrossentropySoftmax1HotWithBiasDx",
    "CrossentropySoftmaxArgmax1HotWithBias",
    "Prepend_scalar_constant_to_each_row",
    "Prepend_scalar_to_each_row",
    "SoftmaxGrad",
    "SoftmaxWithBias",
    "categorical_crossentropy",
    "crossentropy_categorical_1hot",
    "crossentropy_categorical_1hot_grad",
    "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_1hot_with_bias_dx",
    "crossentropy_softmax_argmax_1hot_with_bias",
    "crossentropy_softmax_max_and_argmax_1hot",
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    "prepend_0_to_each_row",
    "prepend_1_to_each_row",
    "prepend_scalar_to_each_row",
    "softmax_grad",
    "softmax_with_bias",
]
