"""Reductions beside sums: products, extremes, logic, and what is made of them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from wengert import ops
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
    DimShuffle,
    Reduction,
    Sum,
    expanded,
    fill,
    float_zeros,
    normal_axes,
    reduction_kernel,
)
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, constant
from wengert.symbolic.expressions.wrapped import Wrapped
from wengert.symbolic.graph import Apply, Kernel


def _sum(x: np.ndarray, axes: Any, dtype: np.dtype[Any]) -> Any:
    if x.dtype == dtype and dtype.kind == "f" and dtype.itemsize > 2:
        total: Any = ops.sum
        return total(x) if axes is None else total(x, axes)
    return np.sum(x, axis=axes, dtype=dtype)


REDUCERS.update(
    sum=_sum,
    max=lambda x, axes, dtype: np.max(x, axis=axes),
    min=lambda x, axes, dtype: np.min(x, axis=axes),
    all=lambda x, axes, dtype: np.all(x, axis=axes),
    any=lambda x, axes, dtype: np.any(x, axis=axes),
    prod=lambda x, axes, dtype: np.prod(x, axis=axes, dtype=dtype),
)


class _ByName(Reduction):
    """A reduction of NumPy's that `which` names."""

    __props__: tuple[str, ...] = ("axis", "dtype", "acc_dtype", "which")

    def __init__(self, axis: Any, dtype: Any, acc_dtype: Any, which: str) -> None:
        super().__init__(axis, dtype, acc_dtype)
        self.which = which

    def make_node(self, input: Any) -> Apply:
        """As of reductions."""
        node = super().make_node(input)
        if node.op is not self:
            node.op = type(self)(node.op.axis, None, None, self.which)
        return node

    def kernel(self, node: Apply) -> Kernel:
        """NumPy's."""
        x = node.inputs[0]
        return reduction_kernel(self.which, normal_axes(self.axis, x.ndim), x, node.outputs[0])


class Extreme(_ByName):
    """The largest elements along axes (or the smallest)."""

    def __init__(
        self, axis: Any = None, dtype: Any = None, acc_dtype: Any = None, which: str = "max"
    ) -> None:
        super().__init__(axis, dtype, acc_dtype, which)

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


class AllAny(_ByName):
    """Whether all, or any, elements along axes are true."""

    def __init__(
        self, axis: Any = None, dtype: Any = None, acc_dtype: Any = None, which: str = "all"
    ) -> None:
        super().__init__(axis, "bool", acc_dtype, which)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Zeros."""
        return [float_zeros(inputs[0])]


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


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
        acc_dtype: Any = None) -> Any:  # fmt: skip
    """Sums over axes (all of them by default)."""
    x = as_tensor_variable(x)
    widened = accumulator(x.dtype) if acc_dtype is None else acc_dtype
    return _keeping(Sum(axis, dtype, widened)(x), x, axis, keepdims)


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False,
         acc_dtype: Any = None, no_zeros_in_input: bool = False) -> Any:  # fmt: skip
    """Products over axes."""
    x = as_tensor_variable(x)
    if dtype is not None:
        x = cast(x, as_name(dtype))
    elif x.dtype in DISCRETE:
        x = cast(x, "uint64" if x.dtype[0] == "u" else "int64")
    axes = normal_axes(axis, x.ndim)
    pattern = [b for d, b in enumerate(x.broadcastable) if d not in axes]
    out = Wrapped("Prod", _Product(axes), [TensorType(x.dtype, pattern)])(x) if axes else x
    return _keeping(out, x, axis, keepdims)


def mean(x: Any, axis: Any = None, dtype: Any = None, op: bool = False, keepdims: bool = False,
         acc_dtype: Any = None) -> Any:  # fmt: skip
    """Means over axes: a sum, divided by a count; of integers in float64."""
    x = as_tensor_variable(x)
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
    return _keeping(AllAny(axis, which="all")(x), x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element is true."""
    x = as_tensor_variable(x)
    return _keeping(AllAny(axis, which="any")(x), x, axis, keepdims)


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
    "AllAny",
    "Argmax",
    "Extreme",
    "all",
    "allclose",
    "any",
    "argmax",
    "argmin",
    "largest",
    "logsumexp",
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
