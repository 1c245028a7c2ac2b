"""Powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.sparse import numpy_dtype
from wengert.core.tensor import Tensor
from wengert.kernels.precision import in_float32
from wengert.ops import operands
from wengert.ops.casting import convert
from wengert.ops.checks import not_implemented, require_kind
from wengert.ops.complexes import conj, real
from wengert.ops.declare import Value, elementwise
from wengert.ops.exponential import log
from wengert.ops.operators import as_operator
from wengert.ops.outputs import write_out
from wengert.ops.shape import contiguous
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop, no_slope


@elementwise(
    input=lambda g, input, exponent: _power_slope(g, input, exponent),
    label="PowBackward0",
    name="pow",
)
def _pow_number(input: Value, exponent: complex) -> Value:
    """`pow` with a number that does not change the dtype."""
    if exponent == 2:
        return np.multiply(input, input)
    if exponent == 3:
        return input * input * input
    if exponent == 0.5:
        return np.sqrt(input)
    if exponent == -1:
        return np.true_divide(input.dtype.type(1), input)
    if exponent == -0.5:  # as PyTorch: nan for minus infinity
        return np.true_divide(input.dtype.type(1), np.sqrt(input))
    if exponent == -2:
        return np.true_divide(input.dtype.type(1), np.multiply(input, input))
    return np.power(input, input.dtype.type(exponent))


def _power_slope(g: Value, input: Value, exponent: complex) -> Value:
    if exponent == 0:
        return no_slope(g)
    if exponent == 2:
        return g * conj(input * 2.0)
    if exponent == 0.5:
        return g * conj(rsqrt(input) * 0.5)
    return g * conj(input ** (exponent - 1) * exponent)


@elementwise(
    input=lambda g, input, exponent: drop(
        g * conj(exponent * pow(input, exponent - 1.0)), exponent == 0.0
    ),
    exponent=lambda g, input, exponent, out: drop(
        g * conj(out * log(input)), (input == 0.0) & _not_negative(exponent)
    ),
    label="PowBackward1",
    name="pow",
)
def _pow_tensor(input: Value, exponent: Value) -> Value:
    if input.dtype.kind in "iu":
        return _integer_power(input, exponent)
    if input.dtype.kind == "b":
        raise not_implemented("pow", input)
    return np.power(input, exponent)


def _not_negative(exponent: Value) -> Value:
    array = exponent._array if isinstance(exponent, Tensor) else exponent
    return (real(exponent) if array.dtype.kind == "c" else exponent) >= 0.0


def _integer_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Integer powers; a negative exponent gives the truncated reciprocal."""
    if exponent.dtype.kind == "u" or not (exponent < 0).any():
        return np.power(base, exponent)
    out = np.power(base, np.maximum(exponent, 0))
    inverse = np.where(base == 1, 1, np.where(base == -1, 1 - 2 * (exponent & 1), 0))
    return np.where(exponent < 0, inverse.astype(out.dtype), out)


def _pow(input: Any, exponent: Any) -> Any:
    """The operator ``**``; NotImplemented for what is no operand."""
    if isinstance(input, Tensor) and isinstance(exponent, (int, float, complex)):
        dtype = numpy_dtype(input)
        if dtype.kind == "c" or (dtype in dtypes.inexact and not isinstance(exponent, complex)):
            return _pow_number(input, exponent)
        if dtype.kind == "b" and isinstance(exponent, bool):
            return input | (not exponent)
        if isinstance(exponent, int) and exponent < 0:
            raise RuntimeError(
                "Integers to negative integer powers are not allowed; argument 'exponent' is"
                f" {exponent}, and 'input' is of {dtypes.of_numpy[dtype]}"
            )
    elif isinstance(input, (np.ndarray, np.generic)) and not isinstance(exponent, Tensor):
        return np.power(input, exponent)
    elif isinstance(input, (int, float, complex)) and isinstance(exponent, Tensor):
        exponent = contiguous(exponent)  # as in PyTorch for powers of a number
    return _pow_operator(input, exponent)


_pow_operator = as_operator(_pow_tensor)


def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, element by element; either may be a number.

    >>> import wengert
    >>> wengert.pow(wengert.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    if out is not None:
        return write_out(pow, out, input, exponent)
    power = _pow(input, exponent)
    return _pow_tensor(input, exponent) if power is NotImplemented else power  # which raises


def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """`pow` in double precision: float64, or complex128 if either is complex.

    >>> import wengert
    >>> wengert.float_power(wengert.tensor([1, 2]), -1)
    tensor([1.0000, 0.5000], dtype=torch.float64)
    """
    if out is not None:
        if isinstance(out, Tensor):
            check_double("output", "float_power", out, input, exponent)
        return write_out(float_power, out, input, exponent)
    return _pow(*(_in_double(x, _any_complex(input, exponent)) for x in (input, exponent)))


def check_double(role: str, name: str, target: Tensor, *operands: Any) -> None:
    """RuntimeError unless a tensor that `float_power` writes to has the dtype of the result."""
    needed = np.dtype("complex128" if _any_complex(*operands) else "float64")
    if numpy_dtype(target) != needed:
        raise RuntimeError(
            f"the {role} given to {name} has dtype {target.dtype.short} but the operation's result"
            f" requires dtype {dtypes.of_numpy[needed].short}"
        )


def _any_complex(*values: Any) -> bool:
    return any(
        x._outline.dtype.kind == "c" if isinstance(x, Tensor) else isinstance(x, complex)
        for x in values
    )


def _in_double(x: Any, complexes: bool) -> Any:
    if isinstance(x, Tensor):
        to = np.dtype("complex128" if complexes else "float64")
        return operands.cast(x, to)
    return complex(x) if complexes else float(x)


def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element times itself.

    >>> import wengert
    >>> wengert.square(wengert.tensor([-2.0, 3.0]))
    tensor([4., 9.])
    """
    if out is not None:
        return write_out(square, out, input)
    return _pow(input, 2)


@elementwise(np.sqrt, floats=True, input=lambda g, out: g / conj(out * 2.0))
def sqrt(input: Value) -> Value:
    """Square root of each element; NaN for negative ones.

    >>> import wengert
    >>> wengert.sqrt(wengert.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """


@in_float32
def _rsqrt(x: np.ndarray) -> np.ndarray:
    return np.true_divide(x.dtype.type(1), np.sqrt(x))


@elementwise(_rsqrt, floats=True, input=lambda g, out: g * conj(out**3) * -0.5)
def rsqrt(input: Value) -> Value:
    """1 over the square root of each element.

    >>> import wengert
    >>> wengert.rsqrt(wengert.tensor([4.0, 16.0]))
    tensor([0.5000, 0.2500])
    """


@elementwise(
    input=lambda g, input, out: g * (input / out),
    other=lambda g, other, out: g * (other / out),
    tensors=("input", "other"),
)
def hypot(input: Value, other: Value) -> Value:
    """The hypotenuse ``sqrt(input**2 + other**2)``, without intermediate overflow.

    >>> import wengert
    >>> wengert.hypot(wengert.tensor([3.0]), wengert.tensor([4.0]))
    tensor([5.])
    """
    require_kind("hypot_cpu", input, "f")
    return np.hypot(input, other)


def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``.

    >>> import wengert
    >>> wengert.ldexp(wengert.tensor([1.0, 3.0]), wengert.tensor([3, 1]))
    tensor([8., 6.])
    """
    if out is not None:
        return write_out(ldexp, out, input, other)
    require_tensor("ldexp", "input", input)
    if not isinstance(other, Tensor) or numpy_dtype(other).kind not in "iu":
        masks = isinstance(other, Tensor) and numpy_dtype(other).kind == "b"
        if masks and numpy_dtype(input).kind in "fV":
            raise not_implemented("ldexp_cpu_exp", other._outline)
        return input * _pow(2.0, other)
    own = dtypes.of_numpy[numpy_dtype(input)]
    wide = dtypes.float64 if own in (dtypes.float64, dtypes.complex128) else dtypes.float32
    # In two steps: a power may be out of range where its product with the input is not.
    half = other // 2
    first, second = (_pow(2.0, convert(n, wide)) for n in (half, other - half))
    scaled = (convert(input, wide) if own.category == dtypes.FLOAT else input) * first * second
    return convert(scaled, own) if own.category == dtypes.FLOAT else scaled


__all__ = [
    "_pow", "float_power", "hypot", "ldexp", "pow", "rsqrt", "sqrt", "square",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("float_power", "hypot", "ldexp", "pow", "rsqrt", "sqrt", "square")
INPLACE = ("hypot", "ldexp", "pow", "rsqrt", "sqrt", "square")
