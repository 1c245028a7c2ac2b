"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math

import numpy as np

from wengert.core.tensor import Tensor
from wengert.kernels.precision import in_float32
from wengert.ops.checks import require_kind
from wengert.ops.complexes import check_parts, complex, conj
from wengert.ops.declare import Value, elementwise
from wengert.ops.masking import where
from wengert.ops.outputs import write_out
from wengert.ops.powers import rsqrt, sqrt
from wengert.ops.zeros import drop


@elementwise(np.sin, floats=True, input=lambda g, input: g * conj(cos(input)))
def sin(input: Value) -> Value:
    """Sine of each element, in radians.

    >>> import wengert
    >>> wengert.sin(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """


@elementwise(np.cos, floats=True, input=lambda g, input: -g * conj(sin(input)))
def cos(input: Value) -> Value:
    """Cosine of each element, in radians.

    >>> import wengert
    >>> wengert.cos(wengert.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """


@elementwise(np.tan, floats=True, input=lambda g, out: g * conj(out * out + 1.0))
def tan(input: Value) -> Value:
    """Tangent of each element, in radians.

    >>> import wengert
    >>> wengert.tan(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """


@elementwise(np.arcsin, floats=True, input=lambda g, input: g * conj(rsqrt(1.0 - input * input)))
def asin(input: Value) -> Value:
    """Inverse of `sin`; NaN outside [-1, 1].

    >>> import wengert
    >>> wengert.asin(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """


@elementwise(np.arccos, floats=True, input=lambda g, input: -g * conj(rsqrt(1.0 - input * input)))
def acos(input: Value) -> Value:
    """Inverse of `cos`; NaN outside [-1, 1].

    >>> import wengert
    >>> wengert.acos(wengert.tensor([1.0, 0.0]))
    tensor([0.0000, 1.5708])
    """


@elementwise(np.arctan, floats=True, input=lambda g, input: g / conj(input * input + 1.0))
def atan(input: Value) -> Value:
    """Inverse of `tan`.

    >>> import wengert
    >>> wengert.atan(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """


@elementwise(
    floats=True,
    input=lambda g, input, other: _over_square(g * other, input, other),
    other=lambda g, input, other: -_over_square(g * input, input, other),
    tensors=("input", "other"),
)
def atan2(input: Value, other: Value) -> Value:
    """The angle of the point with ordinate `input` and abscissa `other`.

    >>> import wengert
    >>> wengert.atan2(wengert.tensor([1.0, 1.0]), wengert.tensor([1.0, -1.0]))
    tensor([0.7854, 2.3562])
    """
    require_kind("atan2", input, "f")
    return np.arctan2(input, other)


def _over_square(value: Value, x: Value, y: Value) -> Value:
    """``value / (x**2 + y**2)``, 0 at the origin."""
    square = x * x + y * y
    return drop(value / square, square == 0.0)


@elementwise(np.sinh, floats=True, input=lambda g, input: g * conj(cosh(input)))
def sinh(input: Value) -> Value:
    """Hyperbolic sine of each element.

    >>> import wengert
    >>> wengert.sinh(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """


@elementwise(np.cosh, floats=True, input=lambda g, input: g * conj(sinh(input)))
def cosh(input: Value) -> Value:
    """Hyperbolic cosine of each element.

    >>> import wengert
    >>> wengert.cosh(wengert.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """


@elementwise(np.tanh, floats=True, input=lambda g, out: g * conj(1.0 - out * out))
def tanh(input: Value) -> Value:
    """Hyperbolic tangent of each element.

    >>> import wengert
    >>> wengert.tanh(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """


@elementwise(np.arcsinh, floats=True, input=lambda g, input: g * conj(rsqrt(input * input + 1.0)))
def asinh(input: Value) -> Value:
    """Inverse of `sinh`.

    >>> import wengert
    >>> wengert.asinh(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """


@elementwise(
    np.arccosh,
    floats=True,
    input=lambda g, input: g / conj(sqrt(input - 1.0) * sqrt(input + 1.0)),
)
def acosh(input: Value) -> Value:
    """Inverse of `cosh`; NaN below 1.

    >>> import wengert
    >>> wengert.acosh(wengert.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """


@elementwise(np.arctanh, floats=True, input=lambda g, input: g / conj(1.0 - input * input))
def atanh(input: Value) -> Value:
    """Inverse of `tanh`: infinite at -1 and 1, NaN beyond.

    >>> import wengert
    >>> wengert.atanh(wengert.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """


def _require_real(name: str, array: np.ndarray) -> None:
    if array.dtype.kind == "c":
        raise RuntimeError(f"{name} is not supported for complex tensors.")


@elementwise(floats=True, input=lambda g: g * (math.pi / 180.0))
def deg2rad(input: Value) -> Value:
    """Degrees to radians.

    >>> import wengert
    >>> wengert.deg2rad(wengert.tensor([0.0, 180.0]))
    tensor([0.0000, 3.1416])
    """
    _require_real("deg2rad", input)
    return input * input.dtype.type(math.pi / 180.0)


@elementwise(floats=True, input=lambda g: g * (180.0 / math.pi))
def rad2deg(input: Value) -> Value:
    """Radians to degrees.

    >>> import wengert
    >>> wengert.rad2deg(wengert.tensor([0.0, 1.0]))
    tensor([ 0.0000, 57.2958])
    """
    _require_real("rad2deg", input)
    return input * input.dtype.type(180.0 / math.pi)


@in_float32
def _sinc(x: np.ndarray) -> np.ndarray:
    zero = x == 0
    angle = np.where(zero, x.dtype.type(1), x * x.dtype.type(math.pi))
    return np.where(zero, x.dtype.type(1), np.sin(angle) / angle)


@elementwise(
    floats=True,
    input=lambda g, input: _sinc_slope(g, input),
    scalar=lambda input: _sinc(input),
)
def sinc(input: Value) -> Value:
    """``sin(pi x) / (pi x)``, and 1 at 0.

    >>> import wengert
    >>> wengert.sinc(wengert.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """
    return _sinc(np.asarray(input))


def _sinc_slope(g: Value, x: Value) -> Value:
    near = abs(x) < 0.04  # where the differences cancel
    square = where(near, x * x, 0.0) * math.pi**2
    series = 1.0 - square / 10.0 * (1.0 - square / 28.0 * (1.0 - square / 54.0))
    safe = where(near, 1.0, x)
    angle = safe * math.pi
    slope = (angle * cos(angle) - sin(angle)) / (angle * safe)
    return g * conj(where(near, x * (-(math.pi**2) / 3.0) * series, slope))


def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex tensor of absolute values and angles, both float32 or both float64.

    >>> import wengert
    >>> wengert.polar(wengert.tensor([2.0]), wengert.tensor([0.0]))
    tensor([2.+0.j])
    """
    if out is not None:
        return write_out(polar, out, abs, angle)
    check_parts("polar", abs, angle)
    return complex(abs * cos(angle), abs * sin(angle))


arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "deg2rad", "polar", "rad2deg",
    "sin", "sinc", "sinh", "tan", "tanh",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ("tanh",)
METHODS = tuple([name for name in __all__ if name != "polar"])
INPLACE = METHODS
