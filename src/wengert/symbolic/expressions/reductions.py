"""Reductions beside sums: products, extremes, logic, and what is made of them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from wengert import ops
from wengert.kernels.reduction.wide import wide_total
from wengert.symbolic.dtypes import DISCRETE, FLOATS, accumulator, as_name
from wengert.symbolic.expressions.arithmetic import (
    cast,
    eq,
    exp,
    isclose,
    isinf,
    log,
    maximum,
    minimum,
    mul,
    neg,
    sqr,
    sqrt,
    sub,
    switch,
    true_div,
)
from wengert.symbolic.expressions.elemwise import (
    REDUCERS,
    SCALARS,
    CAReduce,
    CAReduceDtype,
    DimShuffle,
    Reduction,
    Sum,
    expanded,
    fill,
    float_zeros,
    normal_axes,
)
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, constant
from wengert.symbolic.expressions.wrapped import Wrapped
from wengert.symbolic.graph import Apply, DisconnectedType, Kernel, undefined


def _sum(x: np.ndarray, axes: Any, dtype: np.dtype[Any]) -> Any:
    if x.dtype == dtype and dtype.kind == "f" and dtype.itemsize > 2:
        total: Any = ops.sum
        return total(x) if axes is None else total(x, axes)
    if x.dtype == np.float32 and dtype == np.float64 and (out := wide_total(x, axes)) is not None:
        return out
    return np.sum(x, axis=axes, dtype=dtype)


def _bits(ufunc: Any) -> Any:
    return lambda x, axes, dtype: ufunc.reduce(x, axis=axes)


REDUCERS.update(
    add=_sum,
    mul=lambda x, axes, dtype: np.prod(x, axis=axes, dtype=dtype),
    maximum=lambda x, axes, dtype: np.max(x, axis=axes),
    minimum=lambda x, axes, dtype: np.min(x, axis=axes),
    and_=_bits(np.bitwise_and),
    or_=_bits(np.bitwise_or),
    xor=_bits(np.bitwise_xor),
)


class Extreme(CAReduce):
    """The largest elements along axes (or the smallest)."""

    def __init__(self, axis: Any = None, which: str = "max") -> None:
        super().__init__(SCALARS[f"{which}imum"], axis)
        self.which = which

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient, at all places that have the extreme value."""
        (x,), (out,), (g,) = inputs, outputs, output_gradients
        axes = normal_axes(self.axis, x.ndim)
        return [mul(eq(expanded(out, axes), x), expanded(g, axes))]

    def __str__(self) -> str:
        axis = "" if self.axis is None else f"{{{', '.join(map(str, self.axis))}}}"
        return f"{self.which.capitalize()}{axis}"


class Argmax(Reduction):
    """The place of the first largest element along axes, counted over all of them."""

    def result_dtype(self, dtype: str) -> str:
        """int64."""
        return "int64"

    def kernel(self, node: Apply) -> Kernel:
        """NumPy's, over the axes made one."""
        x = node.inputs[0]
        axes = normal_axes(self.axis, x.ndim)
        others = [d for d in range(x.ndim) if d not in axes]

        def run(value: np.ndarray) -> np.ndarray:
            if len(axes) == 1:
                return np.asarray(value.argmax(axes[0]), np.int64)
            moved = value.transpose(*others, *axes)
            flat = moved.reshape(*moved.shape[: len(others)], -1)
            return np.asarray(flat.argmax(-1), np.int64)

        return run

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Zeros: places do not vary with values."""
        return [float_zeros(inputs[0])]


class MaxAndArgmax(Reduction):
    """The largest elements along axes, and the places of the first of them."""

    def make_node(self, input: Any) -> Apply:
        """Two results of one shape."""
        node = Extreme(self.axis).make_node(input)
        place = TensorType("int64", node.outputs[0].broadcastable)()
        return Apply(self, node.inputs, [node.outputs[0].type(), place])

    def kernel(self, node: Apply) -> Kernel:
        """Both of them."""
        largest, place = (op(self.axis).make_node(*node.inputs) for op in (Extreme, Argmax))
        kernels = largest.op.kernel(largest), place.op.kernel(place)
        return lambda x: tuple([kernel(x) for kernel in kernels])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """One shape, twice."""
        return super().infer_shape(node, shapes) * 2

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """That of the largest elements: places do not vary."""
        g = output_gradients[0]
        if isinstance(g.type, DisconnectedType):
            return [float_zeros(inputs[0])]
        return Extreme(self.axis).L_op(inputs, outputs[:1], [g])


class _Truth(CAReduce):
    """Whether all, or any, elements along axes are true."""

    def result_dtype(self, dtype: str) -> str:
        """bool."""
        return "bool"

    def kernel(self, node: Apply) -> Kernel:
        """Numbers are true unless they are 0."""
        axes = normal_axes(self.axis, node.inputs[0].ndim)
        reduce = np.all if self.scalar_op.name == "and_" else np.any
        return lambda x: np.asarray(reduce(x, axis=axes))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Zeros."""
        return [float_zeros(inputs[0])]


class All(_Truth):
    """Whether all elements along axes are true."""

    def __init__(self, axis: Any = None) -> None:
        super().__init__(SCALARS["and_"], axis)


class AnyTrue(_Truth):
    """Whether any element along axes is true."""

    def __init__(self, axis: Any = None) -> None:
        super().__init__(SCALARS["or_"], axis)


class Prod(CAReduceDtype):
    """Products over axes.

    Args:
        axis, dtype, acc_dtype: as of `CAReduceDtype`.
        no_zeros_in_input: the gradient is the product over each element, which is NaN at zeros.
    """

    __props__ = (*CAReduceDtype.__props__, "no_zeros_in_input")

    def __init__(self, axis: Any = None, dtype: Any = None, acc_dtype: Any = None,
                 no_zeros_in_input: bool = False) -> None:  # fmt: skip
        super().__init__(SCALARS["mul"], axis, dtype, acc_dtype)
        self.no_zeros_in_input = no_zeros_in_input

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The products of the other elements."""
        (x,), (out,), (g,) = inputs, outputs, output_gradients
        if x.dtype in DISCRETE or out.dtype in DISCRETE:
            return [float_zeros(x)]
        axes = normal_axes(self.axis, x.ndim)
        if self.no_zeros_in_input:
            return [true_div(expanded(mul(g, out), axes), x)]
        function = Wrapped("Prod", _Product(axes), [TensorType(x.dtype, out.broadcastable)])
        return function.L_op(inputs, [cast(out, x.dtype)], [cast(g, x.dtype)])


class ProdWithoutZeros(CAReduceDtype):
    """Products over axes of what is not zero; there is no gradient."""

    def __init__(self, axis: Any = None, dtype: Any = None, acc_dtype: Any = None) -> None:
        super().__init__(SCALARS["mul"], axis, dtype, acc_dtype)

    def kernel(self, node: Apply) -> Kernel:
        """Ones stand for the zeros."""
        product = super().kernel(node)
        return lambda x: product(np.where(x == 0, np.ones((), x.dtype), x))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Not defined."""
        return [undefined(self, 0, inputs[0], "it stands in gradients of prod, which has one")]


class Mean(Reduction):
    """Means over one axis, or of all elements, as one operation."""

    def result_dtype(self, dtype: str) -> str:
        """Of integers float64."""
        return "float64" if dtype in DISCRETE else dtype

    def kernel(self, node: Apply) -> Kernel:
        """NumPy's."""
        axes, dtype = normal_axes(self.axis, node.inputs[0].ndim), node.outputs[0].dtype
        return lambda x: np.asarray(np.mean(x, axes, accumulator(dtype)), dtype)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient, divided by a count and repeated."""
        (x,), (g,) = inputs, output_gradients
        if x.dtype in DISCRETE:
            return [float_zeros(x)]
        axes = normal_axes(self.axis, x.ndim)
        for a in axes:
            g = true_div(g, cast(x.shape[a], g.dtype))
        return [fill(x, expanded(g, axes))]


class _Product:
    """Products over axes, as a function of tensors."""

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.axes = axes

    def __call__(self, x: Any) -> Any:
        for axis in reversed(self.axes):
            x = ops.prod(x, axis)
        return x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Product) and other.axes == self.axes

    def __hash__(self) -> int:
        return hash(self.axes)


def _keeping(out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return expanded(out, normal_axes(axis, x.ndim)) if keepdims else out


def makeKeepDims(x: Any, y: Any, axis: Any) -> Any:  # noqa: N802
    """A reduction `y` of `x`, with length 1 in the axes over which it was taken."""
    return expanded(as_tensor_variable(y), normal_axes(axis, as_tensor_variable(x).ndim))


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
        acc_dtype: Any = None) -> Any:  # fmt: skip
    """Sums over axes (all of them by default)."""
    x = as_tensor_variable(x)
    return _keeping(Sum(axis, dtype, acc_dtype)(x), x, axis, keepdims)


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
         acc_dtype: Any = None, no_zeros_in_input: bool = False) -> Any:  # fmt: skip
    """Products over axes."""
    x = as_tensor_variable(x)
    return _keeping(Prod(axis, dtype, acc_dtype, no_zeros_in_input)(x), x, axis, keepdims)


def mean(x: Any, axis: Any = None, dtype: Any = None, op: bool = False, keepdims: bool = False,
         acc_dtype: Any = None) -> Any:  # fmt: skip
    """Means over axes: a sum, divided by a count; of integers in float64.

    With `op` one operation, `Mean`.
    """
    x = as_tensor_variable(x)
    if op:
        if dtype is not None or acc_dtype is not None:
            raise NotImplementedError("mean: with op=True there is neither dtype nor acc_dtype")
        return _keeping(Mean(axis)(x), x, axis, keepdims)
    expected = as_name(dtype) if dtype is not None else x.dtype
    if dtype is not None and expected in DISCRETE:
        expected = "float64"
    sum_type = "float64" if expected in DISCRETE else expected
    if sum_type == "float16":
        sum_type = "float32"
    s = sum(x, axis=axis, dtype=sum_type, keepdims=keepdims, acc_dtype=acc_dtype)
    shape = x.shape
    for a in normal_axes(axis, x.ndim):
        s = true_div(s, cast(shape[a], s.dtype))
    s = cast(s, expected) if expected in FLOATS else s
    s.name = "mean"
    return s


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False,
        corrected: bool = False) -> Any:  # fmt: skip
    """Variances over axes: mean squares of differences from the mean."""
    x = as_tensor_variable(x)
    if isinstance(ddof, bool):
        raise ValueError("Parameter keepdims is now at index 3: (input, axis=None, ddof=0, ...)")
    squares = sqr(sub(x, mean(x, axis, keepdims=True)))
    v = mean(squares, axis, keepdims=keepdims)
    if ddof:
        count = constant(1, dtype="int64")
        for a in normal_axes(axis, x.ndim):
            count = mul(count, x.shape[a])
        v = mul(v, cast(true_div(count, sub(count, ddof)), v.dtype))
    v.name = "var"
    return v


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False,
        corrected: bool = False) -> Any:  # fmt: skip
    """Standard deviations over axes."""
    result = sqrt(var(x, axis, ddof, keepdims, corrected))
    result.name = "std"
    return result


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest elements over axes."""
    x = as_tensor_variable(x)
    return _keeping(Extreme(axis, which="max")(x), x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest elements over axes."""
    x = as_tensor_variable(x)
    return _keeping(Extreme(axis, which="min")(x), x, axis, keepdims)


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The place of the first largest element."""
    x = as_tensor_variable(x)
    return _keeping(Argmax(axis)(x), x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The place of the first smallest element."""
    x = as_tensor_variable(x)
    flipped = sub(-1, x) if x.dtype in DISCRETE else neg(x)
    return argmax(flipped, axis, keepdims)


def max_and_argmax(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest elements, and where they are."""
    return [max(a, axis, keepdims), argmax(a, axis, keepdims)]


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true."""
    x = as_tensor_variable(x)
    return _keeping(All(axis)(x), x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element is true."""
    x = as_tensor_variable(x)
    return _keeping(AnyTrue(axis)(x), x, axis, keepdims)


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether all elements are close."""
    return all(isclose(a, b, rtol, atol, equal_nan))


def ptp(a: Any, axis: Any = None) -> Any:
    """The largest less the smallest element."""
    return sub(max(a, axis), min(a, axis))


def smallest(*args: Any) -> Any:
    """The smallest of several variables, element by element."""
    return reduce(minimum, args)


def largest(*args: Any) -> Any:
    """The largest of several variables, element by element."""
    return reduce(maximum, args)


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The logarithm of a sum of exponentials, without overflow."""
    x = as_tensor_variable(x)
    top = max(x, axis, keepdims=True)
    top = switch(isinf(top), fill(top, constant(0.0, dtype=top.dtype)), top)
    out = log(sum(exp(sub(x, top)), axis, keepdims=True)) + top
    if keepdims:
        return out
    axes = normal_axes(axis, x.ndim)
    return DimShuffle(out.broadcastable, [d for d in range(x.ndim) if d not in axes])(out)


__all__ = [
    "Argmax",
    "Extreme",
    "MaxAndArgmax",
    "Mean",
    "all",
    "allclose",
    "any",
    "argmax",
    "argmin",
    "largest",
    "logsumexp",
    "makeKeepDims",
    "max",
    "max_and_argmax",
    "mean",
    "min",
    "prod",
    "ptp",
    "smallest",
    "std",
    "sum",
    "var",
]
