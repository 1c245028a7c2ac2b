"""Sums, products, quotients, remainders, and combinations of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.sparse import SparseTensor, numpy_dtype
from wengert.core.tensor import Tensor, wrap
from wengert.ops._older import reordered
from wengert.ops.batching import leading
from wengert.ops.checks import not_implemented, require_in_range, require_kind
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, elementwise, multilinear, primitive
from wengert.ops.numbers import number_as_array
from wengert.ops.operands import cast
from wengert.ops.operators import as_operator
from wengert.ops.outputs import write_out
from wengert.ops.rounding import sgn
from wengert.ops.zeros import no_slope


@elementwise(np.add, input=lambda g: g, other=lambda g: g, numbers=True)
def _add(input: Value, other: Value) -> Value:
    """`add` without `alpha`, the operator ``+``."""


def add(
    input: Tensor, other: Any, *older: Any, alpha: complex = 1, out: Tensor | None = None
) -> Tensor:
    """``input + alpha * other``, element by element, with broadcasting.

    >>> import wengert
    >>> wengert.add(wengert.tensor([1.0, 2.0]), wengert.tensor([10.0]), alpha=2)
    tensor([21., 22.])
    """
    if out is not None:
        return write_out(add, out, input, other, *older, alpha=alpha)
    if older:
        return reordered(add, (input, other, *older), {"alpha": alpha})
    if alpha == 1 and type(alpha) is int:
        return _add(input, other)
    return _add(input, _scaled(input, other, alpha))


def _scaled(input: Any, other: Any, alpha: complex) -> Any:
    """``alpha * other``, where `alpha` fits the dtype of the sum."""
    dtype = max(_category(input), _category(other))
    if isinstance(alpha, bool):
        if dtype != dtypes.BOOL:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
    elif isinstance(alpha, complex):
        if dtype != dtypes.COMPLEX:
            raise RuntimeError(
                "For non-complex input tensors, argument alpha must not be a complex number."
            )
    elif isinstance(alpha, float) and dtype < dtypes.FLOAT:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if dtype == dtypes.BOOL:
        alpha = bool(alpha)
        if isinstance(other, bool):
            return other and alpha  # a product of two numbers would be an int
    elif isinstance(other, Tensor):
        dtypes.scalar_array(alpha, _result_type(input, other), "add")
        if isinstance(input, Tensor) and not isinstance(other, SparseTensor):
            return _as_the_sum(input, other) * alpha
    return other * alpha


def _as_the_sum(input: Tensor, other: Tensor) -> Tensor:
    """`other` in the dtype of its sum with `input`: there it is rounded, once it is scaled."""
    found = [dtypes.of_numpy[numpy_dtype(x)] for x in (input, other)]
    if found[0] is found[1]:
        return other
    ranks = [2 if x.ndim else 1 for x in (input, other)]
    return cast(other, dtypes.combine([*zip(found, ranks, strict=True)]).np)


def _result_type(input: Any, other: Tensor) -> dtypes.dtype:
    a, b = input, dtypes.of_numpy[numpy_dtype(other)]
    return dtypes.promote_types(dtypes.of_numpy[numpy_dtype(a)], b) if isinstance(a, Tensor) else b


def _category(x: Any) -> int:
    if isinstance(x, Tensor):
        return dtypes.of_numpy[numpy_dtype(x)].category
    return dtypes.of_number(x).category if isinstance(x, (bool, int, float, complex)) else 0


def _refuse_masks(tensors: list[dtypes.dtype]) -> None:
    """Raise RuntimeError for a mask beside what is none: its difference is rarely meant."""
    if dtypes.bool_ in tensors:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying"
            " to invert a mask, use the `~` or `logical_not()` operator instead."
        )


@elementwise(input=lambda g: g, other=lambda g: -g, refuses=_refuse_masks, numbers=True)
def _sub(input: Value, other: Value) -> Value:
    """`sub` without `alpha`, the operator ``-``."""
    try:
        return np.subtract(input, other)
    except TypeError:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^`"
            " or `logical_xor()` operator instead."
        ) from None


def sub(
    input: Tensor, other: Any, *older: Any, alpha: complex = 1, out: Tensor | None = None
) -> Tensor:
    """``input - alpha * other``, element by element, with broadcasting.

    >>> import wengert
    >>> wengert.sub(wengert.tensor([1.0, 2.0]), 3.0)
    tensor([-2., -1.])
    """
    if out is not None:
        return write_out(sub, out, input, other, *older, alpha=alpha)
    if older:
        return reordered(sub, (input, other, *older), {"alpha": alpha})
    if alpha == 1 and type(alpha) is int:
        return _sub(input, other)
    if max(_category(input), _category(other)) != dtypes.BOOL:
        masks = [x for x in (input, other) if _category(x) == dtypes.BOOL]
        _refuse_masks([dtypes.bool_] * len(masks))
    return _sub(input, _scaled(input, other, alpha))


subtract = sub


def rsub(input: Tensor, other: Any, *, alpha: complex = 1) -> Tensor:
    """``other - alpha * input``.

    >>> import wengert
    >>> wengert.rsub(wengert.tensor([1.0, 2.0]), 3.0)
    tensor([2., 1.])
    """
    if not isinstance(input, Tensor):
        raise TypeError(
            f"rsub(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return sub(other, input, alpha=alpha)


@multilinear(
    input=lambda g, factor: _mul_halves(g, factor),
    batch=leading,
    layout="operands",
    label="MulBackward0",
    name="mul",
)
def _mul_halves(input: Value, factor: float) -> Value:
    """Halves times a number, of which none is rounded before the product is."""
    return (input.astype(np.float32) * np.float32(factor)).astype(input.dtype)


@multilinear(
    input=lambda g, divisor: _div_halves(g, divisor),
    batch=leading,
    layout="operands",
    label="DivBackward0",
    name="div",
)
def _div_halves(input: Value, divisor: float) -> Value:
    """Halves over a number, of which none is rounded before the quotient is."""
    return (input.astype(np.float32) / np.float32(divisor)).astype(input.dtype)


@primitive(
    input=lambda g, input, out: -g * (out / input),
    jvp=lambda t, input, out: -t * (out / input),
    batch=leading,
    layout="operands",
    label="DivBackward0",
    name="div",
)
def _quotient_of_halves(input: Value, dividend: float) -> Value:
    """A number over halves; it is not rounded before the quotient is."""
    return (np.float32(dividend) / input.astype(np.float32)).astype(input.dtype)


def _multiplied_halves(a: Any, b: Any) -> Any:
    return _mul_halves(a, b) if isinstance(a, Tensor) else _mul_halves(b, a)


def _divided_halves(a: Any, b: Any) -> Any:
    return _div_halves(a, b) if isinstance(a, Tensor) else _quotient_of_halves(b, a)


@elementwise(
    np.multiply,
    halves=_multiplied_halves,
    numbers=True,
    input=lambda g, other: g * conj(other),
    other=lambda g, input: g * conj(input),
)
def mul(input: Value, other: Value) -> Value:
    """Product, element by element, with broadcasting.

    >>> import wengert
    >>> wengert.mul(wengert.tensor([1.0, 2.0]), wengert.tensor([3.0, 4.0]))
    tensor([3., 8.])
    """


multiply = mul


@elementwise(
    np.true_divide,
    halves=_divided_halves,
    floats=True,
    numbers=True,
    input=lambda g, other: g / conj(other),
    other=lambda g, input, other: -g * conj(input / other / other),
)
def _div(input: Value, other: Value) -> Value:
    """`div` without `rounding_mode`, the operator ``/``."""


def _require_nonzero(input: np.ndarray, divisor: np.ndarray) -> None:
    if divisor.dtype.kind in "iu" and input.size and np.count_nonzero(divisor) < divisor.size:
        raise RuntimeError("ZeroDivisionError")


def _divided(ufunc: Any, input: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Quotients or remainders that NumPy rounds down; of integers, if no divisor is 0."""
    if other.dtype.kind not in "iu":
        divided: np.ndarray = ufunc(input, other)
        return divided
    found = kernels.integers.divided(ufunc, input, other)
    if found is None:
        raise RuntimeError("ZeroDivisionError")
    return found


def _floored(input: Value, other: Value) -> Value:
    """The floor of a quotient of floats, from the remainder, which is exact."""
    remainders = np.fmod(input, other)
    quotient = (input - remainders) / other
    quotient = np.where(
        (remainders != 0) & ((remainders < 0) ^ (other < 0)), quotient - 1.0, quotient
    )
    near = np.floor(quotient)
    near = np.where(quotient - near > 0.5, near + 1.0, near)
    plain = input / other
    near = np.where(quotient != 0, near, np.copysign(0.0, plain))
    return np.where(other == 0, plain, near)


@elementwise(
    input=lambda g: no_slope(g),
    other=lambda g: no_slope(g),
    label="DivBackward2",
    name="floor_divide",
    numbers=True,
    scalar=_floored,
)
def _div_floor(input: Value, other: Value) -> Value:
    if input.dtype.kind in "bc":
        raise not_implemented("div_floor_cpu", input)
    return _divided(np.floor_divide, input, other)


@elementwise(
    input=lambda g: no_slope(g),
    other=lambda g: no_slope(g),
    label="DivBackward2",
    name="div",
    numbers=True,
)
def _div_trunc(input: Value, other: Value) -> Value:
    if input.dtype.kind in "bc":
        raise not_implemented("div_trunc_cpu", input)
    if input.dtype.kind not in "iu":
        stored = getattr(input, "stored_dtype", input.dtype)  # halves: the quotient is one, too
        return np.trunc(np.true_divide(input, other).astype(stored, copy=False))
    _require_nonzero(input, other)
    quotient = np.floor_divide(input, other)
    # Inexact negative quotients were rounded away from zero.
    quotient += (quotient * other != input) & ((input < 0) != (other < 0))
    return quotient


def div(
    input: Tensor, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """Quotient, element by element; integers give the default floating-point dtype.

    With `rounding_mode` "trunc" or "floor" the quotient is rounded and keeps the dtype.

    >>> import wengert
    >>> wengert.div(wengert.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
    """
    if out is not None:
        return write_out(div, out, input, other, rounding_mode=rounding_mode)
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode == "floor":
        return _div_floor(input, other)
    if rounding_mode == "trunc":
        return _div_trunc(input, other)
    raise RuntimeError(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found"
        f" {rounding_mode!r}"
    )


divide = true_divide = div


def floor_divide(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Quotient rounded towards minus infinity, the operator ``//``.

    >>> import wengert
    >>> wengert.floor_divide(wengert.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """
    if out is not None:
        return write_out(floor_divide, out, input, other)
    return _div_floor(input, other)


def _floor_divide(input: Any, other: Any) -> Any:
    """The operator ``//``."""
    return _floor_operator(input, other)


_floor_operator = as_operator(_div_floor)


@elementwise(
    input=lambda g: g,
    other=lambda g, input, other: -g * _div_floor(input, other),
)
def remainder(input: Value, other: Value) -> Value:
    """Remainder of floor division, the operator ``%``; it has the sign of the divisor.

    >>> import wengert
    >>> wengert.remainder(wengert.tensor([-7.0, 7.0]), 4)
    tensor([1., 3.])
    """
    if input.dtype.kind in "bc":
        raise not_implemented("remainder_cpu", input)
    if input.dtype.kind != "f":
        return _divided(np.remainder, input, other)
    remainders = np.fmod(input, other)
    return np.where(
        (remainders != 0) & ((remainders < 0) ^ (other < 0)), remainders + other, remainders
    )


@elementwise(
    input=lambda g: g,
    other=lambda g, input, other: -g * _div_trunc(input, other),
    tensors=("input",),
)
def fmod(input: Value, other: Value) -> Value:
    """Remainder of truncated division; it has the sign of the dividend.

    >>> import wengert
    >>> wengert.fmod(wengert.tensor([-7.0, 7.0]), 4)
    tensor([-3.,  3.])
    """
    if input.dtype.kind in "bc":
        raise not_implemented("fmod_cpu", input)
    _require_nonzero(input, other)
    return np.fmod(input, other)


@elementwise(input=lambda g: -g)
def neg(input: Value) -> Value:
    """Each element with the opposite sign.

    >>> import wengert
    >>> wengert.neg(wengert.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """
    try:
        return np.negative(input)
    except TypeError:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to"
            " invert a mask, use the `~` or `logical_not()` operator instead."
        ) from None


negative = neg


def positive(input: Tensor) -> Tensor:
    """The tensor itself, the operator ``+x``.

    >>> import wengert
    >>> wengert.positive(wengert.tensor([1.0, -2.0]))
    tensor([ 1., -2.])
    """
    if isinstance(input, Tensor) and input._outline.dtype == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@elementwise(floats=True, input=lambda g, out: -g * conj(out * out))
def reciprocal(input: Value) -> Value:
    """1 over each element.

    >>> import wengert
    >>> wengert.reciprocal(wengert.tensor([2.0, -4.0]))
    tensor([ 0.5000, -0.2500])
    """
    return np.true_divide(input.dtype.type(1), input)


@elementwise(input=lambda g, input: g * sgn(input))
def abs(input: Value) -> Value:
    """The absolute value of each element; real for complex tensors.

    >>> import wengert
    >>> wengert.abs(wengert.tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """
    if input.dtype.kind == "b":
        raise not_implemented("abs_cpu", input)
    return np.abs(input)


absolute = abs


@elementwise(
    older=("value",),
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
    tensor2=lambda g, tensor1, value: g * conj(tensor1 * value),
)
def addcmul(input: Value, tensor1: Value, tensor2: Value, *, value: complex = 1) -> Value:
    """``input + value * tensor1 * tensor2``, with broadcasting.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> wengert.addcmul(x, x, x, value=0.5)
    tensor([1.5000, 4.0000])
    """
    if isinstance(value, Tensor):
        value = value.item()
    if value != 1:
        require_in_range("addcmul", input.dtype, value)
    return input + input.dtype.type(value) * tensor1 * tensor2


@elementwise(
    older=("value",),
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * conj(tensor1 * value / (tensor2 * tensor2)),
)
def addcdiv(input: Value, tensor1: Value, tensor2: Value, *, value: complex = 1) -> Value:
    """``input + value * tensor1 / tensor2``, with broadcasting; floating-point only.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> wengert.addcdiv(x, x, x, value=0.5)
    tensor([1.5000, 2.5000])
    """
    if input.dtype.kind in "biu":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; use"
            " input + value * torch.trunc(tensor1 / tensor2), or convert to a floating-point dtype"
        )
    if isinstance(value, Tensor):
        value = value.item()
    if value != 1:
        require_in_range("addcdiv", input.dtype, value)
    return input + input.dtype.type(value) * tensor1 / tensor2


@elementwise(
    input=lambda g, weight: g * conj(1.0 - weight),
    end=lambda g, weight: g * conj(weight),
    weight=lambda g, input, end: g * conj(end - input),
)
def _lerp(input: Value, end: Value, weight: Value) -> Value:
    # Both forms agree; each is exact at one end.
    step = end - input
    if type(weight) is np.ndarray and not weight.ndim:
        if abs(weight) < 0.5:
            return input + weight * step
        return end - step * (input.dtype.type(1) - weight)
    near = input + weight * step
    far = end - step * (input.dtype.type(1) - weight)
    return np.where(np.abs(weight) < 0.5, near, far)


def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``; all tensors must have the same dtype.

    >>> import wengert
    >>> wengert.lerp(wengert.tensor([0.0, 1.0]), wengert.tensor([10.0, 3.0]), 0.5)
    tensor([5., 2.])
    """
    if out is not None:
        return write_out(lerp, out, input, end, weight)
    if isinstance(input, Tensor):
        require_kind("lerp_kernel", input._outline, "fc")
    for name, x in (("end", end), ("weight", weight)):
        both = isinstance(x, Tensor) and isinstance(input, Tensor)
        if both and x._outline.dtype != input._outline.dtype:
            raise RuntimeError(
                f"expected dtype {dtypes.of_numpy[input._outline.dtype]} for `{name}` but got dtype"
                f" {dtypes.of_numpy[x._outline.dtype]}"
            )
    if type(weight) is float and isinstance(input, Tensor):
        require_in_range("lerp", input._outline.dtype, weight)
        weight = wrap(number_as_array(weight, input._outline.dtype))
    return _lerp(input, end, weight)


__all__ = [
    "_add", "_div", "_floor_divide", "_sub", "abs", "absolute", "add", "addcdiv", "addcmul", "div",
    "divide", "floor_divide", "fmod", "lerp", "mul", "multiply", "neg", "negative", "positive",
    "reciprocal", "remainder", "rsub", "sub", "subtract", "true_divide",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(name for name in __all__ if not name.startswith("_") and name != "rsub")
INPLACE = tuple(name for name in METHODS if name != "positive")
